"""Readers: turn paths, standard input, lines and tables into a stream of documents.

Input that cannot be read becomes a Failure in the stream, so that one bad line costs one line. JSON
lines and the rows of tables come in blocks, which are parsed later, perhaps in another process.
"""

from __future__ import annotations

import codecs
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, BinaryIO, Final, TypeAlias

from lshdb.errors import InputError, UsageError
from lshdb.groups import Options, regrouped
from lshdb.model import Content, Document, Failure, FileState
from lshdb.options import WalkingOptions
from lshdb.progress import BYTES, Progress, shown, silent
from lshdb.sources.compression import compression_of
from lshdb.sources.paths import (
    STDIN,
    Format,
    binary_kind,
    expanded,
    format_of,
    input_bytes,
    key_of,
    opened,
    printable_path,
)
from lshdb.sources.records import (
    BOM,
    Block,
    CsvText,
    Lines,
    Parsed,
    RecordOptions,
    RecordParser,
    Rows,
    TableSchema,
    TextFile,
    documents_among,
)
from lshdb.sources.text_rows import (
    NotAnArray,
    csv_blocks,
    is_blank,
    json_array_blocks,
    json_documents,
    line_blocks,
)
from lshdb.sources.walking import SkippedFiles, walk
from lshdb.store.guard import is_open

Item: TypeAlias = Document | TextFile | Failure | Block

_BINARY: Final = "a binary file (it has NUL bytes)"
TABLE: Final = "a table by its suffix, and only texts are read"
_BINARY_PROBE: Final = 8192
_ENCODINGS: Final = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16's, which it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks, and their encodings."""
_LONGEST_BOM: Final = 4
_SETTLED: Final = 2_000_000_000
"""Nanoseconds after which a change gives a file another time, even in FAT."""


class _BinaryInput(InputError):
    """Bytes that are not a text; in a directory such files are skipped."""


