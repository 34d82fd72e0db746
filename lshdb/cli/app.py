"""The `lshdb` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Final

import typer

from lshdb.cli.help import Commands, Page
from lshdb.cli.messages import be_quiet
from lshdb.cli.running import Quiet, command, open_streams, output_failed

_FIRST_STEPS: Final = """\
lshdb finds near duplicates, with a database in one file.

  lshdb dedup IN.jsonl -o OUT.jsonl
                           rows without near duplicates; needs no database
  lshdb add DIRECTORY      add its text files; or FILE.jsonl, a table
  lshdb query FILE         which stored documents are similar to this one?
  lshdb clusters           which of them are similar to each other?
  lshdb compare A B        why are these two similar, or why not?

lshdb --help lists all commands, and lshdb COMMAND --help explains one."""

_MODULES: Final = {
    "querying": ("query", "pairs", "clusters"),
    "comparing": ("compare", "passages"),
    "deduplicating": ("dedup",),
    "adding": ("init", "add", "sync"),
    "deciding": ("remove", "review", "decide", "decisions"),
    "looking": ("info", "show", "report", "buckets", "sql", "serve"),
    "tuning": ("tune",),
    "checking": ("check", "backup", "reindex"),
    "sparking": ("spark-dedup", "spark-passages"),
}
"""The commands of each module, where functions have their names."""
COMMANDS: Final = {name: module for module, names in _MODULES.items() for name in names}
"""The module of each command."""


def make_app(commands: Iterable[str] = tuple(COMMANDS)) -> typer.Typer:
    """The command line with some of its commands; their modules are loaded now."""
    app = typer.Typer(
        name="lshdb",
        cls=Commands,
        invoke_without_command=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_common)
    for name in commands:
        module = import_module(f"lshdb.cli.{COMMANDS[name]}")
        app.command(name, cls=Page)(command(getattr(module, name.replace("-", "_"))))
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from lshdb import __version__

        typer.echo(f"lshdb {__version__}")
        raise typer.Exit


def _common(
    context: typer.Context,
    _: bool = typer.Option(
        False, "--version", "-V", callback=_version, is_eager=True, help="Print the version."
    ),
    quiet: Quiet = False,
) -> None:
    """Find near duplicates with a database in one file.

    Start with: lshdb add DIRECTORY, then lshdb query FILE. The database is lsh.db, unless --db
    or the environment variable LSHDB_PATH names another.

    Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
    """
    be_quiet(quiet)
    if context.invoked_subcommand is None:
        typer.echo(_FIRST_STEPS)


def main() -> None:
    """Run the command line."""
    # numpy's BLAS, which lshdb does not use, would start threads that spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocators keep some 30 MB more and save no time here.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    open_streams()
    # To load all commands takes longer than a query does.
    named = [name for name in sys.argv[1:2] if name in COMMANDS]
    try:
        make_app(named or COMMANDS)()
    except OSError as error:  # a help page, or the version
        sys.exit(output_failed(error).exit_code)
