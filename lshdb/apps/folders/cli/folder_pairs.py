"""`lshdb clusters --folders`: the pairs of directories that share files."""

from lshdb.apps.folders.folders import FolderPair, folder_pairs
from lshdb.cli.options import Form
from lshdb.cli.results import write_results
from lshdb.database import Database, store_of
from lshdb.options import ClustersOptions


def write_folder_pairs(database: Database, options: ClustersOptions, form: Form) -> None:
    """Write the pairs of directories that share files, the largest first."""
    write_results(
        FolderPair,
        folder_pairs(store_of(database), options),
        form,
        shown=("a_share", "b_share", "alike", "files", "bytes", "a", "b", "unread"),
        noun=("pair of directories", "pairs of directories"),
        none="no two directories have half of the files of one in common",
    )
