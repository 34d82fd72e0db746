"""What commands print of files that can be deleted, and of those that cannot."""

import os
from collections.abc import Iterable, Iterator, Sequence

import typer

from lshdb.cli import messages, results, running
from lshdb.database import Database, store_of
from lshdb.formatting import counted
from lshdb.model import Cluster
from lshdb.read import proof
from lshdb.read.paths import escaped, printable_path
from lshdb.read.proof import LeftFile, ProvedFile
from lshdb.search import result_tables


def print_files(files: Iterable[ProvedFile | LeftFile], *, null: bool) -> None:
    """Print the paths of files that can be deleted, and name the others.

    Raises:
        typer.Exit: a user should look at some of those.
    """
    left, unprintable = list[LeftFile](), 0
    for file in files:
        if isinstance(file, LeftFile):
            left.append(file)
        else:
            path = path_from_here(file.path)
            unprintable += escaped(printable_path(path)) != path
            results.print_names([path], null=null)
    if unprintable and not null:
        messages.warn(
            "lshdb: names that are not UTF-8 or have control characters, such as newlines, are "
            f"written with backslashes: {unprintable:,}; -0 prints them as they are"
        )
    if report_left(left):
        raise typer.Exit(running.FAILED)


def print_dropped(
    database: Database, clusters: Iterable[Cluster], threshold: float, *, null: bool
) -> None:
    """Print the files that can be deleted of the members of clusters, and name the others."""
    store = store_of(database)
    proofs, root = proof.proof_of(store), store.root

    def files() -> Iterator[ProvedFile | LeftFile]:
        for cluster in clusters:
            keys = result_tables.dropped_members(cluster, threshold)
            with store.reading():
                stored = store.files_of_keys([*keys, cluster.keep])
            documents = {file.key: proof.compared(file, root) for file in stored}
            stays = [] if cluster.keep in keys else [documents.get(cluster.keep)]
            for key in keys:
                if key in documents:  # else removed meanwhile
                    yield proofs.check(documents[key], filter(None, stays))

    print_files(files(), null=null)


def report_left(left: Sequence[LeftFile]) -> int:
    """Name the files that are left, each with the reason; how many a user should look at.

    Documents without a file, and files that are already one with what stays, are counted, and the
    first is named.
    """
    failed = [file for file in left if file.has_failed]
    for file in failed:
        messages.warn(f"lshdb: {escaped(file.key)}: left: {file.reason}")
    reasons: dict[str, list[str]] = {}
    for file in left:
        if not file.has_failed:
            why = file.reason.partition(" with ")[0]
            reasons.setdefault(why, []).append(file.key)
    for why, keys in reasons.items():
        messages.message(f"left {counted(len(keys), 'document')}: {why}: {escaped(keys[0])}")
    return len(failed)


def path_from_here(path: str) -> str:
    """A path that works in the current directory: from there if it is beneath that, else absolute.

    No program takes it for an option, as one that begins with a dash.
    """
    here = os.path.join(os.path.realpath(os.curdir), "")
    path = path.removeprefix(here)
    return os.path.join(os.curdir, path) if path.startswith("-") else path
