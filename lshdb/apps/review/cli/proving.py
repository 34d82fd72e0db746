"""What commands print of documents and files that can go, and of those that cannot."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

import typer

from lshdb.apps.review.drop_list import dropped_members
from lshdb.cli import messages, results, running
from lshdb.cli.options import Form
from lshdb.database import Database, store_of
from lshdb.formatting import counted
from lshdb.model import Cluster
from lshdb.read import proof
from lshdb.read.files import file_identity
from lshdb.read.paths import escaped, path_of_key, printable_path
from lshdb.search.result_tables import roles
from lshdb.store.store import Store


def print_names(names: Iterable[str], *, null: bool) -> None:
    """Print keys or paths, each on a line, or as they are with a NUL byte after each.

    As they are: with the bytes that they have on the disk, also if these are not UTF-8.
    """
    for name in names:
        if null:
            shown = escaped(printable_path(name)) if sys.stdout.isatty() else name
            sys.stdout.buffer.write(shown.encode("utf-8", "surrogateescape") + b"\0")
        else:
            print(escaped(printable_path(name)))


def print_files(files: Iterable[proof.ProvedFile | proof.LeftFile], *, null: bool) -> None:
    """Print the paths of files that can be deleted, and name the others.

    Raises:
        typer.Exit: a user should look at some of those.
    """
    left, unprintable = list[proof.LeftFile](), 0
    for file in files:
        if isinstance(file, proof.LeftFile):
            left.append(file)
        else:
            path = path_from_here(file.path)
            unprintable += escaped(printable_path(path)) != path
            print_names([path], null=null)
    if unprintable and not null:
        messages.warn(
            "lshdb: names that are not UTF-8 or have control characters, such as newlines, are "
            f"written with backslashes: {unprintable:,}; -0 prints them as they are"
        )
    if report_left(left):
        raise typer.Exit(running.FAILED)


def print_dropped(
    database: Database,
    clusters: Iterable[Cluster],
    threshold: float,
    form: Form,
    *,
    files: bool,
    null: bool,
) -> None:
    """Print the keys of members to drop, or their files that can be deleted, and name the others.

    If lines are keys, only those that fit on a line are printed.
    """
    store = store_of(database)
    if files:
        print_files(_files_of(store, clusters, threshold), null=null)
        return
    below = unprintable = same = 0

    def file_of(key: str) -> object:
        return file_identity(path_of_key(key, store.root))

    def dropped() -> Iterator[tuple[str]]:
        nonlocal below, unprintable, same
        for cluster in clusters:
            below += roles(cluster, threshold).count("below")
            keys = dropped_members(cluster, threshold)
            kept = {*map(file_of, {*cluster.members}.difference(keys))} - {None}
            for key in keys:
                if file_of(key) in kept:
                    same += 1
                elif form.is_text and not null and escaped(key) != key:
                    unprintable += 1
                else:
                    yield (key,)

    if null:
        print_names((key for (key,) in dropped()), null=True)
    else:
        results.write_results({"key": str}, dropped(), form, noun=("key",), none="none to drop")
    if same:
        messages.message(f"not listed, as already one file with a kept one: {same:,}")
    if below:
        messages.message(f'"below", so not listed: {below:,}; with --star there are none')
    if unprintable:
        raise running.failed(
            f"keys with control characters, such as newlines, are not listed: {unprintable:,}; "
            "give -0"
        )


def _files_of(
    store: Store, clusters: Iterable[Cluster], threshold: float
) -> Iterator[proof.ProvedFile | proof.LeftFile]:
    """The files of the members of clusters to drop, each proved now, or left."""
    proofs, root = proof.proof_of(store), store.root
    for cluster in clusters:
        keys = dropped_members(cluster, threshold)
        with store.reading():
            stored = store.files_of_keys([*keys, cluster.keep])
        documents = {file.key: proof.compared(file, root) for file in stored}
        stays = [] if cluster.keep in keys else [documents.get(cluster.keep)]
        for key in keys:
            if key in documents:  # else removed meanwhile
                yield proofs.check(documents[key], filter(None, stays))


def report_left(left: Sequence[proof.LeftFile]) -> int:
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
