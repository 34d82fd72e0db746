"""Updating documents from the files below some directories.

Stored documents are read first, then the directories are walked: documents without a file at that
moment are gone. A file that looks as it did when it was last read (size, times and inode) is not
opened; others are compared by their bytes with all that is gone or may have changed, which shows
what is unchanged and what was renamed (apps.folders.renames); the rest is read. The plan is made
outside of a transaction; within one, only documents that have not changed since then are moved and
removed, so that several may run at once.

100,000 unchanged files take 1 to 2 seconds: half of it walking, a third reading their states.
"""

import os
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from lshdb import model
from lshdb.apps.folders import renames
from lshdb.apps.folders.options import SyncOptions
from lshdb.apps.folders.statements import FILES_OF_INODES
from lshdb.apps.review import storing_decisions
from lshdb.apps.review.decisions import dropped_rows
from lshdb.errors import InputError, UsageError
from lshdb.formatting import counted
from lshdb.json_text import dumps
from lshdb.options import AddManyOptions
from lshdb.progress import shown
from lshdb.read import kinds, walking
from lshdb.read.batch import Batch
from lshdb.read.compression import compression_of
from lshdb.read.counts import failure_of
from lshdb.read.files import File
from lshdb.read.paths import (
    archive_of,
    file_of_key,
    format_of,
    key_of_real,
    path_of_key,
    printable_path,
)
from lshdb.read.session import TABLE, Session, session_of
from lshdb.results import Result
from lshdb.store import location
from lshdb.store.lookups import StoredFile
from lshdb.store.rows import FileState
from lshdb.store.statements import SET_KEY, SET_ROOT
from lshdb.store.store import Store
from lshdb.text import arrays
from lshdb.text.content import digest, encoded
from lshdb.write.add import add_documents
from lshdb.write.writing import delete

_PER_TRANSACTION = 5_000
"""Documents moved or removed in one transaction: other writers wait less than a second."""
_GUESSED = re.compile(r'"encoding": "(?:(?!16)[^"])*"')
"""In the stored state of a text, the encoding that was guessed, but UTF-16."""
_MANY = 100
"""Documents below a directory of which more than half are removed only if the caller says so."""


_File = tuple[File, FileState]
"""A file in a directory, and its state during the walk."""
_Move = tuple[StoredFile, str, FileState]
"""A document, the key that it gets, and the state of its file."""


@dataclass(frozen=True, slots=True)
class SyncChange(Result):
    """What `sync` does with one document.

    Attributes:
        action: what happens.
        key: the document's new key.
        moved_from: the old key, if the file was moved.
    """

    action: Literal["add", "update", "move", "remove"]
    key: str
    moved_from: str | None = None


@dataclass(frozen=True)
class SyncReport(Result):
    """The results of `sync`.

    Attributes:
        added, updated, moved, removed, unchanged: one count for each document; a document whose
            key was spelled in another way before also counts as moved.
        failed: files and directories that could not be read; their documents stay as they are.
        empty: written documents without a shingle, which are similar to nothing.
        replaced: files with bytes that are not Unicode.
        left: documents with keys below the directories that did not come from files, as far as
            the database knows: they stay.
        changes: in a dry run, each change, in the order of the keys.
        refused: in a dry run, why `sync` itself would fail with InputError: it would remove most
            documents below a directory. None if it would not fail.
        failures: where the first 10,000 failures are, and why.
        damaged, guessed: files read without a page or part that is damaged, and in an encoding that
            is guessed.
    """

    added: int = 0
    updated: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: int = 0
    empty: int = 0
    replaced: int = 0
    left: int = 0
    changes: tuple[SyncChange, ...] = ()
    refused: str | None = None
    failures: tuple[model.Failure, ...] = field(default=(), repr=False)
    damaged: int = 0
    guessed: int = 0


