"""Options of `lshdb review`."""

from lshdb.groups import Options
from lshdb.options import ConditionOptions, StarOptions, StoredKey, Threshold


class GroupingOptions(Options):
    """How similar documents are grouped."""

    condition: ConditionOptions
    threshold: Threshold = None
    clusters: StarOptions


class ClusteringOptions(Options):
    """How similar documents are grouped, and of which one."""

    grouping: GroupingOptions
    key: StoredKey = None
