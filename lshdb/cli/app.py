"""The `lshdb` command."""

from __future__ import annotations

import sys

import typer

from lshdb.cli import adding, looking, querying

app = typer.Typer(
    name="lshdb",
    help="Find near duplicates with a database in one file.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

app.command()(adding.init)
app.command()(adding.add)
app.command()(querying.query)
app.command()(adding.remove)
app.command()(looking.show)
app.command()(looking.buckets)
app.command()(looking.sql)
app.command()(looking.info)


def _version(wanted: bool) -> None:
    if wanted:
        from lshdb import __version__

        typer.echo(f"lshdb {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A key may hold characters that the terminal's encoding has not.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app()