@dataclass
class _Plan:
    """What is in the directories, and the changes to make.

    Attributes:
        root: keys are paths from here.
        starts: how the absolute keys of files below each directory begin.
        files: those to compare, by their keys.
        kept: keys of files that cannot be looked at.
        unread: directories that cannot be listed, each with a slash behind it, as absolute keys.
        below: the documents of files below each directory, by its path.
        known: all documents below the directories, by their keys.
        stored_keys: of the files that have a document.
        read: files that are new or changed, by their keys.
        moves: documents whose files have these keys now, the same as before or others.
        gone: documents whose files are gone or have no text any more.
        messages: the documents of files of mail, by the keys of the files.
        spent: the keys of files that were decided to be dropped, and are not those any more.
        is_here: whether a new or changed file below the root has the bytes of a stored one.
        unchanged: how many documents have the bytes that they had.
        left: how many documents did not come from files, as far as the database knows.
    """

    root: str
    starts: tuple[str, ...]
    files: dict[str, _File] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    below: dict[str, list[StoredFile]] = field(default_factory=dict)
    known: dict[str, StoredFile] = field(default_factory=dict)
    stored_keys: set[str] = field(default_factory=set)
    read: dict[str, _File] = field(default_factory=dict)
    moves: list[_Move] = field(default_factory=list)
    gone: list[StoredFile] = field(default_factory=list)
    messages: dict[str, list[StoredFile]] = field(default_factory=dict)
    spent: set[str] = field(default_factory=set)
    is_here: bool = False
    unchanged: int = 0
    left: int = 0

    def moved(self) -> list[tuple[StoredFile, str]]:
        """The documents that get other keys, with these."""
        return [(document, key) for document, key, _ in self.moves if document.key != key]


def sync(store: Store, directories: Sequence[str], options: SyncOptions) -> SyncReport:
    """Update the database from folders; see Database.sync."""
    if store.settings.shingling.of_sets:
        raise UsageError("text files are documents of texts, and this database holds sets")
    check_directories(directories)
    root = store.root if options.root is None else location.real_root(options.root)
    session = session_of(
        options.texts,
        store.settings.shingling,
        options.files,
        reader=options.reader,
        on_failure=options.on_failure,
        limits=store.limits,
    ).like(
        format="text",
        root=root,
        stored_guess=(lambda _: None) if options.extract_again else store.extracted_of,
    )
    failures = session.counts.failures
    plan = _plan(store, directories, session, root, options)
    _recognise(store, plan, session, options)
    changes: tuple[SyncChange, ...] = ()
    refused = _moved_alone(store, plan, options) or _refusal(plan, options)
    if options.dry_run:
        added, changes = _forecast(plan, session)
        moved, removed = len(plan.moved()), len(plan.gone)
        refused = refused or _refusal(plan, options)
    elif refused:
        raise InputError(refused)
    else:
        if store.root != root:
            with store.writing():
                store.rows(SET_ROOT, location.root_to_store(root, store.real_path))
        moved, replaced = _move(store, plan)
        writing = AddManyOptions(workers=options.write.workers, on_batch=options.write.on_batch)
        with shown(options.write.progress, "reading files") as report:
            items = _items(plan, session)
            added = add_documents(store, items, writing, failures, progress=report, late_bands=True)
        if refused := _refusal(plan, options):  # what was read may be no text any more
            raise InputError(refused)
        removed = replaced + _remove(store, plan)
    failures.warn()
    return SyncReport(
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
        tuple(failures.kept),
        session.counts.skipped["damaged"],
        session.counts.skipped["guessed"],
    )


def check_directories(directories: Sequence[str]) -> None:
    """InputError if a folder does not exist; UsageError for a file, or without any folder."""
    if not directories:
        raise UsageError("name the folders to update the database from")
    for path in directories:
        name = printable_path(path)
        if not os.path.lexists(path):
            moved = f"if it was moved, sync the new one with --moved-from {name} (moved_from=)"
            raise InputError(f"{name}: no such directory; {moved}")
        if not os.path.isdir(path):
            raise UsageError(f"{name} is a file, not a directory: add it by `lshdb add {name}`")


