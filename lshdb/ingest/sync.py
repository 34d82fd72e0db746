"""Updating documents from the files below some directories.

Stored documents are read first, then the directories are walked: documents without a file at that
moment are gone. A file with the same size and time as when it was last read is not opened. The plan
is made outside of a transaction; within one, only documents that have not changed since then are
moved and removed, so that several may run at once.

100,000 unchanged files take 1 to 2 seconds: half of it walking, a third reading their states.
"""

import os
import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from lshdb import model
from lshdb.errors import InputError, UsageError
from lshdb.formatting import counted
from lshdb.ingest.add import add_documents
from lshdb.ingest.writing import delete
from lshdb.options import AddManyOptions, SyncOptions
from lshdb.progress import shown
from lshdb.search.decisions import dropped_contents
from lshdb.shingling import arrays
from lshdb.shingling.content import digest, encoded
from lshdb.sources import archives, identity, walking
from lshdb.sources.batch import Batch
from lshdb.sources.counts import failure_of
from lshdb.sources.extracting import file_of_message, is_mailbox
from lshdb.sources.inputs import encoding_of
from lshdb.sources.paths import (
    absolute_key,
    check_key_is_free,
    format_of,
    key_of_real,
    paths_of_key,
    printable_path,
    tilde_hint,
)
from lshdb.sources.session import TABLE, Session, no_guess, session_of, state_of, unknown_root
from lshdb.store import location
from lshdb.store.lookups import StoredFile
from lshdb.store.rows import FileState
from lshdb.store.store import Store

_PER_TRANSACTION = 5_000
"""Documents moved or removed in one transaction: other writers wait less than a second."""
_MANY = 100
"""Documents below a directory of which more than half are removed only if the caller says so."""


_File = tuple[str, FileState]
"""The path of a file in a directory, and its state during the walk."""


@dataclass
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


def sync(store: Store, directories: Sequence[str], options: SyncOptions) -> model.SyncReport:
    """Update the database from folders; see Database.sync."""
    if store.settings.shingling.of_sets:
        raise UsageError("text files are documents of texts, and this database holds sets")
    check_directories(directories)
    session = session_of(
        options.texts,
        store.settings.shingling,
        options.files,
        reader=options.reader,
        on_failure=options.on_failure,
        limits=store.limits,
    )
    root = store.root if options.root is None else location.real_root(options.root)
    if root is None:
        raise UsageError(unknown_root(session.options.option("--root DIR", "root=")))
    session = session.like(
        format="text",
        root=root,
        stored_guess=no_guess if options.extract_again else store.extracted_of,
    )
    failures = session.counts.failures
    plan = _plan(store, directories, session, root, again=options.extract_again)
    _recognise(store, plan, session)
    changes: tuple[model.SyncChange, ...] = ()
    refused = None if options.remove_most else _moved_alone(store, plan, root)
    if refused and not options.dry_run:
        raise InputError(refused)
    if options.dry_run:
        added, changes = _forecast(plan, session)
        moved, removed = len(plan.moves), len(plan.gone)
        refused = refused or _refusal(plan, options)
    else:
        _refusal(plan, options)
        _set_root(store, root)
        moved = _move(store, plan)
        writing = AddManyOptions(workers=options.write.workers, on_batch=options.write.on_batch)
        with shown(options.write.progress, "reading files") as report:
            items = _items(plan, session)
            added = add_documents(store, items, writing, failures, progress=report, late_bands=True)
        refused = _refusal(plan, options)
        removed = _remove(store, plan)
    failures.warn()
    return model.SyncReport(
        added.added,
        added.updated,
        moved,
        removed,
        plan.unchanged + added.unchanged,
        failures.count,
        added.empty,
        session.counts.replaced,
        plan.left,
        changes,
        refused,
        failures.kept,
        session.counts.skipped["damaged"],
        session.counts.skipped["guessed"],
    )


def check_directories(directories: Sequence[str]) -> None:
    """InputError if a folder does not exist; UsageError for a file, or without any folder."""
    if not directories:
        raise UsageError("name the folders to update the database from")
    for path in directories:
        if os.path.isdir(path):
            continue
        if os.path.lexists(path):
            name = printable_path(path)
            raise UsageError(f"{name} is a file, not a directory: add it by `lshdb add {name}`")
        raise InputError(f"{printable_path(path)}: no such directory{tilde_hint(path)}")


