"""`lshdb folders`: the pairs of directories that share files."""

from lshdb.apps.folders.folders import FolderPair, folder_pairs
from lshdb.cli import messages
from lshdb.cli.options import DatabaseFile, Form
from lshdb.cli.results import write_results
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.options import ClustersOptions


def folders(*, file: DatabaseFile, options: ClustersOptions, form: Form) -> None:
    """Find the pairs of directories that share files, the largest first.

    A line is two directories, by the keys as paths: the shares of the files below each that are in
    clusters with some of the other, how many these are of the first, the bytes that deleting them
    would free, both paths, and the files that were not read, such as pictures and hidden files:
    they have no counterpart. If a directory is not there, "of files read".

    Example: lshdb folders -d code.db
    """
    if options.join.group_by is not None or options.join.similar.fields:
        raise UsageError("--group-by and --fields are for documents, not for pairs of directories")
    with file.reading(form) as database:
        messages.noted_minimum(database.settings, options.join.similar.threshold)
        write_results(
            FolderPair,
            folder_pairs(store_of(database), options),
            form,
            shown=("a_share", "b_share", "alike", "files", "bytes", "a", "b", "unread"),
            noun=("pair of directories", "pairs of directories"),
            none="no two directories have half of the files of one in common",
        )