def _moved_alone(store: Store, plan: _Plan, options: SyncOptions) -> str | None:
    """Why nothing is changed: none of the files below the root is there, as if it were elsewhere.

    Then the database may have been moved without its files, whose keys are paths from there.
    """
    gone_ids = {document.doc_id for document in plan.gone}
    are_there = (document.doc_id not in gone_ids for document in _below_root(plan.known.values()))
    # A file that is known again outside of the root is no sign that the files moved there.
    is_renamed = any(not os.path.isabs(key) for _, key, _ in plan.moves)
    if options.remove_most or any(are_there) or is_renamed or plan.is_here:
        return None
    files = {file_of_key(file.key) for file in _below_root(store.files_below(""))}
    if not files or any(_is_there(key, plan.root) for key in files):
        return None
    return (
        f"{store.path} has documents of {counted(len(files), 'file')} below "
        f"{printable_path(plan.root)}, and none of these is there: if they are elsewhere now, give "
        "that directory by --root DIR (root=); if they are really gone, --remove-most "
        "(remove_most=True) removes their documents"
    )


def _below_root(documents: Iterable[StoredFile]) -> Iterator[StoredFile]:
    """The documents of files whose keys are relative."""
    return (file for file in documents if file.state and not os.path.isabs(file.key))


def _refusal(plan: _Plan, options: SyncOptions) -> str | None:
    """Why the documents are not removed: a directory may be empty by accident."""
    gone_ids = {document.doc_id for document in plan.gone}
    for path, stored in plan.below.items():
        count = sum(document.doc_id in gone_ids for document in stored)
        if not options.remove_most and len(stored) >= _MANY and 2 * count > len(stored):
            return (
                f"{printable_path(path)}: of {len(stored):,} documents below it {count:,} have no "
                "text file there any more, and are kept: is it mounted and complete? lshdb sync "
                "--remove-most (remove_most=True) removes them"
            )
    return None


def _plan(
    store: Store, directories: Sequence[str], session: Session, root: str, options: SyncOptions
) -> _Plan:
    """Compare the stored documents with the files."""
    paths = [*dict.fromkeys(directories)]
    plan = _Plan(root, tuple(map(_start, paths)))
    walks: list[tuple[str, walking.Walk]] = []
    for path in paths:
        below = _stored_below(store, path, root)
        plan.below[path] = [document for document in below if document.state is not None]
        plan.known |= {document.key: document for document in below}
        plan.stored_keys.update(file_of_key(document.key) for document in below)
        walk = session.walked(path)
        walks.append((path, walk))
        _walk(path, walk, session, plan)
    for path, walk in walks:
        _walk(path, walk.through_links(), session, plan)
    if session.options.rules.follow:  # links may lead out of the directories
        outside = [key for key in plan.files if key not in plan.known]
        plan.known |= {document.key: document for document in store.files_of_keys(outside)}
    _compare(plan, options)
    for path in options.moved_from:
        for document in _stored_below(store, path, root):
            is_known = document.key in plan.known
            if document.state and not (is_known or _is_there(file_of_key(document.key), root)):
                plan.below.setdefault(path, []).append(document)
                plan.known[document.key] = document
                plan.gone.append(document)
    return plan


def _absolute_key(key: str, root: str) -> str:
    """The absolute path that a key stands for, written as keys are."""
    return printable_path(os.path.join(root, key))


def _start(path: str) -> str:
    """How the absolute keys of the files below a directory begin."""
    return posixpath.join(printable_path(os.path.realpath(path)), "")


def _stored_below(store: Store, path: str, root: str) -> list[StoredFile]:
    """The documents whose keys are below a directory."""
    start = _start(path)
    # The root may be in the directory: keys are then of both kinds.
    is_within = _absolute_key("", root).startswith(start)
    prefix = "" if is_within else posixpath.join(key_of_real(os.path.realpath(path), root), "")
    return [
        document
        for document in store.files_below(prefix)
        if _absolute_key(document.key, root).startswith(start)
    ]