def _moved_alone(store: Store, plan: _Plan, root: str) -> str | None:
    """Why nothing is changed: none of the files below the root is there, as if it were elsewhere.

    Then the database may have been moved without its files, whose keys are paths from there.
    """
    gone_ids = {document.doc_id for document in plan.gone}
    are_there = (document.doc_id not in gone_ids for document in _below_root(plan.known.values()))
    if plan.moves or any(are_there):
        return None
    files = {file_of_message(file.key) or file.key for file in _below_root(store.files_below(""))}
    if not files or any(
        paths_of_key(key, root) or archives.archive_of(os.path.join(root, key)) for key in files
    ):
        return None
    return (
        f"{store.path} has documents of {counted(len(files), 'file')} below "
        f"{printable_path(root)}, and none of these is there: if they are elsewhere now, give "
        "that directory by --root DIR (root=); if they are really gone, --remove-most "
        "(remove_most=True) removes their documents"
    )


def _below_root(documents: Iterable[StoredFile]) -> Iterator[StoredFile]:
    """The documents of files whose keys are relative."""
    return (file for file in documents if file.state and not os.path.isabs(file.key))


def _set_root(store: Store, root: str) -> None:
    """Store the root if the user named another one."""
    if store.root is None:
        store.check_root(root)
    elif store.root != root:
        with store.writing():
            store.set_root(root)


def _refusal(plan: _Plan, options: SyncOptions) -> str | None:
    """Why the documents are not removed: a directory may be empty by accident.

    Raises:
        InputError: the same, unless it is a dry run.
    """
    gone_ids = {document.doc_id for document in plan.gone}
    for path, stored in plan.below.items():
        count = sum(document.doc_id in gone_ids for document in stored)
        if not options.remove_most and len(stored) >= _MANY and 2 * count > len(stored):
            refusal = (
                f"{printable_path(path)}: of {len(stored):,} documents below it {count:,} have no "
                "text file there any more, and are kept: is it mounted and complete? lshdb sync "
                "--remove-most (remove_most=True) removes them"
            )
            if not options.dry_run:
                raise InputError(refusal)
            return refusal
    return None


@dataclass(eq=False)
class _FolderFiles:
    """The files in the directories.

    Attributes:
        files: those to compare, by their keys.
        kept: keys of files that cannot be looked at.
        unread: directories that cannot be listed, each with a slash behind it, as absolute keys.
        second_names: other paths of a file, by the first one.
        files_read: the files so far.
        stored_keys: of the files that have a document.
    """

    files_read: identity.FilesRead
    files: dict[str, _File] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    second_names: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    stored_keys: set[str] = field(default_factory=set)


def _plan(
    store: Store, directories: Sequence[str], session: Session, root: str, *, again: bool
) -> _Plan:
    """Compare the stored documents with the files; `again` reads those of other kinds anyway."""
    paths = [*dict.fromkeys(directories)]
    plan, walked = _Plan(), _FolderFiles(session.files_read)
    walks: list[tuple[str, walking.Walk]] = []
    for path in paths:
        real = os.path.realpath(path)
        start = posixpath.join(printable_path(real), "")
        # The root may be in the directory: keys are then of both kinds.
        is_within = absolute_key("", root).startswith(start)
        prefix = "" if is_within else posixpath.join(key_of_real(real, root), "")
        below = [
            document
            for document in store.files_below(prefix)
            if absolute_key(document.key, root).startswith(start)
        ]
        plan.below[path] = [document for document in below if document.state is not None]
        plan.known |= {document.key: document for document in below}
        walked.stored_keys.update(
            file_of_message(document.key) or document.key for document in below
        )
        walk = session.walked(path)
        walks.append((path, walk))
        _walk(path, root, walk, session, plan.known, walked)
    for path, walk in walks:
        _walk(path, root, walk.through_links(), session, plan.known, walked)
    if session.options.rules.follow:  # links may lead out of the directories
        outside = [key for key in walked.files if key not in plan.known]
        plan.known |= {document.key: document for document in store.files_of_keys(outside)}
    for key, (first, _) in [*walked.files.items()] if walked.second_names else ():
        # Of the names of a file, each that has a document keeps it, and no other gets one.
        if first in walked.second_names and key not in walked.stored_keys:
            session.counts.skipped.add_repeated(first, walked.second_names[first][0])
            del walked.files[key]
    _compare(plan, walked, root, again=again)
    return plan


