"""The documents of clusters that can be removed."""

from lshdb.model import Cluster
from lshdb.search.result_tables import roles


def dropped_members(cluster: Cluster, threshold: float) -> list[str]:
    """The members of a cluster to drop: copies of the kept document, or decided to drop."""
    members = zip(cluster.members, roles(cluster, threshold), cluster.copies, strict=True)
    return [key for key, role, goes in members if role == "drop" or (role == "member" and goes)]