def _is_gone(plan: _Plan, key: str) -> bool:
    """Whether a key is below the directories, and of no file there."""
    path = _absolute_key(key, plan.root)
    is_present = key in plan.files or file_of_key(key) in plan.files or key in plan.kept
    return path.startswith(plan.starts) and not (is_present or path.startswith(tuple(plan.unread)))


def _walk(path: str, files: Iterable[File | model.Failure], session: Session, plan: _Plan) -> None:
    """Find the files of a directory, by their keys."""
    failures, skipped = session.counts.failures, session.counts.skipped
    for file in files:
        if isinstance(file, model.Failure):
            failures(file)
            unread = _start(path) + file.where[len(printable_path(os.path.join(path, ""))) :]
            plan.unread.append(posixpath.join(unread, ""))
            continue
        key, stored = file.key, plan.known.get(file.key)
        # A file that add read with --format text remains a text file.
        if format_of(file.path) != "text" and (stored is None or stored.state is None):
            skipped.add("tables", file.path, TABLE)
            continue
        if file.fault and not isinstance(file.fault, FileNotFoundError):  # else gone since
            failures(failure_of(file.path, file.fault))
            plan.kept.add(key)
            plan.unread.append(f"{_absolute_key(key, plan.root)}/")  # it may be an archive
        if (state := file.state()) is None:
            continue
        earlier = session.files_read.earlier(file)
        if earlier and (key in plan.files or key not in plan.stored_keys):
            skipped.add_repeated(file.path, earlier)
        elif key in plan.files:  # of bytes that are not UTF-8, and of their escapes
            failures(failure_of(file.path, InputError("another file has this key: rename one")))
        else:
            plan.files[key] = file, state


def _compare(plan: _Plan, options: SyncOptions) -> None:
    """Plan what is read, and which documents are gone, by the states of files."""
    if not plan.known:
        plan.read.update(plan.files)
        return
    files = {key: key if key in plan.files else file_of_key(key) for key in plan.known}
    for key, document in plan.known.items():
        if files[key] != key:
            plan.messages.setdefault(files[key], []).append(document)
    for key, file in plan.files.items():
        stored = _stored(plan, key)
        is_read = options.read_all or not stored
        is_read |= options.extract_again and any(document.extracted for document in stored)
        if is_read or not all(_is_unchanged(document, file[1]) for document in stored):
            plan.read[key] = file
        else:
            plan.unchanged += len(stored)
    present_keys = plan.kept.union(plan.files)
    missing = [
        document
        for key, document in plan.known.items()
        if present_keys.isdisjoint((key, files[key]))
    ]
    plan.left = sum(document.state is None for document in missing)
    unread = tuple(plan.unread)
    plan.gone = [
        document
        for document in missing
        if document.state and not _absolute_key(document.key, plan.root).startswith(unread)
    ]


def _is_unchanged(document: StoredFile, state: FileState) -> bool:
    """Whether a file is as it was when the document was read from it, as far as that was stored."""
    return (
        document.size == state.size
        and document.mtime_ns == state.mtime_ns
        and state.mtime_ns is not None
        and document.ctime_ns in (None, state.ctime_ns)
        and document.inode in (None, state.inode)
    )


