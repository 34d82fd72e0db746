"""One record becomes a document, or an InputError that says why: all rules for keys, contents
and metadata, whatever the record was read from (docs/inputs.md has them as a table).

Records come in blocks, lines of JSON or rows of a table, which may be sent to another process
and made into documents there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

from lshdb.errors import InputError
from lshdb.json_text import MAX_DEPTH, loads, repaired, without_surrogates
from lshdb.limits import DEFAULTS, Limits
from lshdb.model import Content, Document, Failure, FileState
from lshdb.sources.paths import escaped

if TYPE_CHECKING:
    import pyarrow as pa

BOM: Final = b"\xef\xbb\xbf"

_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"
_NAMES_SHOWN: Final = 10
_NAME_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class TextFile:
    """The document of a text file, and the state of the file before it was read."""

    document: Document
    state: FileState


Where: TypeAlias = tuple[str | None, int | None]
"""The file that a row or document is from, and its number there; None for what has none."""
Origin: TypeAlias = tuple[str | None, Sequence[int]]
"""The same of the rows of a block."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines of JSON, not parsed yet.

    Attributes:
        name: the file's, as printed.
        first: the number of the first line.
        count: how many lines there are.
        held: the data, or a file with it.
    """

    name: str
    first: int
    count: int
    held: bytes | bytearray | IO[bytes]

    @property
    def data(self) -> bytes:
        """The lines, each with its newline, except perhaps the last."""
        if isinstance(self.held, bytes | bytearray):
            return cast(bytes, self.held)  # all that is done with it works with either
        self.held.seek(0)
        return self.held.read()

    @property
    def size(self) -> int:
        """How many bytes the lines have."""
        return len(self.data)

    def put_away(self, directory: str) -> Lines:
        """The same lines with their data in a temporary file."""
        from tempfile import TemporaryFile

        file = TemporaryFile(buffering=0, dir=directory)  # noqa: SIM115  # closed when it is freed
        file.write(self.data)
        return replace(self, held=file)

    @property
    def origin(self) -> Origin:
        """The file, and the numbers of the lines."""
        return self.name, range(self.first, self.first + self.count)

    def number(self, place: int) -> int:
        """The number of the line at a place, from 0."""
        return self.first + place

    def where(self, place: int) -> str:
        """The name of the line at a place, from 0, in messages."""
        return f"{self.name}:{self.number(place)}"


Values: TypeAlias = Sequence[object] | str
"""The values of a row, or the reason why it has none."""


@dataclass(frozen=True, slots=True)
class CsvText:
    """Rows of CSV as they are in the file, in UTF-8.

    Attributes:
        heading: the row that names the columns, with its newline, and a byte order mark.
        rows: each with its newline, if it has one.
        delimiter: between fields.
    """

    heading: bytes
    rows: Sequence[bytes]
    delimiter: str


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The head of a table: columns, schema, format.

    Attributes:
        columns: the names of the columns.
        schema: of Parquet and Arrow, with the metadata; None for CSV.
        heading: of CSV, as in CsvText; empty for others.
        delimiter: of CSV.
        has_heading: whether CSV names the columns.
        compression: of each column of Parquet, by its path.
        replaces_dictionaries: whether batches may have dictionaries of their own, as in Parquet
            and streams of Arrow.
    """

    columns: tuple[str, ...]
    schema: pa.Schema | None = None
    heading: bytes = b""
    delimiter: str = ""
    has_heading: bool = True
    compression: Mapping[str, str] = field(default_factory=dict)
    replaces_dictionaries: bool = True


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table, not parsed to documents yet.

    Attributes:
        name: the file's or table's, as printed.
        columns: the names of the columns.
        rows: each with its number, from 1: for CSV that of its first line.
        size: about their bytes.
        torn: whether strings may have lone surrogates for bytes that are not UTF-8, as the error
            handler `surrogateescape` makes them.
        source: the same rows with all of their columns, as they were read; None if not wanted.
            It stays in the process that reads.
        in_file: whether they are from a file.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[int, Values]]
    size: int
    invalid_utf8: bool = False
    source: CsvText | pa.RecordBatch | None = None
    in_file: bool = True

    @property
    def origin(self) -> Origin:
        """The file, None for a table, and the numbers of the rows."""
        return self.name if self.in_file else None, [number for number, _ in self.rows]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def without_values(self) -> Rows:
        """The block without values that are also in its source."""
        if self.source is None or isinstance(self.source, CsvText):
            return self
        return replace(self, rows=[(number, ()) for number, _ in self.rows])

    def number(self, place: int) -> int:
        """The number of the row at a place, from 0."""
        return self.rows[place][0]

    def where(self, place: int) -> str:
        """The name of the row at a place, from 0, in messages."""
        return f"{self.name}:{self.number(place)}"


