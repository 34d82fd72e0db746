"""Options of `lshdb review`."""

from typing import Annotated

from lshdb.groups import Options, uncommon
from lshdb.options import ConditionOptions, StarOptions, StoredKey, Threshold

Who = Annotated[str | None, uncommon("Who decides. [default: your user name]", metavar="NAME")]


class GroupingOptions(Options):
    """How similar documents are grouped."""

    condition: ConditionOptions
    threshold: Threshold = None
    clusters: StarOptions


class ClusteringOptions(Options):
    """How similar documents are grouped, and of which one."""

    grouping: GroupingOptions
    key: StoredKey = None