def _recognise(store: Store, plan: _Plan, session: Session, options: SyncOptions) -> None:
    """Recognise the files that have the bytes of stored ones, under their keys or others.

    What was stored and is gone, or may have other bytes now, is matched with what is to be read.
    """
    uncounted = session.apart()  # they are counted when they are read again
    stored: defaultdict[str, list[StoredFile]] = defaultdict(list)  # of mail, several
    for document in chain(plan.gone, *(_stored(plan, key) for key in plan.read)):
        stored[file_of_key(document.key)].append(document)
    stored |= _elsewhere(store, plan)
    before, now = _contents(plan, stored, uncounted)
    contents = {*before.values()}
    plan.is_here = any(now[key] in contents for key in now if not os.path.isabs(key))
    old_keys, lost = renames.matched(before, now)
    _take(plan, stored, old_keys, again=options.extract_again)
    for keys in chain.from_iterable(lost):
        documents = [document.key for key in keys for document in stored[key]]
        keys.clear()
        keys.update(documents)
    moved_ids = {document.doc_id for document, _, _ in plan.moves}
    plan.gone = [document for document in plan.gone if document.doc_id not in moved_ids]
    for document in (*plan.gone, *(document for document, _, _ in plan.moves)):
        plan.known.pop(document.key, None)
    plan.known |= {key: document._replace(key=key) for document, key, _ in plan.moves}
    _spend(store, plan, lost, session)


def _contents(
    plan: _Plan, stored: Mapping[str, Sequence[StoredFile]], session: Session
) -> tuple[dict[str, Hashable], dict[str, Hashable]]:
    """The digests of what stored files held, and of what files hold now that may hold the same."""
    converted = [one.partition("=")[0] for one in session.options.taken.convert]
    suffixes = {"." + suffix.lower().lstrip(".") for suffix in converted}

    def kind_of(name: str) -> str | None:
        suffix = os.path.splitext(name)[1].lower()
        return suffix if suffix in suffixes else kinds.kind_of(name) or compression_of(name)

    old: dict[str, Hashable] = {}
    sizes = set[int | None]()
    for key, documents in stored.items():
        digests = {document.file_digest for document in documents}
        if len(digests) == 1 and None not in digests:
            old[key] = *digests, kind_of(key)
            sizes.add(documents[0].size)
    new: dict[str, Hashable] = {}
    for key, (file, state) in plan.read.items():
        known = plan.known.get(key)
        if state.size in sizes and (known is None or known.state):
            file_digest = None
            with suppress(InputError, OSError):
                file_digest = session.read_digest(file)
            plan.read[key] = file, replace(state, digest=file_digest)
            new[key] = file_digest, kind_of(key)
    return old, new


def _take(
    plan: _Plan,
    stored: Mapping[str, Sequence[StoredFile]],
    old_keys: Mapping[str, str],
    *,
    again: bool,
) -> None:
    """Plan that files have the documents of stored ones; `again` extracts texts anyway."""
    for new, old in old_keys.items():
        documents = stored[old]
        if new == old:
            if again and any(document.extracted for document in documents):
                continue
            plan.unchanged += len(documents)
        else:
            plan.gone += _stored(plan, new)
        _, state = plan.read.pop(new)
        for document in documents:
            # The part behind the key of the file names a message.
            key = new + document.key[len(old) :]
            plan.moves.append((document, key, replace(state, extracted=document.extracted)))


def _elsewhere(store: Store, plan: _Plan) -> dict[str, list[StoredFile]]:
    """Stored files of other folders, by their keys, that are gone, and may have new keys here."""
    inodes = {
        (state.device, state.inode)
        for key, (_, state) in plan.read.items()
        if state.inode and key not in plan.known
    }
    with store.reading():
        wanted = dumps([inode for _, inode in inodes])
        documents = store.records(StoredFile, FILES_OF_INODES, wanted)
    elsewhere: defaultdict[str, list[StoredFile]] = defaultdict(list)
    for document in documents:
        if (document.device, document.inode) in inodes and document.key not in plan.known:
            key = file_of_key(document.key)
            if key in elsewhere or not _is_there(key, plan.root):
                elsewhere[key].append(document)
    return elsewhere


def _is_there(key: str, root: str) -> bool:
    """Whether the file of a key, or the archive that it is in, may exist."""
    return _exists(path_of_key(key, root))


