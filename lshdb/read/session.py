"""A session of reading: paths, standard input and tables to a stream of batches of documents.

Its options do not change. What changes while it reads is in one place: counts, failures, the
process that extracts, the open archive, and which files were read. Input that cannot be read is a
failure in a batch, so that one bad line costs one line; a job passes it to `counts.failures`.
"""

import contextlib
import copy
import dataclasses
import stat
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, cast

from lshdb import offers
from lshdb import options as groups
from lshdb.errors import InputError, UsageError
from lshdb.groups import values_of
from lshdb.model import Document, Failure
from lshdb.progress import BYTES, Progress, shown, silent
from lshdb.read import (
    files,
    formats,
    inputs,
    json_rows,
    kinds,
    records,
    walking,
)
from lshdb.read import paths as names
from lshdb.read.batch import Batch
from lshdb.read.compression import compression_of
from lshdb.read.counts import ReadCounts, failure_of
from lshdb.read.files import File, FilesRead
from lshdb.read.kinds import PROBE
from lshdb.read.paths import STDIN, printable_path
from lshdb.store import guard
from lshdb.text.shingling import Shingling

TABLE = "a table by its suffix, and only texts are read"
_POINTER = b"version https://git-lfs.github.com/spec/"
"""How the file begins that Git LFS puts in the place of a large one."""
HowRead = groups.ReadingOptions | groups.QueriesOptions | groups.TextOptions
"""The groups of options that say how files become documents."""


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

    Raises:
        UsageError: a delimiter or an escape that cannot be.
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

    def __post_init__(self) -> None:
        for name, mark in (("delimiter", self.delimiter), ("escape", self.escape)):
            if mark is not None and (len(mark) != 1 or mark in '"\r\n\0'):
                raise UsageError(f"{name} {mark!r:.50} is not one character, such as ; or |")
        if self.escape is not None and self.escape == self.delimiter:
            raise UsageError(f"delimiter and escape are both {self.escape!r}")

    def format_of(self, path: str, sheet: str = "") -> groups.Format:
        """The format in which a file is read, or a sheet in it."""
        if self.format != "auto":
            return self.format
        are_rows = self.fallback != "text" or sheet
        format = (names.rows_format_of if are_rows else names.format_of)(path)
        return self.fallback if format == "text" else format


