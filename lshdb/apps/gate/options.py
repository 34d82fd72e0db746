"""Options of `lshdb gate`."""

from typing import Annotated

from lshdb.groups import Option, Options
from lshdb.options import Exclude


class GateOptions(Options):
    """Options of `lshdb gate`."""

    exclude: Exclude = ()

    since: Annotated[
        str | None,
        Option("Only what lines add that changed since this commit or branch.", metavar="REF"),
    ] = None
    min_tokens: Annotated[
        int, Option("Shortest copied passage, in tokens of code or words of text.", min=10)
    ] = 50
    threshold: Annotated[
        float, Option("Minimum similarity of near-duplicate files.", min=0.6, max=1)
    ] = 0.8
    baseline: Annotated[
        str | None,
        Option("Leave out the findings in this file, from --json.", metavar="FILE"),
    ] = None
    count_all: Annotated[
        bool,
        Option("Count imports, licences, generated files, tables and ignored regions, too."),
    ] = False