def _spend(
    store: Store,
    plan: _Plan,
    lost: Iterable[tuple[set[str], set[str]]],
    session: Session,
) -> None:
    """Plan which decisions to drop files are spent; leave out files that the others are about.

    Of equal texts, one of which is gone that was to stay, it is not known which one is left.
    """
    with store.reading():
        dropped = dropped_rows(store)
    dropped_keys = {row.key for row in dropped}
    for keys, keys_lost in lost:
        if not dropped_keys.issuperset(keys_lost):
            plan.spent |= keys
    gone_keys = {row.key for row in dropped if row.file_digest and _is_gone(plan, row.key)}
    plan.spent |= gone_keys.difference(document.key for document, _, _ in plan.moves)
    digests = {(row.key, value) for row in dropped for value in (row.digest, row.file_digest)}
    for key in [key for key in plan.read if key in dropped_keys - plan.known.keys()]:
        file, _ = plan.read[key]
        is_mail = kinds.kind_of(file.path) == "mbox"
        for batch in () if is_mail else session.apart().file(file):
            values = [_batch_digest(batch), *(state.digest for _, state in batch.states)]
            is_whole = batch.contents and batch.keys[0] == key
            if is_whole and not digests.isdisjoint((key, value) for value in values):
                session.counts.skipped.add(
                    "dropped", file.path, "its document was decided to be dropped"
                )
                del plan.read[key]
                break


def _batch_digest(batch: Batch) -> bytes:
    """The digest of the document of a batch that has at most one."""
    return digest(encoded(batch.contents[0]).encode()) if batch.contents else b""


def _items(plan: _Plan, session: Session) -> Iterator[Batch]:
    """The documents of the files to read; documents that are in none of them are gone.

    What cannot be read is not gone: a message that fails, or all documents of a file that does.
    """
    for key, (file, _) in plan.read.items():
        stored = _stored(plan, key) if plan.known else []
        keys = set[str]()
        is_read = is_failed = False
        pointers = session.counts.skipped["pointers"]
        for batch in session.file(file):
            if batch.failures and not _exists(file.path):
                continue  # gone since
            is_read = True
            is_failed |= bool(batch.failures) and not batch.unread
            keys.update(batch.keys, batch.unread)
            yield batch
        if not is_read and kinds.kind_of(file.path) != "mbox" and _exists(file.path):
            # A text is binary now; but of a PDF or the like the reader may be missing, and of
            # UTF-16 without a mark what guesses it.
            stored = [
                document
                for document in stored
                if not document.extracted or _GUESSED.search(document.extracted)
            ]
        # Of a pointer, the file itself is not gone.
        if not is_failed and session.counts.skipped["pointers"] == pointers:
            plan.gone += [document for document in stored if document.key not in keys]


def _stored(plan: _Plan, key: str) -> list[StoredFile]:
    """The stored documents of a file, of which its state is known."""
    stored = [*plan.messages.get(key, ()), *filter(None, [plan.known.get(key)])]
    return [document for document in stored if document.state and document.key in plan.known]