@dataclass(slots=True)
class Reader(RecordOptions):
    """Reads documents from paths and streams, and counts what it skipped.

    Attributes:
        format: `auto` goes by suffix (and, for standard input, by the first character).
        encoding: of texts, JSON and CSV; None for UTF-8, or that of a byte order mark.
        fallback: for `auto`, the format of standard input and of files with any other suffix.
        stdin: the file for `-`; None if it is closed.
        stdin_key: the key of a text on standard input.
        rules: which files in directories are read, and what their keys are relative to.
        skip_tables: whether files of rows in directories are skipped, although `format` is text.
        whole: whether rows of tables come with all of their columns, as they were read.
        skipped_files: counts of skipped entries of directories.
        bytes_read: of all input so far.
        parser: makes documents of lines, by the same options.
    """

    format: Format = "auto"
    stdin: BinaryIO | None = None
    stdin_key: str | None = None
    fallback: Format = "text"
    encoding: str | None = None
    rules: WalkingOptions = field(default_factory=WalkingOptions)
    skip_tables: bool = False
    whole: bool = False
    skipped_files: SkippedFiles = field(default_factory=SkippedFiles, init=False)
    bytes_read: int = field(default=0, init=False)
    parser: RecordParser = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, ValueError) as error:
                raise UsageError(f"encoding {self.encoding!r} is not known to Python") from error
        self.parser = RecordParser(**self.record_options())

    @property
    def replaced(self) -> int:
        """Documents with bytes or code units that are not Unicode, replaced by U+FFFD."""
        return self.parser.replaced

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

    def content_of(self, text: str) -> Content:
        """The text itself; for sets the array in it. InputError if there is none."""
        return self.parser.content_of(text)

    def read(self, paths: Iterable[str]) -> Iterator[Document | Failure]:
        """The documents of files, directories (walked), patterns and `-`, in order."""
        for item in self.items(paths):
            if isinstance(item, Lines | Rows):
                yield from documents_among(parsed(item, self.parser))
            elif isinstance(item, TextFile):
                yield item.document
            else:
                yield item

    def items(self, paths: Iterable[str]) -> Iterator[Item]:
        """Like `read`, but lines and rows come in blocks that are not parsed yet (see `parsed`)."""
        for path in expanded(paths):
            if path != STDIN and os.path.isdir(path):
                yield from self._directory(path)
            else:
                yield from self.file(path)

    def read_one(self, path: str) -> Content:
        """The one document, without a key, that a file or `-` holds; InputError if it does not."""
        try:
            with self._opened(path) as file:
                return self.parser.content_of(self._text(file))
        except (InputError, OSError) as error:
            raise InputError(f"{printable_path(path)}: {reason(error)}") from error

    def _directory(self, directory: str) -> Iterator[Item]:
        key, start = key_of(directory, self.rules.root), len(os.path.join(directory, ""))
        for found in walk(directory, self.rules, self.skipped_files):
            if isinstance(found, tuple):
                path, error = found
                yield Failure(printable_path(path), reason(error))
            else:
                if self.skip_tables and format_of(found.name) != "text":
                    self.skipped_files.add("tables", found.path, TABLE)
                    continue
                below = printable_path(found.path[start:])
                yield from self.file(found.path, os.path.join(key, below))

    def file(self, path: str, key: str | None = None) -> Iterator[Item]:
        """The documents of one file, or of standard input.

        A file in a directory has a key, and gives nothing if it is binary, or JSON without rows.
        """
        try:
            format = self.format_of(path)
            with self._opened(path) as file:
                if path == STDIN:
                    yield from self._stdin(file)
                elif format == "text":
                    state = state_of(os.stat(path))
                    text = self._text_document(file)
                    document = Document(key_of(path, self.rules.root) if key is None else key, text)
                    yield document if state is None else TextFile(document, state)
                else:
                    yield from self._blocks(file, path, format)
        except (InputError, OSError) as error:
            if key is not None and isinstance(error, _BinaryInput):
                self.skipped_files.add("binary", path, str(error))
            elif key is not None and isinstance(error, NotAnArray) and self.format == "auto":
                self.skipped_files.add("tables", path, str(error))
            else:
                yield Failure(printable_path(path), reason(error))

    def format_of(self, path: str) -> Format:
        """The format in which a file is read."""
        if self.format != "auto":
            return self.format
        format = format_of(path)
        return self.fallback if format == "text" else format

    def _opened(self, path: str) -> AbstractContextManager[BinaryIO]:
        if path != STDIN and is_open(path):
            raise _BinaryInput("the database itself")
        return opened(path, self.stdin)

    def _blocks(self, file: BinaryIO, path: str, format: Format) -> Iterator[Block | Failure]:
        """The blocks of a file of lines or rows."""
        name = printable_path(path)
        if format in ("parquet", "arrow"):
            yield from self._tables(file, path, format)
        elif format in ("csv", "tsv"):
            yield from csv_blocks(self._chunks(file), name, format, self.parser, whole=self.whole)
        elif format == "json":
            yield from json_array_blocks(self._chunks(file), name, self.limits.largest_document)
        else:
            yield from line_blocks(self._chunks(file), name, self.limits.largest_document)

    def _tables(self, file: BinaryIO, path: str, format: Format) -> Iterator[Rows]:
        _check_table(path, format)
        from lshdb.sources import arrow_rows

        size = 0 if path == STDIN else os.fstat(file.fileno()).st_size
        before = self.bytes_read

        def on_read(share: float) -> None:
            self.bytes_read = before + int(share * size)

        batches = arrow_rows.file_batches(file, format, self.parser, on_read, whole=self.whole)
        yield from arrow_rows.blocks(
            batches, printable_path(path), self.parser, format, keep_whole=self.whole
        )
        on_read(1.0)

    def head(self, path: str) -> TableSchema | None:
        """The head of a file of rows; None for JSON, which has none.

        Raises:
            InputError: it cannot be read in its format, or it lacks a column.
        """
        own = replace(self)  # which counts for itself
        try:
            format = self.format_of(path)
            with self._opened(path) as file:
                if format in ("parquet", "arrow"):
                    _check_table(path, format)
                    from lshdb.sources.arrow_rows import file_head

                    return file_head(file, format, self.parser)
                if format not in ("csv", "tsv"):
                    return None
                block = next(csv_blocks(own._chunks(file), "", format, own.parser, whole=True))
                assert isinstance(block.source, CsvText)
                source = block.source
                return TableSchema(
                    block.columns, heading=source.heading, delimiter=source.delimiter
                )
        except (InputError, OSError) as error:
            raise InputError(f"{printable_path(path)}: {reason(error)}") from error

    def _stdin(self, file: BinaryIO) -> Iterator[Item]:
        if self.stdin_key is not None:
            yield Document(self.stdin_key, self._text_document(file))
            return
        format = self.format_of(STDIN)
        if self.format == "text":
            key = self.option("--key KEY", "stdin_key=")
            raise InputError(f"a text on standard input needs a key: give {key}")
        if format != "text":
            yield from self._blocks(file, STDIN, format)
        else:
            key = self.option("--key KEY", "stdin_key=")
            chunks = _starting_object(self._chunks(file), key)
            yield from line_blocks(chunks, STDIN, self.limits.largest_document)

    def _text_document(self, file: BinaryIO) -> str:
        text = self._text(file)
        if self.of_sets:
            raise InputError("a text, and this database holds sets: give JSON lines")
        return text

    def _text(self, file: BinaryIO) -> str:
        """All of a file as one text; InputError if it is binary or too large."""
        data = file.read(_BINARY_PROBE)
        if (kind := binary_kind(data)) is not None:
            raise _BinaryInput(f"a binary file ({kind})")
        encoding = self._encoding_of(data)
        if encoding is None and b"\0" in data:
            raise _BinaryInput(_BINARY)
        largest = self.limits.largest_document
        data += file.read(largest + 1 - len(data))
        self.bytes_read += len(data)
        if encoding is not None:
            data = b"".join(self._to_utf8((data,), encoding))
            if b"\0" in data[:_BINARY_PROBE]:
                raise _BinaryInput(_BINARY)
        if len(data) > largest:
            raise InputError(f"larger than {largest:,} bytes, the limit: split it")
        return self.parser.decoded(data)

    def _chunks(self, file: BinaryIO) -> Iterator[bytes]:
        """The text of a file in UTF-8, in chunks of the available bytes, up to about a block."""
        chunks = iter(lambda: self._some(file), b"")
        start = b""
        while len(start) < _LONGEST_BOM and (chunk := next(chunks, b"")):
            start += chunk
        if start:
            chunks = chain((start,), chunks)
        encoding = self._encoding_of(start)
        return chunks if encoding is None else self._to_utf8(chunks, encoding)

    def _encoding_of(self, start: bytes) -> str | None:
        """The encoding of a text by its first bytes; None for UTF-8."""
        if self.encoding is not None:
            return self.encoding
        return next((name for bom, name in _ENCODINGS.items() if start.startswith(bom)), None)

    def _to_utf8(self, chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)()
        for chunk in chain(chunks, (b"",)):
            before = decoder.getstate()
            try:
                text = decoder.decode(chunk, not chunk)
            except UnicodeDecodeError as error:
                if self.strict:
                    raise InputError(f"not {encoding.upper()}") from error
                self.parser.replaced += 1
                decoder.setstate(before)
                decoder.errors = "replace"
                text = decoder.decode(chunk, not chunk)
            if text:
                yield text.encode("utf-8", "surrogatepass")

    def _some(self, file: BinaryIO) -> bytes:
        """The next available bytes of a file, at most a block; empty at its end."""
        # A pipe returns what is available: a slow stream does not wait until a block is full.
        data: bytes = getattr(file, "read1", file.read)(self.limits.block_bytes)
        self.bytes_read += len(data)
        return data


