"""A session of reading: paths, standard input and tables to a stream of batches of documents.

Its options do not change. What changes while it reads is in one place: counts, failures, the
process that extracts, the open archive, and which files were read. Input that cannot be read is a
failure in a batch, so that one bad line costs one line; a job passes it to `counts.failures`.
"""

import contextlib
import dataclasses
import os
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, BinaryIO

from lshdb import options as groups
from lshdb.errors import InputError, UsageError
from lshdb.groups import values_of
from lshdb.model import Document, Failure
from lshdb.progress import BYTES, Progress, shown, silent
from lshdb.shingling.shingling import Shingling
from lshdb.sources import (
    extracting,
    formats,
    identity,
    inputs,
    json_rows,
    long_tables,
    records,
    sheet_rows,
    walking,
)
from lshdb.sources import paths as names
from lshdb.sources.archives import Archives, archive_of, is_archive
from lshdb.sources.batch import Batch
from lshdb.sources.compression import compression_of
from lshdb.sources.counts import ReadCounts, failure_of, reason
from lshdb.sources.documents.kinds import PROBE
from lshdb.sources.paths import STDIN, printable_path
from lshdb.store import guard
from lshdb.store.rows import FileState

TABLE = "a table by its suffix, and only texts are read"
_POINTER = b"version https://git-lfs.github.com/spec/"
"""How the file begins that Git LFS puts in the place of a large one."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which a change gives a file another time, even in FAT."""
_HALF = 1 << 63
"""SQLite's integers are from minus this to below it: times of years to 2262."""
HowRead = groups.ReadingOptions | groups.QueriesOptions | groups.TextOptions | groups.EncodingOption
"""The groups of options that say how files become documents."""


def no_guess(_key: str) -> str | None:
    """No guess is stored for any key."""
    return None


@dataclasses.dataclass(frozen=True)
class SessionOptions(records.RecordOptions):
    """How paths and streams become documents.

    Attributes:
        format: `auto` goes by suffix (and, for standard input, by the first character).
        fallback: for `auto`, the format of standard input and of files with any other suffix.
        stdin: the file for `-`; None if it is closed.
        stdin_key: the key of a text on standard input.
        rules: which files in directories are read.
        root: the real path of the directory that keys of files are relative to; None if it is not
            known, so that no file can be read as a document of its own.
        archives: whether archives are read as directories.
        skip_tables: whether files of rows in directories are skipped, although `format` is text.
        taken: which documents such as PDF are taken, and how.
        source: whether HTML is a program, and not a page.
        stored_guess: what is stored of a text whose encoding was guessed, by its key.

    Raises:
        UsageError: an encoding, a delimiter or an escape that cannot be.
    """

    format: groups.Format = "auto"
    stdin: BinaryIO | None = None
    stdin_key: str | None = None
    fallback: groups.Format = "text"
    rules: groups.WalkingOptions = dataclasses.field(default_factory=groups.WalkingOptions)
    root: str | None = None
    archives: bool = False
    skip_tables: bool = False
    taken: groups.DocumentOptions = dataclasses.field(default_factory=groups.DocumentOptions)
    source: bool = False
    stored_guess: Callable[[str], str | None] = no_guess

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError) as error:
                raise UsageError(f"encoding {self.encoding!r} is not known to Python") from error
        for name, mark in (("delimiter", self.delimiter), ("escape", self.escape)):
            if mark is not None and (len(mark) != 1 or mark in '"\r\n\0'):
                raise UsageError(f"{name} {mark!r:.50} is not one character, such as ; or |")
        if self.escape is not None and self.escape == self.delimiter:
            raise UsageError(f"delimiter and escape are both {self.escape!r}")

    def format_of(self, path: str) -> groups.Format:
        """The format in which a file is read."""
        if self.format != "auto":
            return self.format
        are_rows = self.fallback != "text" or names.file_and_sheet(path)[1]
        format = (names.rows_format_of if are_rows else names.format_of)(path)
        return self.fallback if format == "text" else format


