"""Bringing documents in line with the files below some directories.

Stored documents are read first, then the directories are walked: documents without a file at that
moment are gone. A file with the same size and time as when it was last read is not opened. The plan
is made outside of a transaction; within one, only documents that have not changed since then are
moved and removed, so that several may run at once.

100,000 unchanged files take 1 to 2 seconds: half of it walking, a third reading their states.
"""

import os
import posixpath
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lshdb.errors import InputError, UsageError
from lshdb.groups import takes
from lshdb.ingest.add import add_documents
from lshdb.ingest.failures import Failures
from lshdb.ingest.writing import delete
from lshdb.model import AddReport, Failure, SyncChange, SyncReport
from lshdb.options import AddManyOptions, FilesOptions, SyncOptions, TextOptions
from lshdb.progress import shown
from lshdb.search.decisions import dropped_contents
from lshdb.shingling.arrays import chunks, int_array
from lshdb.shingling.content import digest, encoded
from lshdb.shingling.shingling import Content
from lshdb.sources.archives import Member, archive_of
from lshdb.sources.batch import Batch
from lshdb.sources.extracting import file_of_message, is_mailbox
from lshdb.sources.identity import FilesRead, is_same_file, may_repeat
from lshdb.sources.inputs import encoding_of
from lshdb.sources.paths import (
    check_key_is_free,
    format_of,
    key_of,
    paths_of_key,
    printable_path,
)
from lshdb.sources.readers import TABLE, Reader, reader_of, reason, state_of
from lshdb.store.lookups import StoredFile
from lshdb.store.rows import FileState
from lshdb.store.store import Opened, Store

NO_FILE = "no file of its own: gone, or a row or message in a file"
_AT_ONCE = 5_000
"""Documents moved or removed in one transaction: other writers wait less than a second."""
_MANY = 100
"""Documents below a directory of which more than half are removed only if the caller says so."""


_File = tuple[str, FileState]
"""The path of a file in a directory, and its state during the walk."""


@dataclass(slots=True)
class _Plan:
    """The changes to make.

    Attributes:
        below: the documents of files below each directory, by its path.
        known: all documents below the directories, by their keys.
        read: files that are new or changed, by their keys.
        moves: documents whose files have other keys now, with these.
        gone: documents whose files are gone or have no text any more.
        messages: the documents of files of mail, by the keys of the files.
        unchanged: how many files are not read again.
        left: how many documents did not come from files, as far as the database knows.
    """

    below: dict[str, list[StoredFile]] = field(default_factory=dict)
    known: dict[str, StoredFile] = field(default_factory=dict)
    read: dict[str, _File] = field(default_factory=dict)
    moves: list[tuple[StoredFile, str, FileState]] = field(default_factory=list)
    gone: list[StoredFile] = field(default_factory=list)
    messages: dict[str, list[StoredFile]] = field(default_factory=dict)
    unchanged: int = 0
    left: int = 0


def sync(store: Store, directories: Sequence[str], options: SyncOptions) -> SyncReport:
    """Bring the database in line with directories; see Database.sync."""
    if store.settings.shingling.of_sets:
        raise UsageError("text files are documents of texts, and this database holds sets")
    check_directories(directories)
    given = options.reader or reader_of(
        options.texts, store.settings.shingling, options.files, limits=store.limits
    )
    reader = replace(given, format="text")
    reader.skipped_files = given.skipped_files
    if not options.extract_again:
        reader.stored_guess = store.extracted_of
    failed = Failures(options.on_failure)
    plan = _plan(store, directories, reader, failed, again=options.extract_again)
    _recognise(store, plan, reader)
    changes: tuple[SyncChange, ...] = ()
    if options.dry_run:
        added, changes = _forecast(store, plan, reader, failed)
        moved, removed, refused = len(plan.moves), len(plan.gone), _refusal(plan, options)
    else:
        _refusal(plan, options)
        moved = _move(store, plan)
        writing = AddManyOptions(workers=options.write.workers, on_batch=options.write.on_batch)
        with shown(options.write.progress, "reading files") as report:
            added = add_documents(store, _items(plan, reader), writing, failed, progress=report)
        refused = _refusal(plan, options)
        removed = _remove(store, plan)
    failed.warn()
    return SyncReport(
        added.added,
        added.updated,
        moved,
        removed,
        plan.unchanged + added.unchanged,
        failed.count,
        added.empty,
        reader.replaced,
        plan.left,
        changes,
        refused,
        failed.kept,
    )