def reader_of(options: Options, of_sets: bool, **others: Any) -> Reader:
    """A reader by the options of a group, and others of `Reader`."""
    names = {one.name for one in fields(Reader) if one.init}
    own = {name: value for name, value in vars(options).items() if name in names}
    rules = regrouped(options, WalkingOptions)
    return Reader(of_sets, **{"rules": rules, **own, **others})


def _check_table(path: str, format: Format) -> None:
    """InputError if a file of Parquet or Arrow is compressed as a whole, or pyarrow is missing."""
    if compression_of(path):
        raise InputError(f"a compressed {format} file: unpack it first")
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InputError("Parquet and Arrow take pyarrow: pip install 'lshdb[arrow]'") from error


def parsed(block: Block, parser: RecordParser) -> Iterator[tuple[int, Parsed]]:
    """The documents or failures of a block, each with its place in the block, from 0."""
    if isinstance(block, Lines):
        return json_documents(block, parser)
    return parser.of_rows(block)


def state_of(status: os.stat_result) -> FileState | None:
    """The state of a file; None if it is not a regular file."""
    if not stat.S_ISREG(status.st_mode):
        return None
    settled = time.time_ns() - status.st_mtime_ns > _SETTLED
    return FileState(status.st_size, status.st_mtime_ns if settled else None)


def _starting_object(chunks: Iterable[bytes], key: str) -> Iterator[bytes]:
    """The chunks; InputError, with the option for a key, if they begin no JSON object."""
    begun = False
    for chunk in chunks:
        if not begun and not is_blank(chunk):
            begun = True
            if not chunk.removeprefix(BOM).lstrip().startswith(b"{"):
                raise InputError(f"not JSON lines, and a text needs a key: give {key}")
        yield chunk


def reason(error: InputError | OSError) -> str:
    """Why something could not be read, in words."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)
