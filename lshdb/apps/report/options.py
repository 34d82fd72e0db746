"""Options of `lshdb report`."""

from collections.abc import Sequence
from typing import Annotated

from lshdb.apps.review.options import GroupingOptions
from lshdb.groups import Option, Options
from lshdb.options import GroupBy, PurposeOptions


class ReportOptions(Options):
    """Options of `lshdb report`."""

    old: Annotated[
        Sequence[str] | None,
        Option(
            "Earlier work, compared with INPUT and not with itself; repeatable.", metavar="INPUT"
        ),
    ] = None
    submissions: PurposeOptions
    pairs: Annotated[int, Option("Pairs to show side by side, up to 1,000.", min=0, max=1000)] = 50
    title: Annotated[str | None, Option("The heading.", metavar="TEXT")] = None
    grouping: GroupingOptions
    group_by: GroupBy = None
    anonymous: Annotated[
        bool, Option("Name them submission-1, ..., in texts, too. Prints who is who.")
    ] = False