Block: TypeAlias = Lines | Rows
Parsed: TypeAlias = Document | Failure | tuple[str, str]
"""A parsed line or row. A pair is a clean key and a clean text, of a record without metadata."""


_MISSING: Final = object()
Path: TypeAlias = tuple[str, ...]
"""The name of a field, after those of the objects that it is in."""


def field_paths(name: str, names: Container[str]) -> list[Path]:
    """The fields for a name, in records with fields of these names.

    A field of that name comes first; else `a,b` is the fields a and b, and `a.b` is b in a.

    >>> field_paths("title,meta.body", ["title", "meta"])
    [('title',), ('meta', 'body')]
    """
    if name in names:
        return [(name,)]
    return [(part,) if part in names else tuple(part.split(".")) for part in name.split(",")]


@dataclass(slots=True)
class RecordOptions:
    """How records become documents.

    Attributes:
        of_sets: whether documents are sets (else texts).
        key_field, text_field, set_field: names of fields (see `field_paths`); several texts are
            joined, each on lines of its own.
        strict: refuse input that is not UTF-8, instead of replacing bad bytes by U+FFFD.
        auto_key: name a record without a key by its place, instead of refusing it.
        metadata: whether the other fields of a record are kept.
        metadata_fields: which of them; all if empty.
        naming: how messages name the argument for a field, with `{}` for `key`, `text` or `set`.
        limits: sizes of blocks and documents.
    """

    of_sets: bool
    key_field: str = "id"
    text_field: str = "text"
    set_field: str = "set"
    strict: bool = False
    auto_key: bool = False
    metadata: bool = True
    metadata_fields: Sequence[str] = ()
    naming: str = "{}_field="
    limits: Limits = DEFAULTS

    def option(self, option: str, argument: str) -> str:
        """How messages name an option: by that of a command, or by an argument of the library."""
        return option if self.naming.startswith("--") else argument

    @property
    def content_field(self) -> str:
        """The field that holds a document's content."""
        return self.set_field if self.of_sets else self.text_field

    def own_fields(self, names: Collection[str]) -> set[str]:
        """The fields that keys and documents are made of, among those of a record."""
        own = (self.key_field, self.content_field)
        return {path[0] for name in own for path in field_paths(name, names)}

    def record_options(self) -> dict[str, Any]:
        """These options by their names."""
        return {one.name: getattr(self, one.name) for one in fields(RecordOptions)}


