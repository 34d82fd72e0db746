"""Options of `lshdb report` and `lshdb plot`."""

from typing import Annotated

from lshdb.apps.review.options import GroupingOptions
from lshdb.groups import Option, Options
from lshdb.options import ConditionOptions, GroupBy, Threshold


class PlotOptions(Options):
    """Options of `lshdb plot`."""

    condition: ConditionOptions
    threshold: Threshold = None
    group_by: GroupBy = None


class ReportOptions(Options):
    """Options of `lshdb report`."""

    grouping: GroupingOptions
    group_by: GroupBy = None
    anonymous: Annotated[
        bool, Option("Name them submission-1, ..., in texts, too. Prints who is who.")
    ] = False