def check_directories(directories: Sequence[str]) -> None:
    """InputError if one does not exist, UsageError if one is a file, or none is given."""
    if not directories:
        raise UsageError("give the directories to bring the database in line with")
    for path in directories:
        if os.path.isdir(path):
            continue
        if os.path.lexists(path):
            raise UsageError(f"{printable_path(path)} is not a directory: lshdb add takes files")
        raise InputError(f"{printable_path(path)}: no such directory")


def _refusal(plan: _Plan, options: SyncOptions) -> str | None:
    """Why it is refused to remove these documents: a directory may be empty by accident.

    Raises:
        InputError: the same, unless it is a dry run.
    """
    gone = {one.doc_id for one in plan.gone}
    for path, stored in plan.below.items():
        count = sum(one.doc_id in gone for one in stored)
        if not options.remove_most and len(stored) >= _MANY and 2 * count > len(stored):
            why = (
                f"{printable_path(path)}: of {len(stored):,} documents below it {count:,} have no "
                "text file there any more, and are kept: is it mounted and complete? lshdb sync "
                "--yes (remove_most=True) removes them"
            )
            if not options.dry_run:
                raise InputError(why)
            return why
    return None


def _plan(
    store: Store,
    directories: Sequence[str],
    reader: Reader,
    on_failure: Callable[[Failure], None],
    *,
    again: bool,
) -> _Plan:
    """Compare the stored documents with the files; `again` reads those of other kinds anyway."""
    plan, found = _Plan(), dict[str, _File]()
    repeated: defaultdict[str, list[str]] = defaultdict(list)
    unread: list[str] = []
    paths = [*dict.fromkeys(directories)]
    files_read = FilesRead() if may_repeat(paths) else None
    stored_files: set[str] = set()
    kept = set[str]()
    for path in paths:
        # Keys have slashes on each system.
        start = posixpath.join(key_of(path, reader.rules.root), "")
        # No absolute path is below the root itself.
        below = [one for one in store.files_below(start) if start or not os.path.isabs(one.key)]
        plan.below[path] = [one for one in below if one.state is not None]
        plan.known |= {one.key: one for one in below}
        if files_read is not None:
            stored_files.update(file_of_message(one.key) or one.key for one in below)
        cut = len(os.path.join(path, ""))
        for entry in reader.walked(path):
            if isinstance(entry, tuple):
                directory, error = entry
                on_failure(Failure(printable_path(directory), reason(error)))
                unread.append(posixpath.join(start, printable_path(directory[cut:]), ""))
                continue
            key = start + printable_path(entry.path[cut:])
            known = plan.known.get(key)
            # A file that add read with --format text remains a text file.
            if format_of(entry.name) != "text" and (known is None or known.state is None):
                reader.skipped_files.add("tables", entry.path, TABLE)
                continue
            try:
                check_key_is_free(entry.path)
            except InputError as error:  # the other file has the document
                on_failure(Failure(printable_path(entry.path), str(error)))
                continue
            try:
                state = state_of(entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue  # gone since
            except OSError as error:
                on_failure(Failure(printable_path(entry.path), reason(error)))
                kept.add(key)
                unread.append(f"{key}/")  # it may be an archive
                continue
            if state is None:
                continue
            archive = archive_of(entry.path) if isinstance(entry, Member) else None
            earlier = files_read and files_read.earlier(entry.path, archive)
            if earlier and (key in found or key not in stored_files):
                reader.skipped_files.add_repeated(entry.path, earlier)
                continue
            found[key] = entry.path, state
            if earlier:
                repeated[earlier].append(entry.path)
    for key, (first, _) in [*found.items()] if repeated else ():
        # Of the names of a file, each that has a document keeps it, and no other gets one.
        if first in repeated and key not in stored_files:
            reader.skipped_files.add_repeated(first, repeated[first][0])
            del found[key]
    files = {key: key if key in found else file_of_message(key) for key in plan.known}
    for key, one in plan.known.items():
        if files[key] != key:
            plan.messages.setdefault(files[key], []).append(one)
    for key, file in found.items():
        stored = plan.messages.get(key) or [one for one in [plan.known.get(key)] if one]
        states, state = {one.state for one in stored}, file[1]
        extracted = again and any(one.extracted for one in states if one)
        if states != {state} or state.mtime_ns is None or extracted:
            plan.read[key] = file
        else:
            plan.unchanged += len(stored)
    there = kept.union(found)
    missing = [one for key, one in plan.known.items() if there.isdisjoint((key, files[key]))]
    plan.left = sum(one.state is None for one in missing)
    away = tuple(unread)
    plan.gone = [one for one in missing if one.state and not one.key.startswith(away)]
    return plan


def _recognise(store: Store, plan: _Plan, reader: Reader) -> None:
    """Treat a new file as moved if a missing one had the same content.

    One whose document was decided to be dropped is left out, unless it has changed. Only new files
    with the size of a missing one or the key of a dropped one are read for that.
    """
    with store.reading():
        dropped = dropped_contents(store)
    keys = {key for key, _ in dropped}
    sizes = {one.state.size for one in plan.gone if one.state is not None}
    missing: defaultdict[bytes, list[StoredFile]] = defaultdict(list)
    for one, own in zip(plan.gone, _digests(store, plan.gone), strict=True):
        missing[own].append(one)
    quiet = replace(reader)  # they are counted when they are read again
    moved = set()
    for key, (path, state) in [*plan.read.items()]:
        if key in plan.known or not (key in keys or state.size in sizes):
            continue
        own = _digest_of(quiet, path, key)
        if (key, own) in dropped:
            reader.skipped_files.add("dropped", path, "its document was decided to be dropped")
        elif own and missing[own]:
            # Of several with the same content, rather one with the same name.
            name = os.path.basename(key)
            same = [one for one in missing[own] if os.path.basename(one.key) == name]
            before = (same or missing[own])[0]
            missing[own].remove(before)
            moved.add(before.doc_id)
            plan.moves.append((before, key, state))
        else:
            continue
        del plan.read[key]
    plan.gone = [one for one in plan.gone if one.doc_id not in moved]


@takes()
def dropped_files(database: Opened, root: str | None = None) -> list[str]:
    """The paths of files whose documents the decisions mark as `drop`, removed or not.

    Each file is read: one whose text has changed since the decision is left out.

    Args:
        root: the directory that keys of files are relative to; None for the current one.

    >>> import lshdb
    >>> from pathlib import Path
    >>> _ = Path("old.txt").write_text("The fox and the grapes")
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add_files(["old.txt"])
    ...     made = db.decide("drop", ["old.txt"])
    ...     lshdb.remove_decided(db), lshdb.dropped_files(db)
    (['old.txt'], ['old.txt'])
    """
    return [one.path for one in files_of_dropped(database.store, root) if one.status]


class DroppedFile(NamedTuple):
    """The file of a document that is to be dropped.

    Attributes:
        key: the document's.
        path: the file's.
        status: of the file before it was read; None if it is not the file of the decision, or also
            that of a document that stays.
        reason: why it is not.
        digest: of the document.
        content: of the document; None if the file was not read, as it has its size and time.
    """

    key: str
    path: str
    status: os.stat_result | None
    reason: str = ""
    digest: bytes = b""
    content: Content | None = None


def files_of_dropped(store: Store, root: str | None) -> Iterator[DroppedFile]:
    """The files of the documents that the decisions mark as `drop`, in the order of keys.

    A link or a mount may give the file of a document that stays a second key: such a file is not
    that of a dropped document, whatever was decided about one of its keys.
    """
    dropped: defaultdict[str, set[bytes]] = defaultdict(set)
    with store.reading():
        for key, own in dropped_contents(store):
            dropped[key].add(own)
        known = [one for key, one in store.known([*dropped]).items() if one.digest in dropped[key]]
        read = {one.key: one.state for one in store.files_of([one.doc_id for one in known])}
        staying = _staying(store, dropped)
    files, shingling = FilesOptions(root=root), store.settings.shingling
    reader = reader_of(TextOptions(), shingling, files, format="text")
    reader.stored_guess = store.extracted_of
    current = {one.key: one.digest for one in known}
    for key, digests in sorted(dropped.items()):
        paths = [] if store.settings.shingling.of_sets else paths_of_key(key, root)
        paths = [path for path in paths if os.path.isfile(path)]
        if not paths:
            yield DroppedFile(key, os.path.join(root or "", key), None, NO_FILE)
            continue
        if len(paths) > 1:  # the bytes that are not UTF-8, and their escapes, are both a name
            yield DroppedFile(key, paths[0], None, f"{len(paths)} files have this key")
            continue
        (path,) = paths
        status, stored = os.stat(path), read.get(key)
        # Options of another run, such as --convert, may have taken the text out of the file.
        is_same = stored is not None and stored.extracted and stored.mtime_ns
        content, own = None, current.get(key, b"")
        if not (is_same and stored == state_of(status)):
            own = b""
            if stored is None or stored.size == status.st_size:
                own, content = _document_of(reader, path, key)
        if own not in digests:
            yield DroppedFile(key, path, None, "it has changed since")
        elif other := next(
            (
                other
                for other in staying.get(own, ())
                if any(is_same_file(path, one) for one in paths_of_key(other, root))
            ),
            None,
        ):
            why = f"the same file as {other}, which stays"
            yield DroppedFile(key, path, None, why)
        else:
            yield DroppedFile(key, path, status, "", own, content)


def _staying(store: Store, dropped: Mapping[str, set[bytes]]) -> dict[bytes, list[str]]:
    """The keys of other stored documents with the contents of dropped ones, by their digests."""
    wanted = set().union(*dropped.values())
    staying: defaultdict[bytes, list[str]] = defaultdict(list)
    if wanted:
        documents = store.files_below("")
        _, digests = store.sizes(int_array([one.doc_id for one in documents]))
        for one, own in zip(documents, map(bytes, digests), strict=True):
            if own in wanted and own not in dropped.get(one.key, ()):
                staying[own].append(one.key)
    return staying


def _digest_of(reader: Reader, path: str, key: str) -> bytes:
    """The digest of a text file's document; empty if it cannot be read."""
    return _document_of(reader, path, key)[0]


def _document_of(reader: Reader, path: str, key: str) -> tuple[bytes, Content | None]:
    """The digest and the content of a text file's document; empty if it cannot be read."""
    if not is_mailbox(path):
        for batch in reader.file(path, key):
            if batch.contents and batch.keys[0] == key:
                return _own_digest(batch), batch.contents[0]
    return b"", None


def _own_digest(batch: Batch) -> bytes:
    """The digest of the document of a batch that has at most one."""
    return digest(encoded(batch.contents[0]).encode()) if batch.contents else b""


def _digests(store: Store, documents: Sequence[StoredFile]) -> list[bytes]:
    """The digests of stored documents, empty if one does not exist any more."""
    with store.reading():
        there = [one.doc_id for one in store.files_of([one.doc_id for one in documents])]
        _, found = store.sizes(int_array(there))
    known = dict(zip(there, map(bytes, found), strict=True))
    return [known.get(one.doc_id, b"") for one in documents]


def _items(plan: _Plan, reader: Reader) -> Iterator[Batch]:
    """The documents of the files to read; documents that are in none of them are gone.

    What cannot be read is not gone: a message that fails, or all documents of a file that does.
    """
    for key, (path, _) in plan.read.items():
        stored = [*plan.messages.get(key, ()), *filter(None, [plan.known.get(key)])]
        stored = [one for one in stored if one.state]
        keys = set[str]()
        is_read = is_failed = False
        for batch in reader.file(path, key):
            if batch.failures and not _exists(path):
                continue  # gone since
            is_read = True
            is_failed |= bool(batch.failures) and not batch.unread
            keys.update(batch.keys, batch.unread)
            yield batch
        if not is_read and not is_mailbox(path) and _exists(path):
            # A text is binary now; but of a PDF or the like the reader may be missing.
            stored = [one for one in stored if one.state and _is_plain(one.state)]
        if not is_failed:
            plan.gone += [one for one in stored if one.key not in keys]


def _is_plain(state: FileState) -> bool:
    """Whether a file was read without a library: UTF-16 without a mark needs one, too."""
    encoding = encoding_of(state.extracted)
    return not state.extracted or (encoding is not None and "16" not in encoding)


def _exists(path: str) -> bool:
    """Whether a file or an archive's member may be there: what cannot be looked at may be."""
    try:
        os.lstat(archive_of(path) or path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


def _move(store: Store, plan: _Plan) -> int:
    """Move documents to other keys, but those changed by others; return how many there are."""
    done = 0
    for part in chunks(len(plan.moves), _AT_ONCE):
        some = plan.moves[part]
        with store.writing():
            same = _unchanged(store, [one for one, _, _ in some])
            taken = store.known([key for _, key, _ in some])
            moved = [one for one in some if one[0].doc_id in same and one[1] not in taken]
            for one, key, _ in moved:
                store.set_key(one.doc_id, key)
            store.set_files(
                (key, replace(state, extracted=one.state.extracted if one.state else None))
                for one, key, state in moved
            )
        done += len(moved)
    return done


def _remove(store: Store, plan: _Plan) -> int:
    """Remove documents, but those changed by others; return how many there are."""
    done = 0
    for part in chunks(len(plan.gone), _AT_ONCE):
        with store.writing():
            same = sorted(_unchanged(store, plan.gone[part]))
            delete(store, same)
        done += len(same)
    return done


def _unchanged(store: Store, documents: Sequence[StoredFile]) -> set[int]:
    """The ids of documents that are as they were when the plan was made."""
    now = {one.doc_id: one for one in store.files_of([one.doc_id for one in documents])}
    return {one.doc_id for one in documents if now.get(one.doc_id) == one}


def _forecast(
    store: Store, plan: _Plan, reader: Reader, on_failure: Callable[[Failure], None]
) -> tuple[AddReport, tuple[SyncChange, ...]]:
    """The planned change of each document, in the order of the keys."""
    given = [key for key in plan.known if key in plan.read or file_of_message(key) in plan.read]
    stored = dict(zip(given, _digests(store, [plan.known[key] for key in given]), strict=True))
    changes: list[SyncChange] = []
    unchanged = 0
    for batch in _items(plan, reader):
        for _, failure in batch.failures:
            on_failure(failure)
        for key in batch.keys:
            if stored.get(key) == _own_digest(batch):
                unchanged += 1
            else:
                changes.append(SyncChange("update" if key in stored else "add", key))
    count = Counter(change.action for change in changes)
    changes += [SyncChange("move", key, one.key) for one, key, _ in plan.moves]
    changes += [SyncChange("remove", one.key) for one in plan.gone]
    changes.sort(key=lambda change: (change.key, change.action))
    return AddReport(count["add"], count["update"], unchanged), tuple(changes)