class Session:
    """Reads documents from paths and streams, each file once, and counts what it did.

    Attributes:
        options: how; they do not change.
        counts: what was read so far, and what was not.
        extractor: takes the text out of documents such as PDF.
        archives: reads members of archives.
        files_read: which files were read, and which were left out.
    """

    def __init__(
        self,
        options: SessionOptions,
        counts: ReadCounts | None = None,
        files_read: identity.FilesRead | None = None,
        extractor: extracting.Extractor | None = None,
        archives: Archives | None = None,
    ) -> None:
        limits = options.limits
        if extractor is None:
            extractor = extracting.Extractor(options.taken, limits.largest_text, options.source)
        self.options = options
        self.counts = counts or ReadCounts()
        self.files_read = files_read or identity.FilesRead()
        self.extractor = extractor
        self.archives = archives or Archives(limits)

    def like(self, **changes: Any) -> "Session":
        """A session with other options, and the same counts, resources and files."""
        options = dataclasses.replace(self.options, **changes)
        return Session(options, self.counts, self.files_read, self.extractor, self.archives)

    def apart(self, counts: ReadCounts | None = None, **changes: Any) -> "Session":
        """A session that counts for itself, and may read files again, with the same extractor."""
        options = dataclasses.replace(self.options, **changes)
        return Session(options, counts, identity.FilesRead(self.files_read.before), self.extractor)

    def skip_files_of(self, other: "Session") -> None:
        """From now on, skip the files that another session reads before this one."""
        self.files_read = identity.FilesRead(other.files_read)

    @contextlib.contextmanager
    def shown(
        self, progress: bool | Progress, label: str, paths: Iterable[str]
    ) -> Iterator[Progress]:
        """As lshdb.progress.shown; the function first reports the bytes read of these files."""
        counts = self.counts
        with shown(progress, label) as show:
            known = show is not silent and isinstance(paths, Collection)
            total, before = names.input_bytes(paths) if known else None, counts.bytes_read

            def report(done: int, of: int | None, unit: str) -> None:
                show(counts.bytes_read - before, total, BYTES)
                show(done, of, unit)

            yield report

    def read(self, paths: Iterable[str]) -> Iterator[Document | Failure]:
        """The documents of files, directories (walked), patterns and `-`, in order."""
        for batch in self.batches(paths):
            yield from batch.items()

    def batches(self, paths: Iterable[str]) -> Iterator[Batch]:
        """Like `read`, in batches: of rows, or of one text file.

        A file to which several paths lead is read once, and counted as skipped after that.
        """
        expanded: Iterable[str] = names.expanded(paths)
        if isinstance(paths, Collection):
            expanded = [*expanded]
        walks: list[walking.Walk] = []
        for path in expanded:
            if path != STDIN and (
                os.path.isdir(path) or (self.options.archives and archive_of(path) == path)
            ):
                walks.append(self.walked(path))
                yield from self._directory(walks[-1])
            else:
                yield from self._once(path)
        for walk in walks:
            yield from self._directory(walk.through_links())

    def _key_of_real(self, path: str) -> str:
        """The key of a file whose directory is named by its real path.

        Raises:
            UsageError: the root is not known, as in a database of an earlier format.
        """
        if self.options.root is None:
            raise UsageError(unknown_root(self.options.option("--root DIR", "root=")))
        return names.key_of_real(path, self.options.root)

    def is_repeated(self, path: str, archive: str | None = None) -> bool:
        """Whether a file was read before; counts it then, and remembers it otherwise."""
        if earlier := self.files_read.earlier(path, archive):
            self.counts.skipped.add_repeated(path, earlier)
        return earlier is not None

    def _once(self, path: str, key: str | None = None) -> Iterator[Batch]:
        """The documents of a file (see `file`) that was not read before."""
        is_remembered = path != STDIN
        archive = archive_of(path) if is_remembered else None
        archive = None if archive == path else archive
        if is_remembered and self.is_repeated(path, archive):
            return
        is_empty = True
        for batch in self.file(path, key):
            is_empty = False
            yield batch
            del batch  # before another is read
        # Skipped in a directory; where it is named itself, it is a failure.
        if is_empty and is_remembered:
            self.files_read.forget(path, archive)

    def _directory(self, entries: Iterable[walking.Entry | Failure]) -> Iterator[Batch]:
        real = lru_cache(os.path.realpath)  # of the directories of files, one after the other
        for entry in entries:
            if isinstance(entry, Failure):
                yield Batch(failures=[(0, entry)])
            elif self.options.skip_tables and names.format_of(entry.name) != "text":
                self.counts.skipped.add("tables", entry.path, TABLE)
            else:
                above, name = os.path.split(entry.path)
                file_key = self._key_of_real(os.path.join(real(above), name))
                yield from self._once(entry.path, file_key)

    def walked(self, directory: str) -> walking.Walk:
        """The files in a directory or archive and below; see lshdb.sources.walking.Walk."""
        packed = self.archives if self.options.archives else None
        rules, skipped = self.options.rules, self.counts.skipped
        return walking.Walk(directory, rules, skipped, packed, self.files_read)

    def file(self, path: str, key: str | None = None) -> Generator[Batch]:
        """The documents of one file, or of standard input.

        A file in a directory has a key, and gives nothing if it is binary, or JSON without rows.
        What cannot be read of a mailbox is a failure of a message; else it is one of the file.
        """
        options, counts = self.options, self.counts
        try:
            with self._opened(path) as file:
                source = self._input(file, path)
                for batch in self._batches_of(source, path, key):
                    if source.invalid_texts:
                        batch = dataclasses.replace(
                            batch, replaced=batch.replaced + source.invalid_texts
                        )
                        source.invalid_texts = 0
                    counts.replaced += batch.replaced
                    if counts.digests is not None:
                        counts.digests.update((key, state.digest) for key, state in batch.states)
                    yield batch
                    del batch  # before another is read: a line may have a hundred megabytes
        except (InputError, OSError) as error:
            # Where the format of tables is asked for, JSON of another kind is a failure.
            if (
                key is not None
                and isinstance(error, inputs.Skipped)
                and (error.kind != "tables" or options.format == "auto")
            ):
                packed = error.kind == "binary" and not options.archives and is_archive(path)
                counts.skipped.add("archives" if packed else error.kind, path, str(error))
            else:
                yield Batch(failures=[(0, failure_of(path, error))])

    def _batches_of(self, source: inputs.Input, path: str, key: str | None) -> Iterator[Batch]:
        """The documents of an open file."""
        if path == STDIN:
            return self._stdin(source)
        format = self.options.format_of(path)
        if format == "xlsx":
            file, sheet = names.file_and_sheet(path)
            with self.archives.on_disk(file, source.file) as (copy, _):
                cells = self.extractor.cells(copy, sheet)
            self.counts.bytes_read += source.size
            source.text = sheet_rows.lines(cells, self.options)
            return json_rows.read(source, "jsonl")
        if format != "text":
            return formats.format_named(format).read(source, format)
        names.check_key_is_free(path)
        if key is None:
            # The real name of a pipe such as /dev/fd/3 has the number of the process.
            is_pipe = os.path.exists(path) and not os.path.isfile(path)
            key = self._key_of_real(os.path.abspath(path) if is_pipe else names.real_path(path))
        return self._text(source, path, key)

    def single(self, paths: Sequence[str], advice: str) -> str | None:
        """The only one of some paths if it is a document as a whole; None if there may be several.

        Raises:
            InputError: there is no such file, with this advice.
        """
        path, *others = paths
        if others or os.path.isdir(path) or names.pattern_top(path) is not None:
            return None
        file, sheet = names.file_and_sheet(path)
        if path != STDIN and not os.path.exists(file):
            raise InputError(f"{path}: no such file; {advice}")
        if sheet:
            return None
        format = self.options.format
        if format == "auto":
            format = "text" if path == STDIN else names.format_of(path)
            if extracting.is_mailbox(path):
                return None
            if format == "json" and self.options.of_sets:
                return path  # a set is a JSON array
        return path if format == "text" else None

    def read_one(self, path: str) -> Batch:
        """The one document that a file or `-` holds, by its path; InputError if it does not."""
        key = printable_path(path)
        try:
            with self._opened(path) as file:
                source = self._input(file, path)
                if self.options.of_sets or path == STDIN:
                    text = source.whole_text(None if self.options.of_sets else lambda: None)
                    self._note_guess(source)
                    batch = Batch([key], [self.options.content_of(text)])
                else:
                    batches = [*self._text(source, path, key)]
                    for _, failure in chain.from_iterable(batch.failures for batch in batches):
                        raise InputError(failure.reason)
                    batch = Batch.joined(batches)
                    if len(batch.contents) != 1:
                        raise InputError(f"it has {'several' if batch.contents else 'no'} messages")
                self.counts.replaced += batch.replaced + source.invalid_texts
                return batch
        except (InputError, OSError) as error:
            raise InputError(f"{key}: {reason(error)}") from error

    def digest_of(self, path: str) -> bytes | None:
        """The digest of the bytes of a file or an archive's member; None if it cannot be read."""
        with contextlib.suppress(InputError, OSError):
            return self.read_digest(path)
        return None

    def read_digest(self, path: str) -> bytes:
        """The same; InputError or OSError if it cannot be read, InputError for an open database."""
        if member := self.archives.find(path):
            with self.archives.opened(member) as file:
                return identity.digest_of(file)
        _refuse_open(path)
        with open(path, "rb") as file:
            return identity.digest_of(file)

    def _opened(self, path: str) -> contextlib.AbstractContextManager[BinaryIO]:
        path, _ = names.file_and_sheet(path)
        if path != STDIN:
            _refuse_open(path)
        if member := self.archives.find(path):
            return self.archives.opened(member)
        return names.opened(path, self.options.stdin)

    def _input(self, file: BinaryIO, path: str) -> inputs.Input:
        name = printable_path(path)
        peek = getattr(file, "peek", lambda _: b"")
        if path != STDIN and peek(len(_POINTER)).startswith(_POINTER):
            raise inputs.Skipped("pointers", "a pointer of Git LFS, not its file: git lfs pull")
        return inputs.Input(file, name, self.options, self.counts.add_bytes)

    def _stdin(self, source: inputs.Input) -> Iterator[Batch]:
        options = self.options
        if options.stdin_key is not None:
            return iter([self._whole(source, options.stdin_key)])
        format = options.format_of(STDIN)
        key = options.option("--key KEY", "stdin_key=")
        if format == "xlsx":
            raise InputError("a spreadsheet is read from a file, not from standard input")
        if options.format == "text":
            raise InputError(f"a text on standard input needs a key: give {key}")
        if format == "text":
            format, source.text = "jsonl", _starting_object(source.text, key)
        return formats.format_named(format).read(source, format)

    def _text(self, source: inputs.Input, path: str, key: str) -> Iterator[Batch]:
        """The batch of a text file, or one for each document in a PDF, a mailbox and the like.

        What is unpacked or read by other programs is hashed before: if it changes meanwhile, its
        digest is of bytes that it has no longer, and never of others than those that were read.
        """
        status, begun = self.archives.status(path), time.time_ns()
        is_regular = stat.S_ISREG(status.st_mode)
        peek = getattr(source.file, "peek", lambda _: b"")
        kind = self.extractor.kind_of(path, peek(PROBE)) if is_regular else None
        if not status.st_size and kind != "mbox":
            kind = None  # an empty file of any kind is an empty text
        if kind is None or self.options.of_sets:
            packed = None
            if is_regular and compression_of(path) and self.archives.find(path) is None:
                with open(path, "rb") as file:
                    packed = identity.digest_of(file)
            yield self._whole(source, key, status, packed)
            return
        first: list[tuple[str, FileState]] = []
        is_whole = True
        try:
            with self.archives.on_disk(path, source.file) as (copy, digest):
                for document in self.extractor.documents(copy, kind):
                    if isinstance(document, extracting.Extracted):
                        state = state_of(status, begun, document.extracted, digest)
                        batch = self._extracted(document, path, key, state)
                    else:
                        batch = _unread(path, key, document.name, document.reason)
                    first = first or [*batch.states]
                    is_whole &= not batch.unread
                    yield batch
        except InputError as error:
            if kind == "zip":
                why = f"a binary file ({names.binary_kind(names.ZIP)})"
                raise inputs.Skipped("binary", why) from error
            yield _to_read_again(first)
            raise
        if not is_whole:
            yield _to_read_again(first)
        self.counts.bytes_read += source.size

    def _whole(
        self,
        source: inputs.Input,
        key: str,
        status: os.stat_result | None = None,
        packed: bytes | None = None,
    ) -> Batch:
        """The batch of a text as one document.

        Args:
            source: the text.
            key: of the document.
            status: of its file; None if there is none.
            packed: the digest of its file, if `source` is what that file has packed.
        """
        begun, hasher = time.time_ns(), identity.new_hash()
        if packed is None:
            source.hasher = hasher
        text = source.whole_text(lambda: self.options.stored_guess(key))
        if self.options.of_sets:
            raise InputError("a text, and this database holds sets: give JSON lines")
        text, _, _ = self.options.text_document(key, text, None)
        self._note_guess(source)
        state = status and state_of(status, begun, source.guess, packed or hasher.digest())
        states = () if state is None else [(key, state)]
        return Batch([key], [text], states=states, size=text.__sizeof__() + len(key))

    def _note_guess(self, source: inputs.Input) -> None:
        """Count a text whose encoding was guessed."""
        if source.guess is not None:
            guess = inputs.encoding_of(source.guess)
            self.counts.skipped.add("guessed", source.name, f"read as {guess}, a guess")

    def _extracted(
        self, document: extracting.Extracted, path: str, key: str, state: FileState | None
    ) -> Batch:
        """The batch of a document that was taken out of a file, by the rules for all documents."""
        whole_key = key if document.name is None else f"{key}#{document.name}"
        try:
            text, metadata, replaced = self.options.text_document(
                whole_key, document.text, document.metadata
            )
        except InputError as error:
            if document.name is None:
                raise
            return _unread(path, key, document.name, str(error))
        if document.metadata.get("scanned"):
            self.counts.skipped.add("scanned", path, "a PDF of pictures: it has no text")
        if damaged := document.metadata.get("damaged"):
            why = f"read without {len(damaged):,} damaged: {damaged[0]}"
            self.counts.skipped.add("damaged", path, why)
        return Batch(
            [whole_key],
            [text],
            [metadata],
            states=[(whole_key, state)] if state else [],
            replaced=replaced,
            size=text.__sizeof__() + len(whole_key),
        )


