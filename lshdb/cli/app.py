"""The `lshdb` command."""

from __future__ import annotations

import os
from typing import Final

import typer

from lshdb.cli import (
    adding,
    checking,
    comparing,
    deduplicating,
    joining,
    looking,
    querying,
    reindexing,
    serving,
    sparking,
    tuning,
)
from lshdb.cli.options import Quiet
from lshdb.cli.output import be_quiet
from lshdb.cli.running import command, open_streams

_FIRST_STEPS: Final = """\
lshdb finds near duplicates, with a database in one file.

  lshdb add DIRECTORY      take in its text files, or FILE.jsonl
  lshdb query FILE         which stored documents are similar to this one?
  lshdb pairs              which of them are similar to each other?
  lshdb compare A B        why are these two similar, or why not?
  lshdb dedup IN.jsonl -o OUT.jsonl
                           lines without near duplicates, no database needed

lshdb --help names all commands, lshdb COMMAND --help tells one with an example."""

app = typer.Typer(
    name="lshdb",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

for function in (
    adding.init,
    adding.add,
    querying.query,
    joining.pairs,
    joining.clusters,
    deduplicating.dedup,
    adding.remove,
    comparing.compare,
    looking.show,
    looking.buckets,
    looking.sql,
    looking.info,
    tuning.tune,
    reindexing.reindex,
    checking.check,
    checking.backup,
    serving.serve,
    sparking.spark_dedup,
):
    app.command()(command(function))


def _version(wanted: bool) -> None:
    if wanted:
        from lshdb import __version__

        typer.echo(f"lshdb {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    context: typer.Context,
    _: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
    quiet: Quiet = False,
) -> None:
    """Find near duplicates with a database in one file.

    Start with: lshdb add DIRECTORY, then lshdb query FILE. The database is lsh.db, unless --db
    or the environment variable LSHDB_PATH names another.

    Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
    """
    if quiet:
        be_quiet()
    if context.invoked_subcommand is None:
        typer.echo(_FIRST_STEPS)


def main() -> None:
    """Run the command line."""
    # numpy's BLAS, which nothing here uses, would start threads that spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocators keep some 30 MB more, and save no time here.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    open_streams()
    app()
