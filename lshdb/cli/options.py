"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

DatabasePath: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--db",
        "-d",
        envvar="LSHDB_PATH",
        metavar="FILE",
        help="The database file.",
        readable=False,  # that it is not is told by the store, as one of its failures
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, an object a line.")]
AsCsv: TypeAlias = Annotated[bool, typer.Option("--csv", help="Print CSV with a heading.")]

DEFAULT_PATH = Path("lsh.db")


def key_given(text: str) -> str:
    """A key from the command line: a file name that is not UTF-8 becomes the key that add gave."""
    from lshdb.readers import printable_path

    return printable_path(text)