def _refuse_open(path: str) -> None:
    """Skip an open database: closing it after reading would release SQLite's locks."""
    if guard.is_open(path):
        raise inputs.Skipped("binary", "the database itself")


def _unread(path: str, key: str, name: str, reason: str) -> Batch:
    """The batch of a message that cannot be read."""
    failure = Failure(f"{printable_path(path)}#{name}", reason)
    return Batch(failures=[(0, failure)], unread=[f"{key}#{name}"])


def _to_read_again(states: list[tuple[str, FileState]]) -> Batch:
    """The batch without documents that says: a file was not read whole, as if it had changed."""
    again = [(key, dataclasses.replace(state, mtime_ns=None, digest=None)) for key, state in states]
    return Batch(states=again)


def stored_time(nanoseconds: int) -> int:
    """A time since 1970 as an integer that SQLite holds: the nearest of those from 1677 to 2262."""
    return min(max(nanoseconds, -_HALF), _HALF - 1)


def unknown_root(option: str) -> str:
    """The message where the root is not known, as in a file of an earlier format."""
    return (
        "the directory that keys of files are relative to is not known, and none of them leads to "
        f"a file: give it by {option}"
    )


def state_of(
    status: os.stat_result,
    begun: int | None = None,
    extracted: str | None = None,
    digest: bytes | None = None,
) -> FileState | None:
    """The state of a file; None if it is not a regular file.

    Args:
        status: of the file, before it was read.
        begun: when reading began, in nanoseconds since 1970; None for now.
        extracted: as of the state.
        digest: of its bytes.
    """
    if not stat.S_ISREG(status.st_mode):
        return None
    now = begun or time.time_ns()
    # A program may set a time in the future, and no time of change.
    changed = status.st_mtime_ns if status.st_mtime_ns <= now else status.st_ctime_ns
    settled = now - changed > _SETTLED
    return FileState(
        status.st_size,
        stored_time(status.st_mtime_ns) if settled else None,
        extracted,
        stored_time(status.st_ctime_ns),
        (status.st_dev + _HALF) % (2 * _HALF) - _HALF,
        (status.st_ino + _HALF) % (2 * _HALF) - _HALF,
        digest,
    )


