"""Options that several commands share, and how errors end a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lshdb.cli.output import escaped
from lshdb.errors import LshdbError, UsageError

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130

DatabasePath: TypeAlias = Annotated[
    Path,
    typer.Option("--db", "-d", envvar="LSHDB_PATH", help="The database file.", metavar="FILE"),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON lines.")]
AsCsv: TypeAlias = Annotated[bool, typer.Option("--csv", help="Print CSV with a heading.")]

DEFAULT_PATH = Path("lsh.db")


@contextmanager
def reported_errors() -> Iterator[None]:
    """End the command with one line on standard error and the exit status that says why."""
    try:
        yield
    except LshdbError as error:
        raise failed(str(error), WRONG_USAGE if isinstance(error, UsageError) else FAILED) from None


def failed(reason: str, status: int = FAILED) -> typer.Exit:
    """Print a reason on standard error; the exception that ends the command."""
    typer.echo(f"lshdb: {escaped(reason)}", err=True)
    return typer.Exit(status)