class Session:
    """Reads documents from paths and streams, each file once, and counts what it did.

    Attributes:
        options: how; they do not change.
        counts: what was read so far, and what was not.
        documents: reads documents such as PDF; None if its app is missing.
        archives: reads members of archives; likewise.
        files_read: which files were read, and which were left out.
    """

    def __init__(self, options: SessionOptions, counts: ReadCounts | None = None) -> None:
        self.options = options
        self.counts = counts or ReadCounts()
        self.files_read = FilesRead()
        self.documents: formats.Reader | None = formats.made("documents", options)
        for name, value in (("convert", options.taken.convert), ("encoding", options.encoding)):
            if value:
                offers.check_is_there(formats.APP, name)
        self.archives: formats.Archives | None = formats.made("archives", options.limits)

    def like(self, **changes: Any) -> "Session":
        """A session with other options, and the same counts, resources and files."""
        session = copy.copy(self)
        session.options = dataclasses.replace(self.options, **changes)
        return session

    def apart(self, counts: ReadCounts | None = None, **changes: Any) -> "Session":
        """A session that counts for itself, and may read files again, with the same reader."""
        session = self.like(**changes)
        session.counts = counts or ReadCounts()
        session.files_read = FilesRead(self.files_read.before)
        session.archives = formats.made("archives", session.options.limits)
        return session

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
        """Like `read`, in batches: of rows, or of one text file."""
        return self.of_files(self.files(paths))

    def files(self, paths: Iterable[str]) -> Iterator[File]:
        """What paths and patterns lead to, each looked at when it is asked for."""
        expanded = names.expanded(paths)
        return map(self.resolved, [*expanded] if isinstance(paths, Collection) else expanded)

    def resolved(self, path: str, key: str | None = None) -> File:
        """What a path leads to; with the key of a file that the user did not name."""
        member_of = self.archives.member if self.archives else None
        return files.resolved(path, member_of, self.options.root, key)

    def of_files(self, files: Iterable[File | Failure]) -> Iterator[Batch]:
        """The documents of files and of those in directories, in batches.

        A file to which several paths lead is read once, and counted as skipped after that.
        """
        options, skipped, walks = self.options, self.counts.skipped, list[walking.Walk]()
        packed = options.archives and self.archives
        for file in files:
            if isinstance(file, Failure):
                yield Batch(failures=[(0, file)])
            elif file.is_directory or (packed and file.is_archive):
                walks.append(self.walked(file.path))
                yield from self.of_files(walks[-1])
            elif options.skip_tables and not file.is_named and names.format_of(file.path) != "text":
                skipped.add("tables", file.path, TABLE)
            elif earlier := self.files_read.earlier(file):
                skipped.add_repeated(file.path, earlier)
            else:
                yield from self.file(file)
        for walk in walks:
            yield from self.of_files(walk.through_links())

    def walked(self, directory: str) -> walking.Walk:
        """The files in a directory or archive and below; see lshdb.read.walking.Walk."""
        options = self.options
        walk = self.archives.walk if options.archives and self.archives else walking.Walk
        return walk(directory, options.rules, self.counts.skipped, self.files_read, options.root)

    def file(self, file: File) -> Generator[Batch]:
        """The documents of one file, or of standard input.

        A file that is not named gives nothing if it is binary, or JSON without rows. What cannot
        be read of a mailbox is a failure of a message; else it is one of the file.
        """
        options, counts, is_empty = self.options, self.counts, True
        try:
            with self._opened(file) as stream:
                source = inputs.Input(stream, file, options, counts)
                if self.documents:
                    source.text = self.documents.in_utf8(source, source.text)
                for batch in self._batches_of(source):
                    if source.invalid_texts:
                        batch = dataclasses.replace(
                            batch, replaced=batch.replaced + source.invalid_texts
                        )
                        source.invalid_texts = 0
                    counts.replaced += batch.replaced
                    is_empty &= not (batch.keys or batch.failures)
                    if counts.digests is not None:
                        counts.digests.update((key, state.digest) for key, state in batch.states)
                    yield batch
                    del batch  # before another is read: a line may have a hundred megabytes
            if is_empty:
                counts.skipped.add("empty", file.path, "it has no documents")
        except (InputError, OSError) as error:
            if getattr(error, "kind", "") == "binary" and file.is_archive:
                option = options.option("--archives", "archives=True")
                how = f"{option} reads its files" if self.archives else formats.MISSING
                error = inputs.Skipped("archives", f"archive: {how}")
            # Where the format of tables is asked for, JSON of another kind is a failure.
            if (
                not file.is_named
                and isinstance(error, inputs.Skipped)
                and (error.kind != "tables" or options.format == "auto")
            ):
                counts.skipped.add(error.kind, file.path, str(error))
                self.files_read.forget(file)  # where it is named itself, it is a failure
            else:
                yield Batch(failures=[(0, failure_of(file.path, error))])

    def _batches_of(self, source: inputs.Input) -> Iterator[Batch]:
        """The documents of an open file."""
        file = source.file
        if file.path == STDIN:
            return self._stdin(source)
        peek = getattr(source.stream, "peek", lambda _: b"")
        if (start := peek(PROBE)).startswith(_POINTER):
            raise inputs.Skipped("pointers", "a pointer of Git LFS, not its file: git lfs pull")
        format = self.options.format_of(file.path, file.sheet)
        if format != "text" and file.status and self.counts.statuses is not None:
            self.counts.statuses[file.place] = file.status
        if format not in ("text", "xlsx"):
            return formats.format_named(format).read(source, format)
        if self.documents and (file.is_regular or format == "xlsx"):
            return self.documents.batches(source, format, start) or self._text(source)
        kind = "xlsx" if format == "xlsx" else kinds.kind_of(file.path)
        if kind and not kinds.KINDS[kind].is_text:
            raise inputs.Skipped("documents", formats.why_unread(kind))
        return self._text(source)

    def may_be_several(self, paths: Sequence[str], advice: str) -> bool:
        """Whether paths may lead to several documents; not if there is one, a document as a whole.

        Raises:
            InputError: there is no such file, with this advice.
        """
        path, *others = paths
        file = self.resolved(path)
        if others or file.is_directory or file.sheet or names.pattern_top(path) is not None:
            return True
        if file.fault:
            raise InputError(f"{path}: no such file; {advice}")
        if self.options.format != "auto":
            return self.options.format != "text"
        format = names.format_of(path)
        if format == "json" and self.options.of_sets:
            return False  # a set is a JSON array
        return format != "text" or kinds.kind_of(path) == "mbox"

    def read_one(self, path: str) -> Batch:
        """The one document that a file or `-` holds, by its path; InputError if it does not."""
        file = dataclasses.replace(self.resolved(path), key=printable_path(path))
        batch = Batch.joined([*self.like(format="text", stdin_key=file.key).file(file)])
        for _, failure in batch.failures:
            raise InputError(f"{failure.where}: {failure.reason}")
        if len(batch.contents) != 1:
            raise InputError(f"{file.key}: it has {'several' if batch.contents else 'no'} messages")
        return batch

    def read_digest(self, file: File) -> bytes:
        """The digest of the bytes of a file or an archive's member.

        Raises:
            InputError, OSError: it cannot be read, or is an open database.
        """
        with self._opened(file, unpacks=False) as stream:
            return files.digest_of(stream)

    def _opened(
        self, file: File, *, unpacks: bool = True
    ) -> contextlib.AbstractContextManager[BinaryIO]:
        """The bytes of a file.

        Raises:
            Skipped: an open database: closing it after reading would release SQLite's locks.
        """
        if file.fault:
            raise file.fault
        if file.status and stat.S_ISSOCK(file.status.st_mode):
            raise InputError("a socket, not a file")
        if file.status and guard.is_open(file.status):
            raise inputs.Skipped("binary", "the database itself")
        if file.member:
            assert self.archives is not None
            return self.archives.opened(file.member)
        if unpacks:
            return names.opened(file.place, self.options.stdin)
        return open(file.place, "rb")

    def _stdin(self, source: inputs.Input) -> Iterator[Batch]:
        options = self.options
        if options.stdin_key is not None:
            source.file = File(STDIN, key=options.stdin_key)
            return self._text(source)
        format = options.format_of(STDIN)
        key = options.option("--key KEY", "stdin_key=")
        if format == "xlsx":
            raise InputError("a spreadsheet is read from a file, not from standard input")
        if options.format == "text":
            raise InputError(f"a text on standard input needs a key: give {key}")
        if format == "text":
            format, source.text = "jsonl", _starting_object(source.text, key)
        return formats.format_named(format).read(source, format)

    def _text(self, source: inputs.Input) -> Iterator[Batch]:
        """The batch of a text file."""
        file = source.file
        source.hasher = hasher = files.new_hash()
        # A packed file is hashed before it is unpacked: if it changes meanwhile, this is of bytes
        # that it has no longer, and never of others than those that were read.
        is_packed = file.is_regular and compression_of(file.path) and file.member is None
        digest = self.read_digest(file) if is_packed else b""
        text, extracted = source.whole_text()
        yield source.document(text, digest or hasher.digest(), extracted)


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
        reader = Session(options_of(values | others, shingling, sets), counts)
    if on_failure is not None:
        reader.counts.failures.on_failure = on_failure
    return reader


def options_of(
    values: dict[str, Any], shingling: Shingling, sets: groups.LongTableOptions | None
) -> SessionOptions:
    """How rows are read, by the values of SessionOptions; those of a long table by its columns."""
    if sets is not None and sets.set_item is not None:
        made = offers.offered(offers.OF_OPTIONS, "set_item")
        return cast(SessionOptions, made(sets, shingling, values))
    return SessionOptions(shingling.of_sets, **values)


def _starting_object(chunks: Iterable[bytes], key: str) -> Iterator[bytes]:
    """The chunks; InputError, with the option for a key, if they begin no JSON object."""
    begun = False
    for chunk in chunks:
        if not begun and not json_rows.is_blank(chunk):
            begun = True
            if not chunk.removeprefix(records.BOM).lstrip().startswith(b"{"):
                raise InputError(f"not JSON lines, and a text needs a key: give {key}")
        yield chunk