def session_of(
    read: HowRead,
    shingling: Shingling,
    files: groups.FilesOptions | None = None,
    sets: groups.LongTableOptions | None = None,
    *,
    reader: Session | None = None,
    counts: ReadCounts | None = None,
    on_failure: Callable[[Failure], object] | None = None,
    **others: Any,
) -> Session:
    """The session of a job: the given one, or a new one.

    Args:
        read: how files become documents.
        shingling: of the documents.
        files: which files of directories are read; None for the usual ones.
        sets: the columns of a long table, if they may be given.
        reader: the session, if the caller has one.
        counts: of a new session.
        on_failure: gets each failure.
        others: of SessionOptions, for a new session.
    """
    if reader is None:
        files = files or groups.FilesOptions()
        names = {field.name for field in dataclasses.fields(SessionOptions)}
        values: dict[str, Any] = {n: value for n, value in values_of(read).items() if n in names}
        texts: Any = getattr(read, "texts", read)
        values |= {"taken": texts.extraction, "rules": files.walk, "archives": files.archives}
        values["source"] = shingling.kind == "code"
        if sets is not None:
            values |= long_tables.reading(sets, shingling, values)
        reader = Session(SessionOptions(shingling.of_sets, **(values | others)), counts)
    if on_failure is not None:
        reader.counts.failures.on_failure = on_failure
    return reader


def _starting_object(chunks: Iterable[bytes], key: str) -> Iterator[bytes]:
    """The chunks; InputError, with the option for a key, if they begin no JSON object."""
    begun = False
    for chunk in chunks:
        if not begun and not json_rows.is_blank(chunk):
            begun = True
            if not chunk.removeprefix(records.BOM).lstrip().startswith(b"{"):
                raise InputError(f"not JSON lines, and a text needs a key: give {key}")
        yield chunk
