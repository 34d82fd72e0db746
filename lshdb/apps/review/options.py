"""Options of `lshdb review`."""

from lshdb.groups import Options
from lshdb.options import GroupingOptions, StoredKey


class ClusteringOptions(Options):
    """How similar documents are grouped, and of which one."""

    grouping: GroupingOptions
    key: StoredKey = None
