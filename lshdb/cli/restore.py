"""The command restore: rows as they were before dedup --cut."""

from typing import Annotated

import typer

from lshdb.cli import messages
from lshdb.cli.files import STDOUT, check_distinct, input_of, output_to, stdin
from lshdb.deduplication import cut_list as lists
from lshdb.errors import UsageError
from lshdb.formatting import counted
from lshdb.groups import Option
from lshdb.sources.paths import STDIN


def restore(
    *,
    rows: Annotated[str, typer.Argument(metavar="FILE", help="What dedup --cut wrote.")],
    cuts: Annotated[str, Option("The list that it wrote with --cuts.", metavar="FILE")],
    output: Annotated[
        str, Option("For the rows.", metavar="OUTPUT", flags=("--output", "-o"))
    ] = STDOUT,
) -> None:
    """Put back what dedup --cut cut out of rows.

    The result is the input of dedup, byte for byte, without the rows that it could not read.

    Example: lshdb restore short.jsonl --cuts cuts.jsonl -o original.jsonl
    """
    check_distinct([rows, cuts], [output])
    if rows == cuts == STDIN:
        raise UsageError("only one of FILE and --cuts can be standard input")
    with (
        input_of(rows, stdin()) as file,
        input_of(cuts, stdin()) as listed,
        output_to(output) as target,
    ):
        count = lists.restore(file, listed, target)
    messages.message(f"restored {counted(count, 'row')}")