@dataclass(slots=True)
class RecordParser(RecordOptions):
    """Makes documents of records.

    Attributes:
        replaced: documents so far with bytes or code units that are not Unicode.
    """

    replaced: int = field(default=0, init=False)

    def of_record(self, record: dict[str, object], where: str) -> Document:
        """The document of a record; `where` is its name if it has no key."""
        replaced = self.replaced
        document = Document(
            self._key(record, where), self._content(record), self._other_fields(record)
        )
        self.replaced = min(self.replaced, replaced + 1)  # a document counts once
        return document

    def of_json(self, line: bytes, where: str) -> Document:
        """The document of a record in JSON."""
        record, is_torn = self.record_of(line)
        document = self.of_record(record, where)
        if is_torn and "\N{REPLACEMENT CHARACTER}" in document.key:
            raise self._torn_key()
        self.replaced += is_torn
        return document

    def record_of(self, line: bytes) -> tuple[dict[str, object], bool]:
        """The record of a line of JSON, and whether U+FFFD replaces what is not Unicode in it.

        Raises:
            InputError: it is not a JSON object; or, if strict, not Unicode.
        """
        clean, replaced = line, self.replaced
        try:
            try:
                record = loads(line)
            except ValueError:
                clean = repaired(self.decoded(line))
                self.replaced = replaced  # counted for a document only
                record = loads(clean)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {json_reason(error)}") from error
        if not isinstance(record, dict):
            raise InputError(f"not a JSON object but {_kind(record)}")
        is_torn = clean != line and clean != line.removeprefix(BOM)
        if is_torn and self.strict:
            raise InputError("a lone surrogate, which is not Unicode text")
        return record, is_torn

    def of_rows(self, block: Rows) -> Iterator[tuple[int, Document | Failure]]:
        """The documents or failures of a block's rows, each with its place in the block, from 0."""
        columns = block.columns
        for place, (_, values) in enumerate(block.rows):
            where = block.where(place)
            replaced = self.replaced
            try:
                if isinstance(values, str):
                    raise InputError(values)
                if len(values) != len(columns):
                    raise InputError(f"{len(values)} fields, and the heading names {len(columns)}")
                record = dict(zip(columns, values, strict=True))
                if block.invalid_utf8:
                    key = _value_at(record, self.key_field)
                    if isinstance(key, str) and without_surrogates(key) is not key:
                        raise self._torn_key()
                    record = {name: self._repaired(one, name) for name, one in record.items()}
                document = self.of_record(record, where)
                self.replaced = min(self.replaced, replaced + 1)
                yield place, document
            except InputError as error:
                yield place, Failure(where, str(error))

    def content_of(self, text: str) -> Content:
        """The text itself; for sets the array in it. InputError if there is none."""
        if not self.of_sets:
            return text
        name = self.set_field
        wanted = f"a set is a JSON array, or an object with the array as {name!r}"
        try:
            value = loads(repaired(text))
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON ({json_reason(error)}): {wanted}") from error
        if isinstance(value, dict) and name in value:
            return set_of(value[name], f"field {name!r}")
        if not isinstance(value, list):
            raise InputError(f"{_kind(value)}: {wanted}")
        return set_of(value, "the set")

    def decoded(self, data: bytes) -> str:
        """The text of UTF-8 bytes, without a byte order mark."""
        data = data.removeprefix(BOM)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            if self.strict:
                raise InputError(f"not UTF-8 at byte {error.start + 1}") from error
            self.replaced += 1
            return data.decode("utf-8", "replace")

    def check_columns(self, names: Sequence[str]) -> None:
        """InputError if a file lacks columns of documents.

        One is missing, or two have one name.
        """
        record = dict.fromkeys(names)
        if len(record) < len(names):
            repeated = min(name for name, count in Counter(names).items() if count > 1)
            raise InputError(f"two columns are named {repeated!r}")
        wrong = []
        if field_paths(self.key_field, record)[0][0] not in record and not self.auto_key:
            wrong.append(f"no {self._named_key()}")
        missing = [p[0] for p in field_paths(self.content_field, record) if p[0] not in record]
        if missing:
            wrong.append(str(self._no_content(record, missing[0])))
        if wrong:
            shown = ", ".join(escaped(name[:_NAME_SHOWN]) for name in names[:_NAMES_SHOWN])
            more = ", ..." if len(names) > _NAMES_SHOWN else ""
            raise InputError(f"{'; '.join(wrong)} (the columns are {shown}{more})")

    def _torn_key(self) -> InputError:
        # With its bad bytes replaced it may be another document's key.
        name = self.key_field
        return InputError(f"field {name!r} has a lone surrogate or bytes that are not UTF-8")

    def _named_key(self) -> str:
        key, auto_key = self.naming.format("key"), self.option("--auto-key", "auto_key=True")
        return f"field {self.key_field!r}: name it with {key}, or give {auto_key}"

    def _key(self, record: dict[str, object], where: str) -> str:
        name = self.key_field
        key = record[name] if name in record else _value_at(record, name)
        # In CSV, an empty field means none.
        if self.auto_key and (key is None or key is _MISSING or key == ""):
            return where
        if key is _MISSING:
            raise InputError(f"no {self._named_key()}")
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise InputError(f"field {name!r} is {_kind(key)}, not a string or integer")
        if isinstance(key, int) and not -(1 << 63) <= key < 1 << 64:
            raise InputError(f"field {name!r} is an integer beyond 64 bits: write it as a string")
        key = str(key)
        if fault := key_fault(key):
            raise InputError(f"field {name!r} {fault}")
        return key

    def _no_content(self, record: Container[str], wanted: str) -> InputError:
        """Why a record with these fields has no content in the wanted field."""
        other = self.text_field if self.of_sets else self.set_field
        if other not in record:
            option = self.naming.format("set" if self.of_sets else "text")
            return InputError(f"no field {wanted!r}: name it with {option}")
        if self.of_sets:
            return InputError(
                f"a text (field {other!r}), and this database holds sets (field {wanted!r})"
            )
        return InputError(
            f"a set (field {other!r}), and this database holds texts: make one for sets "
            "(shingle set)"
        )

    def _content(self, record: dict[str, object]) -> Content:
        wanted = self.content_field
        content = record[wanted] if wanted in record else self._joined(record)
        if isinstance(content, bytes):
            content = content.decode("utf-8", "surrogateescape")
            content = self._repaired(content, wanted)
        if self.of_sets:
            return set_of(content, f"field {wanted!r}")
        if not isinstance(content, str):
            raise InputError(f"field {wanted!r} is {_kind(content)}, not a string")
        return content

    def _joined(self, record: dict[str, object]) -> object:
        """The content if no field has its name: of a nested field, or of several."""
        name = self.content_field
        parts = [(part, _value_at(record, part)) for part in name.split(",")]
        there = [(part, value) for part, value in parts if value is not _MISSING]
        if not there:
            raise self._no_content(record, name)
        if len(parts) == 1 or self.of_sets:
            return there[0][1]
        texts = []
        for part, value in there:
            if isinstance(value, bytes):
                value = self._repaired(value.decode("utf-8", "surrogateescape"), part)
            if value is not None and not isinstance(value, str):
                raise InputError(f"field {part!r} is {_kind(value)}, not a string")
            texts.append(value)
        filled = [text for text in texts if text is not None]
        return "\n".join(filled) if filled else None

    def _other_fields(self, record: dict[str, object]) -> dict[str, object] | None:
        """The fields of a record to keep besides its key and content."""
        own = (self.key_field, self.content_field)
        # Most records have nothing else: this avoids checking each field.
        if not self.metadata or (
            len(record) == 2 and own[0] in record and own[1] in record and own[0] != own[1]
        ):
            return None
        if own[0] not in record or own[1] not in record:
            for name in own:
                for path in field_paths(name, record):
                    record = _without(record, path)
        kept = [n for n in self.metadata_fields or record if n in record and n not in own]
        return {name: record[name] for name in kept} if kept else None

    def _repaired(self, value: object, name: str) -> object:
        """A value without lone surrogates for bytes; InputError if strict."""
        if isinstance(value, list):
            return [self._repaired(one, name) for one in value]
        if isinstance(value, dict):
            return {key: self._repaired(one, name) for key, one in value.items()}
        if not isinstance(value, str) or value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError as error:
            if self.strict:
                raise InputError(f"not UTF-8 in field {name!r}") from error
            self.replaced += 1
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return value