def _walk(
    path: str,
    root: str,
    entries: Iterable[walking.Entry | model.Failure],
    session: Session,
    known: Mapping[str, StoredFile],
    walked: _FolderFiles,
) -> None:
    """Find the files among the entries of a directory, by their keys."""
    failures, skipped = session.counts.failures, session.counts.skipped
    real = lru_cache(os.path.realpath)  # of the directories of files, one after the other
    start = posixpath.join(printable_path(real(path)), "")
    for entry in entries:
        if isinstance(entry, model.Failure):
            failures(entry)
            unread = start + entry.where[len(printable_path(os.path.join(path, ""))) :]
            walked.unread.append(posixpath.join(unread, ""))
            continue
        above, name = os.path.split(entry.path)
        key = key_of_real(os.path.join(real(above), name), root)
        stored = known.get(key)
        # A file that add read with --format text remains a text file.
        if format_of(entry.name) != "text" and (stored is None or stored.state is None):
            skipped.add("tables", entry.path, TABLE)
            continue
        try:
            check_key_is_free(entry.path)
        except InputError as error:  # the other file has the document
            failures(failure_of(entry.path, error))
            continue
        try:
            state = state_of(entry.stat())
        except FileNotFoundError:
            continue  # gone since
        except OSError as error:
            failures(failure_of(entry.path, error))
            walked.kept.add(key)
            walked.unread.append(f"{absolute_key(key, root)}/")  # it may be an archive
            continue
        if state is None:
            continue
        archive = archives.archive_of(entry.path) if isinstance(entry, archives.Member) else None
        earlier = walked.files_read.earlier(entry.path, archive)
        if earlier and (key in walked.files or key not in walked.stored_keys):
            skipped.add_repeated(entry.path, earlier)
            continue
        walked.files[key] = entry.path, state
        if earlier:
            walked.second_names[earlier].append(entry.path)


def _compare(plan: _Plan, walked: _FolderFiles, root: str, *, again: bool) -> None:
    """Plan what is read, and which documents are gone, by the states of files."""
    if not plan.known:
        plan.read.update(walked.files)
        return
    files = {key: key if key in walked.files else file_of_message(key) for key in plan.known}
    for key, document in plan.known.items():
        if files[key] != key:
            plan.messages.setdefault(files[key], []).append(document)
    for key, file in walked.files.items():
        stored = plan.messages.get(key) or [*filter(None, [plan.known.get(key)])]
        states, state = {document.state for document in stored}, file[1]
        extracted = again and any(stored_state.extracted for stored_state in states if stored_state)
        if states != {state} or state.mtime_ns is None or extracted:
            plan.read[key] = file
        else:
            plan.unchanged += len(stored)
    present_keys = walked.kept.union(walked.files)
    missing = [
        document
        for key, document in plan.known.items()
        if present_keys.isdisjoint((key, files[key]))
    ]
    plan.left = sum(document.state is None for document in missing)
    unread = tuple(walked.unread)
    plan.gone = [
        document
        for document in missing
        if document.state and not absolute_key(document.key, root).startswith(unread)
    ]


def _recognise(store: Store, plan: _Plan, session: Session) -> None:
    """Treat a new file as moved if a missing one had the same content.

    A file whose document was decided to be dropped is left out, unless it has changed. Only new
    files with the size of a missing file or the key of a dropped document are read for that.
    """
    with store.reading():
        dropped = dropped_contents(store)
    dropped_keys = {key for key, _ in dropped}
    sizes = {document.state.size for document in plan.gone if document.state is not None}
    if not (dropped_keys or sizes):
        return
    missing: defaultdict[bytes, list[StoredFile]] = defaultdict(list)
    for document in plan.gone:
        missing[document.digest].append(document)
    uncounted = session.apart()  # they are counted when they are read again
    moved = set()
    for key, (path, state) in [*plan.read.items()]:
        if key in plan.known or not (key in dropped_keys or state.size in sizes):
            continue
        batch = _batch_of(uncounted, path, key)
        content_digest = _batch_digest(batch)
        if (key, content_digest) in dropped:
            session.counts.skipped.add("dropped", path, "its document was decided to be dropped")
        elif content_digest and missing[content_digest]:
            # Of several with the same content, prefer one with the same name.
            name = os.path.basename(key)
            of_same_name = [
                document
                for document in missing[content_digest]
                if os.path.basename(document.key) == name
            ]
            moved_document = (of_same_name or missing[content_digest])[0]
            missing[content_digest].remove(moved_document)
            moved.add(moved_document.doc_id)
            plan.moves.append((moved_document, key, dict(batch.states).get(key, state)))
        else:
            continue
        del plan.read[key]
    plan.gone = [document for document in plan.gone if document.doc_id not in moved]


