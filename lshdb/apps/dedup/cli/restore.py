"""The command restore: rows as they were before dedup --cut."""

from typing import Annotated

import typer

from lshdb.apps.dedup import cut_list as lists
from lshdb.cli import files, messages
from lshdb.errors import UsageError
from lshdb.formatting import counted
from lshdb.groups import Option
from lshdb.read.paths import STDIN


def restore(
    *,
    rows: Annotated[str, typer.Argument(metavar="FILE", help="What dedup --cut wrote.")],
    cuts: Annotated[str, Option("The list that it wrote with --cuts.", metavar="FILE")],
    output: Annotated[
        str, Option("For the rows.", metavar="OUTPUT", flags=("--output", "-o"))
    ] = files.STDOUT,
) -> None:
    """Put back what dedup --cut cut out of rows.

    The result is the input of dedup, byte for byte, without the rows that it could not read.

    Example: lshdb restore short.jsonl --cuts cuts.jsonl -o original.jsonl
    """
    files.check_distinct([rows, cuts], [output])
    if rows == cuts == STDIN:
        raise UsageError("only one of FILE and --cuts can be standard input")
    with (
        files.input_of(rows, files.stdin()) as file,
        files.input_of(cuts, files.stdin()) as listed,
        files.output_to(output) as target,
    ):
        count = lists.restore(file, listed, target)
    messages.message(f"restored {counted(count, 'row')}")