def _value_at(record: dict[str, object], name: str) -> object:
    """The value of a field, which may be in an object, or _MISSING."""
    if name in record:
        return record[name]
    value: object = record
    for one in name.split("."):
        if not isinstance(value, dict) or one not in value:
            return _MISSING
        value = value[one]
    return value


def _without(record: dict[str, object], path: Path) -> dict[str, object]:
    """The record without a field, which may be in an object; drops an object that gets empty."""
    first, *more = path
    inner = record.get(first)
    if more and isinstance(inner, dict) and (rest := _without(inner, tuple(more))):
        return record | {first: rest}
    if more and not isinstance(inner, dict):
        return record
    return {name: value for name, value in record.items() if name != first}


def key_fault(key: str) -> str | None:
    """The fault of a key, as the end of a sentence; None for a valid one."""
    if not key:
        return "is empty"
    if "\0" in key:
        return "has a NUL character"
    if not key.isascii() and without_surrogates(key) is not key:
        return "has a lone surrogate, which is not Unicode text"
    return None


def documents_among(rows: Iterable[tuple[int, Parsed]]) -> Iterator[Document | Failure]:
    """The documents among numbered items of a block."""
    for _, row in rows:
        yield Document(*row) if isinstance(row, tuple) else row


def set_of(content: object, name: str) -> Content:
    """The elements of an array, or of a string that holds one as JSON.

    Raises:
        InputError: it is not one of strings and integers; the message uses `name` for it.
    """
    if isinstance(content, str):
        try:
            content = loads(repaired(content))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name} is a string that is not a JSON array") from error
    if not isinstance(content, list):
        raise InputError(f"{name} is {_kind(content)}, not an array")
    if not set(map(type, content)) <= {str, int}:
        place, strange = next((i, e) for i, e in enumerate(content, 1) if type(e) not in (str, int))
        raise InputError(f"element {place} of {name} is {_kind(strange)}, not a string or integer")
    return content


def json_reason(error: ValueError | RecursionError, start: int = 0) -> str:
    """Why a text that begins at `start` is not JSON."""
    if isinstance(error, json.JSONDecodeError):
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        return f"{reason} at character {error.pos - start + 1}"
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    return "a number with too many digits"


def _kind(value: object) -> str:
    """The type of a value, in JSON's words if JSON has it."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a decimal number", str: "a string"}
    kinds |= {list: "an array", dict: "an object"}
    return kinds.get(type(value), f"a {type(value).__name__}")
