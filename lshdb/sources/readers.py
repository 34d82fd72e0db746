"""Reads paths, standard input and tables: a stream of batches of documents.

Input that cannot be read becomes a failure in a batch, so that one bad line costs one line.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, BinaryIO

from lshdb.errors import InputError, UsageError
from lshdb.groups import values_of
from lshdb.model import Document, Failure
from lshdb.options import (
    DocumentOptions,
    EncodingOption,
    FilesOptions,
    Format,
    LongTableOptions,
    QueriesOptions,
    ReadingOptions,
    TextOptions,
    WalkingOptions,
)
from lshdb.progress import BYTES, Progress, shown, silent
from lshdb.shingling.shingling import Content, Shingling
from lshdb.sources import formats, inputs, json_rows, long_tables, records, sinks, walking
from lshdb.sources.archives import Archives, Member, archive_of, is_archive
from lshdb.sources.batch import Batch, TableSchema, failed
from lshdb.sources.documents.kinds import PROBE
from lshdb.sources.extracting import Extracted, Extractor
from lshdb.sources.identity import FilesRead, may_repeat
from lshdb.sources.paths import (
    STDIN,
    ZIP,
    binary_kind,
    check_key_is_free,
    expanded,
    format_of,
    input_bytes,
    key_of,
    opened,
    printable_path,
)
from lshdb.store import guard, rows

HowRead = ReadingOptions | QueriesOptions | TextOptions | EncodingOption
"""The groups of options that say how files become documents."""
TABLE = "a table by its suffix, and only texts are read"
_SETTLED = 2_000_000_000
"""Nanoseconds after which a change gives a file another time, even in FAT."""


def no_guess(_key: str) -> str | None:
    """No guess is stored for any key."""
    return None


@dataclass(slots=True)
class Reader(records.RecordOptions):
    """Reads documents from paths and streams, and counts what it skipped.

    Attributes:
        format: `auto` goes by suffix (and, for standard input, by the first character).
        fallback: for `auto`, the format of standard input and of files with any other suffix.
        stdin: the file for `-`; None if it is closed.
        stdin_key: the key of a text on standard input.
        rules: which files in directories are read, and what their keys are relative to.
        archives: whether archives are read as directories.
        skip_tables: whether files of rows in directories are skipped, although `format` is text.
        taken: which documents such as PDF are taken, and how.
        source: whether HTML is a program, and not a page.
        reference_files: files of a reference: they are skipped, as they would be similar to
            themselves.
        extractor: takes the text out of documents such as PDF.
        stored_guess: what is stored of a text whose encoding was guessed, by its key.
        packed: reads members of archives.
        skipped_files: counts of skipped entries of directories.
        bytes_read: of all input so far.
        replaced: documents so far with bytes or code units that are not Unicode, replaced by
            U+FFFD.
    """

    format: Format = "auto"
    stdin: BinaryIO | None = None
    stdin_key: str | None = None
    fallback: Format = "text"
    rules: WalkingOptions = field(default_factory=WalkingOptions)
    archives: bool = False
    skip_tables: bool = False
    taken: DocumentOptions = field(default_factory=DocumentOptions)
    source: bool = False
    reference_files: FilesRead | None = None
    extractor: Extractor | None = None
    stored_guess: Callable[[str], str | None] = no_guess
    packed: Archives = field(init=False, repr=False)
    skipped_files: walking.SkippedFiles = field(default_factory=walking.SkippedFiles, init=False)
    bytes_read: int = field(default=0, init=False)
    replaced: int = field(default=0, init=False)

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
        if self.extractor is None:
            self.extractor = Extractor(self.taken, self.limits.largest_text, self.source)
        self.packed = Archives(self.limits)

    @contextmanager
    def shown(
        self, progress: bool | Progress, label: str, paths: Iterable[str]
    ) -> Iterator[Progress]:
        """As lshdb.progress.shown; the function first reports the bytes read of these files."""
        with shown(progress, label) as show:
            known = show is not silent and isinstance(paths, Collection)
            total, before = input_bytes(paths) if known else None, self.bytes_read

            def report(done: int, of: int | None, unit: str) -> None:
                show(self.bytes_read - before, total, BYTES)
                show(done, of, unit)

            yield report

    def read(self, paths: Iterable[str]) -> Iterator[Document | Failure]:
        """The documents of files, directories (walked), patterns and `-`, in order."""
        for batch in self.batches(paths):
            yield from batch.items()

    def batches(self, paths: Iterable[str], files_read: FilesRead | None = None) -> Iterator[Batch]:
        """Like `read`, in batches: of rows, or of one text file.

        A file to which several paths lead is read once, and counted as skipped after that.

        Args:
            paths: files, directories, patterns and `-`.
            files_read: the files that were read before, to which these are added.
        """
        names: Iterable[str] = expanded(paths)
        if isinstance(paths, Collection):
            names = [*names]
        if files_read is None and (
            self.reference_files is not None or not isinstance(names, list) or may_repeat(names)
        ):
            files_read = FilesRead(self.reference_files)
        for path in names:
            if path != STDIN and (
                os.path.isdir(path) or (self.archives and archive_of(path) == path)
            ):
                yield from self._directory(path, files_read)
            elif path == STDIN or files_read is None:
                yield from self.file(path)
            else:
                archive = archive_of(path)
                yield from self._once(files_read, path, None, None if archive == path else archive)

    def _once(
        self, files_read: FilesRead, path: str, key: str | None, archive: str | None
    ) -> Iterator[Batch]:
        """The documents of a file (see `file`) that was not read before."""
        if earlier := files_read.earlier(path, archive):
            self.skipped_files.add_repeated(path, earlier)
            return
        is_empty = True
        for batch in self.file(path, key):
            is_empty = False
            yield batch
            del batch  # before another is read
        if is_empty:  # skipped in a directory: where it is named itself, it is a failure
            files_read.forget(path, archive)

    def read_one(self, path: str) -> Content:
        """The one document, without a key, that a file or `-` holds; InputError if it does not."""
        try:
            with self._opened(path) as file:
                source = self._input(file, path)
                if self.of_sets or path == STDIN:
                    text = source.one_text(None if self.of_sets else lambda: None)
                    self._note_guess(source)
                    content = self.content_of(text)
                else:
                    batches = [*self._texts(source, path, printable_path(path))]
                    for _, failure in chain.from_iterable(one.failures for one in batches):
                        raise InputError(failure.reason)
                    contents = [*chain.from_iterable(one.contents for one in batches)]
                    if len(contents) != 1:
                        raise InputError(f"it has {'several' if contents else 'no'} messages")
                    (content,) = contents
                    self.replaced += sum(one.replaced for one in batches)
                self.replaced += source.torn
                return content
        except (InputError, OSError) as error:
            raise InputError(f"{printable_path(path)}: {reason(error)}") from error

    def walked(self, directory: str) -> Iterator[walking.Entry | tuple[str, InputError | OSError]]:
        """The files in a directory or archive and below; see lshdb.sources.walking.walk."""
        packed = self.packed if self.archives else None
        return walking.walk(directory, self.rules, self.skipped_files, packed)

    def _directory(self, directory: str, files_read: FilesRead | None) -> Iterator[Batch]:
        key, start = key_of(directory, self.rules.root), len(os.path.join(directory, ""))
        for found in self.walked(directory):
            if isinstance(found, tuple):
                path, error = found
                yield failed(printable_path(path), reason(error))
            else:
                if self.skip_tables and format_of(found.name) != "text":
                    self.skipped_files.add("tables", found.path, TABLE)
                    continue
                own = os.path.join(key, printable_path(found.path[start:]))
                if files_read is None:
                    yield from self.file(found.path, own)
                else:
                    archive = archive_of(found.path) if isinstance(found, Member) else None
                    yield from self._once(files_read, found.path, own, archive)

    def file(self, path: str, key: str | None = None) -> Generator[Batch]:
        """The documents of one file, or of standard input.

        A file in a directory has a key, and gives nothing if it is binary, or JSON without rows.
        What cannot be read of a mailbox is a failure of a message; else it is one of the file.
        """
        try:
            format = self.format_of(path)
            with self._opened(path) as file:
                source = self._input(file, path)
                if path == STDIN:
                    batches = self._stdin(source)
                elif format == "text":
                    check_key_is_free(path)
                    own = key_of(path, self.rules.root) if key is None else key
                    batches = self._texts(source, path, own)
                else:
                    batches = formats.format_named(format).read(source)
                for batch in batches:
                    if source.torn:
                        batch = replace(batch, replaced=batch.replaced + source.torn)
                        source.torn = 0
                    self.replaced += batch.replaced
                    yield batch
                    del batch  # before another is read: a line may have a hundred megabytes
        except (InputError, OSError) as error:
            # Where the format of tables is asked for, JSON of another kind is a failure.
            if (
                key is not None
                and isinstance(error, inputs.Skipped)
                and (error.kind != "tables" or self.format == "auto")
            ):
                packed = error.kind == "binary" and not self.archives and is_archive(path)
                self.skipped_files.add("archives" if packed else error.kind, path, str(error))
            else:
                yield failed(printable_path(path), reason(error))

    def format_of(self, path: str) -> Format:
        """The format in which a file is read."""
        if self.format != "auto":
            return self.format
        format = format_of(path)
        return self.fallback if format == "text" else format

    def _opened(self, path: str) -> AbstractContextManager[BinaryIO]:
        if path != STDIN and guard.is_open(path):
            raise inputs.Skipped("binary", "the database itself")
        if member := self.packed.find(path):
            return self.packed.opened(member)
        return opened(path, self.stdin)

    def _input(self, file: BinaryIO, path: str) -> inputs.Input:
        def count(size: int) -> None:
            self.bytes_read += size

        return inputs.Input(file, printable_path(path), self, count)

    def head(self, path: str) -> TableSchema | None:
        """The head of a file of rows; None for JSON, which has none.

        Raises:
            InputError: it cannot be read in its format, or it lacks a column.
        """
        if formats.KIND.get(self.format_of(path), "json") == "json":
            return None
        own = replace(self, whole=True)  # which counts for itself
        with closing(own.file(path)) as batches:
            batch = next(batches)
        for _, failure in batch.failures:
            raise InputError(f"{failure.where}: {failure.reason}")
        return None if batch.origin is None else sinks.rows_of(batch.origin).schema

    def common_head(self, paths: Sequence[str], format: str) -> TableSchema | None:
        """The head of one file in this format for the rows of several; None if it is not known.

        Raises:
            UsageError: JSON and tables would go to a table.
            InputError: the tables have different columns, or of different types.
        """
        # A pipe can be read only once.
        heads = [(path, self.head(path) if os.path.isfile(path) else None) for path in paths]
        if formats.KIND[format] == "json":
            return None
        kinds = {formats.KIND[self.format_of(path)]: path for path in reversed(paths)}
        if len(kinds) > 1:
            _, other, *_ = sorted(kinds.values(), key=paths.index)
            raise UsageError(
                f"{paths[0]} and {other} are of different kinds, and a table has the columns of "
                "one: write JSON lines, or to a directory"
            )
        common: TableSchema | None = None
        for path, head in heads:
            if common is None or head is None:
                common = common or head
                continue
            sinks.check_columns(printable_path(path), head, common.columns)
            if common.schema is not None:
                from lshdb.sources.arrow_rows import common_schema

                schema = common_schema(common.schema, head.schema, printable_path(path))
                common = replace(common, schema=schema, replaces_dictionaries=True)
        return common

    def _stdin(self, source: inputs.Input) -> Iterator[Batch]:
        if self.stdin_key is not None:
            return iter([self._text(source, self.stdin_key, None)])
        format = self.format_of(STDIN)
        key = self.option("--key KEY", "stdin_key=")
        if self.format == "text":
            raise InputError(f"a text on standard input needs a key: give {key}")
        if format == "text":
            format, source.text = "jsonl", _starting_object(source.text, key)
        return formats.format_named(format).read(source)

    def _texts(self, source: inputs.Input, path: str, key: str) -> Iterator[Batch]:
        """The batch of a text file, or one for each document in a PDF, a mailbox and the like."""
        state = state_of(self.packed.status(path))
        assert self.extractor is not None
        peek = getattr(source.file, "peek", lambda _: b"")
        kind = self.extractor.kind_of(path, peek(PROBE)) if state else None
        if kind is None or self.of_sets:
            yield self._text(source, key, state)
            return
        assert state is not None
        first: list[tuple[str, rows.FileState]] = []
        is_whole = True
        try:
            with self.packed.on_disk(path, source.file) as copy:
                for found in self.extractor.documents(copy, kind):
                    if isinstance(found, Extracted):
                        batch = self._extracted(found, path, key, state)
                    else:
                        batch = self._unread(path, key, found.name, found.reason)
                    first = first or [*batch.states]
                    is_whole &= not batch.unread
                    yield batch
        except InputError as error:
            if kind == "zip":
                why = f"a binary file ({binary_kind(ZIP)})"
                raise inputs.Skipped("binary", why) from error
            yield _to_read_again(first)
            raise
        if not is_whole:
            yield _to_read_again(first)
        self.bytes_read += source.size

    def _extracted(self, found: Extracted, path: str, key: str, state: rows.FileState) -> Batch:
        """The batch of a document that was taken out of a file, by the rules for all documents."""
        own = key if found.name is None else f"{key}#{found.name}"
        try:
            text, metadata, replaced = self.text_document(own, found.text, found.metadata)
        except InputError as error:
            if found.name is None:
                raise
            return self._unread(path, key, found.name, str(error))
        if found.metadata.get("scanned"):
            self.skipped_files.add("scanned", path, "a PDF of pictures: it has no text")
        if damaged := found.metadata.get("damaged"):
            why = f"read without {len(damaged):,} damaged: {damaged[0]}"
            self.skipped_files.add("damaged", path, why)
        return Batch(
            [own],
            [text],
            [metadata],
            states=[(own, replace(state, extracted=found.extracted))],
            replaced=replaced,
            size=text.__sizeof__() + len(own),
        )

    def _unread(self, path: str, key: str, name: str, reason: str) -> Batch:
        """The batch of a message that cannot be read."""
        failure = Failure(f"{printable_path(path)}#{name}", reason)
        return Batch(failures=[(0, failure)], unread=[f"{key}#{name}"])

    def _text(self, source: inputs.Input, key: str, state: rows.FileState | None) -> Batch:
        """The batch of a text as one document."""
        text = source.one_text(lambda: self.stored_guess(key))
        if self.of_sets:
            raise InputError("a text, and this database holds sets: give JSON lines")
        text, _, _ = self.text_document(key, text, None)
        if self._note_guess(source):
            state = state and replace(state, extracted=source.guess)
        states = () if state is None else [(key, state)]
        return Batch([key], [text], states=states, size=text.__sizeof__() + len(key))

    def _note_guess(self, source: inputs.Input) -> bool:
        """Count a text whose encoding was guessed; whether it was."""
        if source.guess is None:
            return False
        guess = inputs.encoding_of(source.guess)
        self.skipped_files.add("guessed", source.name, f"read as {guess}, a guess")
        return True


def reader_of(
    read: HowRead,
    shingling: Shingling,
    files: FilesOptions | None = None,
    sets: LongTableOptions | None = None,
    **others: Any,
) -> Reader:
    """A reader of what is shingled so.

    Args:
        read: how files become documents.
        shingling: that of the documents.
        files: which files of directories are read; None for the usual ones.
        sets: the columns of a long table, if they may be given.
        others: attributes of `Reader`.
    """
    files = files or FilesOptions()
    names = {field.name for field in fields(Reader) if field.init}
    values: dict[str, Any] = {n: value for n, value in values_of(read).items() if n in names}
    texts = read.texts if isinstance(read, ReadingOptions | QueriesOptions) else read
    values["taken"] = texts.extraction
    values |= {"rules": files.walk, "archives": files.archives, "source": shingling.kind == "code"}
    if sets is not None:
        values |= long_tables.reading(sets, shingling, values)
    return Reader(shingling.of_sets, **(values | others))


def _to_read_again(states: Sequence[tuple[str, rows.FileState]]) -> Batch:
    """The batch without documents that says: a file was not read whole, as if it had changed."""
    return Batch(states=[(key, replace(state, mtime_ns=None)) for key, state in states])


def state_of(status: os.stat_result) -> rows.FileState | None:
    """The state of a file; None if it is not a regular file."""
    if not stat.S_ISREG(status.st_mode):
        return None
    settled = time.time_ns() - status.st_mtime_ns > _SETTLED
    return rows.FileState(status.st_size, status.st_mtime_ns if settled else None)


def _starting_object(chunks: Iterable[bytes], key: str) -> Iterator[bytes]:
    """The chunks; InputError, with the option for a key, if they begin no JSON object."""
    begun = False
    for chunk in chunks:
        if not begun and not json_rows.is_blank(chunk):
            begun = True
            if not chunk.removeprefix(records.BOM).lstrip().startswith(b"{"):
                raise InputError(f"not JSON lines, and a text needs a key: give {key}")
        yield chunk


def reason(error: InputError | OSError) -> str:
    """Why something could not be read, in words."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)