def _exists(path: str) -> bool:
    """Whether a file or an archive's member may exist; True if it cannot be looked at."""
    try:
        os.lstat(archive_of(path) or path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


def _move(store: Store, plan: _Plan) -> tuple[int, int]:
    """Give documents the keys and states of their files now, except those that others changed.

    Returns:
        How many got other keys, and how many documents that had these keys were removed.
    """
    moved_count = replaced_count = 0
    moved = plan.moved()
    taken = {document.key for document, _ in moved}.intersection(key for _, key in moved)
    # Files that exchange keys do so in one transaction.
    linked = [move for move in plan.moves if not taken.isdisjoint((move[0].key, move[1]))]
    others = [move for move in plan.moves if taken.isdisjoint((move[0].key, move[1]))]
    parts = [others[part] for part in arrays.chunks(len(others), _PER_TRANSACTION)]
    for part in filter(None, [linked, *parts]):
        with store.writing():
            storing_decisions.spend_drops(store, plan.spent)
            moves, replaced = _possible(store, plan, part)
            delete(store, replaced)
            keys = [(file.doc_id, file.key, key) for file, key, _ in moves if file.key != key]
            _set_keys(store, keys)
            store.set_files((file.doc_id, state) for file, _, state in moves)
        moved_count += len(keys)
        replaced_count += len(replaced)
    return moved_count, replaced_count


def _set_keys(store: Store, moves: Sequence[tuple[int, str, str]]) -> None:
    """Give documents other keys, also in the decisions about them; they may exchange keys.

    Args:
        store: within a transaction.
        moves: the doc_id, the present key and the new one, which no other document has.
    """
    new_keys = {key for _, _, key in moves}
    # No key has a NUL.
    taken = [(doc_id, f"\0{doc_id}") for doc_id, key, _ in moves if key in new_keys]
    for keys in (taken, [(doc_id, key) for doc_id, _, key in moves]):
        storing_decisions.move(store, keys)
        store.run_many(SET_KEY, keys)
        storing_decisions.spend_drops(store, new_keys if keys is taken else ())


def _possible(store: Store, plan: _Plan, moves: list[_Move]) -> tuple[list[_Move], list[int]]:
    """The moves of documents that nobody changed to keys that are free then.

    Also returns the doc_ids of documents whose files are gone, and whose keys others get.
    """
    unchanged_ids = _unchanged(store, [document for document, _, _ in moves])
    moves = [move for move in moves if move[0].doc_id in unchanged_ids]
    there = {file.key: file for file in store.files_of_keys([key for _, key, _ in moves])}
    gone = {*plan.gone}
    while True:
        leaving_ids = {document.doc_id for document, _, _ in moves}
        replaced = [
            file.doc_id
            for file in there.values()
            if file in gone and file.doc_id not in leaving_ids
        ]
        leaving_ids.update(replaced)
        possible = [
            move for move in moves if move[1] not in there or there[move[1]].doc_id in leaving_ids
        ]
        if len(possible) == len(moves):
            return moves, replaced
        moves = possible


def _remove(store: Store, plan: _Plan) -> int:
    """Remove documents, except those that others changed; return their number."""
    removed_count = 0
    with store.writing():
        storing_decisions.spend_drops(store, plan.spent)
    for part in arrays.chunks(len(plan.gone), _PER_TRANSACTION):
        with store.writing():
            unchanged_ids = sorted(_unchanged(store, plan.gone[part]))
            storing_decisions.spend_drops(store, (document.key for document in plan.gone[part]))
            delete(store, unchanged_ids)
        removed_count += len(unchanged_ids)
    return removed_count


def _unchanged(store: Store, documents: Sequence[StoredFile]) -> set[int]:
    """The ids of documents that are as they were when the plan was made."""
    current_documents = {*store.files_of([document.doc_id for document in documents])}
    return {document.doc_id for document in current_documents.intersection(documents)}


def _forecast(plan: _Plan, session: Session) -> tuple[model.AddReport, tuple[SyncChange, ...]]:
    """The planned change of each document, in the order of the keys."""
    changes: list[SyncChange] = []
    unchanged_count = 0
    for batch in _items(plan, session):
        for _, failure in batch.failures:
            session.counts.failures(failure)
        for key in batch.keys:
            stored = plan.known.get(key)
            if stored and stored.digest == _batch_digest(batch):
                unchanged_count += 1
            else:
                changes.append(SyncChange("update" if stored else "add", key))
    count = Counter(change.action for change in changes)
    changes += [SyncChange("move", key, document.key) for document, key in plan.moved()]
    changes += [SyncChange("remove", document.key) for document in plan.gone]
    changes.sort(key=lambda change: (change.key, change.action))
    return model.AddReport(count["add"], count["update"], unchanged_count), tuple(changes)