def _batch_of(session: Session, path: str, key: str) -> Batch:
    """The batch of a text file's document; empty if it cannot be read."""
    if not is_mailbox(path):
        for batch in session.file(path, key):
            if batch.contents and batch.keys[0] == key:
                return batch
    return Batch()


def _batch_digest(batch: Batch) -> bytes:
    """The digest of the document of a batch that has at most one."""
    return digest(encoded(batch.contents[0]).encode()) if batch.contents else b""


def _items(plan: _Plan, session: Session) -> Iterator[Batch]:
    """The documents of the files to read; documents that are in none of them are gone.

    What cannot be read is not gone: a message that fails, or all documents of a file that does.
    """
    for key, (path, _) in plan.read.items():
        stored = _stored(plan, key) if plan.known else []
        keys = set[str]()
        is_read = is_failed = False
        pointers = session.counts.skipped["pointers"]
        for batch in session.file(path, key):
            if batch.failures and not _exists(path):
                continue  # gone since
            is_read = True
            is_failed |= bool(batch.failures) and not batch.unread
            keys.update(batch.keys, batch.unread)
            yield batch
        if not is_read and not is_mailbox(path) and _exists(path):
            # A text is binary now; but of a PDF or the like the reader may be missing.
            stored = [
                document for document in stored if document.state and _is_plain(document.state)
            ]
        # Of a pointer, the file itself is not gone.
        if not is_failed and session.counts.skipped["pointers"] == pointers:
            plan.gone += [document for document in stored if document.key not in keys]


def _stored(plan: _Plan, key: str) -> list[StoredFile]:
    """The stored documents of a file, of which its state is known."""
    stored = [*plan.messages.get(key, ()), *filter(None, [plan.known.get(key)])]
    return [document for document in stored if document.state]


def _is_plain(state: FileState) -> bool:
    """Whether a file was read without a library: UTF-16 without a mark needs one, too."""
    encoding = encoding_of(state.extracted)
    return not state.extracted or (encoding is not None and "16" not in encoding)


def _exists(path: str) -> bool:
    """Whether a file or an archive's member may exist; True if it cannot be looked at."""
    try:
        os.lstat(archives.archive_of(path) or path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


def _move(store: Store, plan: _Plan) -> int:
    """Move documents to other keys, except those that others changed; return their number."""
    moved_count = 0
    for part in arrays.chunks(len(plan.moves), _PER_TRANSACTION):
        moves = plan.moves[part]
        with store.writing():
            unchanged_ids = _unchanged(store, [document for document, _, _ in moves])
            keys_in_use = store.known([key for _, key, _ in moves])
            moved = [
                move
                for move in moves
                if move[0].doc_id in unchanged_ids and move[1] not in keys_in_use
            ]
            for document, key, _ in moved:
                store.set_key(document.doc_id, key)
            store.set_files(
                (key, replace(state, extracted=document.extracted))
                for document, key, state in moved
            )
        moved_count += len(moved)
    return moved_count


def _remove(store: Store, plan: _Plan) -> int:
    """Remove documents, except those that others changed; return their number."""
    removed_count = 0
    for part in arrays.chunks(len(plan.gone), _PER_TRANSACTION):
        with store.writing():
            unchanged_ids = sorted(_unchanged(store, plan.gone[part]))
            delete(store, unchanged_ids)
        removed_count += len(unchanged_ids)
    return removed_count


def _unchanged(store: Store, documents: Sequence[StoredFile]) -> set[int]:
    """The ids of documents that are as they were when the plan was made."""
    current_documents = {*store.files_of([document.doc_id for document in documents])}
    return {document.doc_id for document in current_documents.intersection(documents)}


def _forecast(
    plan: _Plan, session: Session
) -> tuple[model.AddReport, tuple[model.SyncChange, ...]]:
    """The planned change of each document, in the order of the keys."""
    changes: list[model.SyncChange] = []
    unchanged_count = 0
    for batch in _items(plan, session):
        for _, failure in batch.failures:
            session.counts.failures(failure)
        for key in batch.keys:
            stored = plan.known.get(key)
            if stored and stored.digest == _batch_digest(batch):
                unchanged_count += 1
            else:
                changes.append(model.SyncChange("update" if stored else "add", key))
    count = Counter(change.action for change in changes)
    changes += [model.SyncChange("move", key, document.key) for document, key, _ in plan.moves]
    changes += [model.SyncChange("remove", document.key) for document in plan.gone]
    changes.sort(key=lambda change: (change.key, change.action))
    return model.AddReport(count["add"], count["update"], unchanged_count), tuple(changes)
