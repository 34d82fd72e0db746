"""One record, a line of JSON or a whole text, becomes a document or an InputError that says why.

Lines are read in blocks, which may be parsed elsewhere than where they are read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np

from lshdb.errors import InputError
from lshdb.model import Content, Document
from lshdb.shingling.content import LARGEST, without_surrogates
from lshdb.sources.metadata import has_large_float
from lshdb.sources.row_files import Stretch

RowFormat: TypeAlias = Literal["jsonl", "csv", "tsv", "arrow", "parquet"]
"""How rows are written: lines of JSON or of CSV, an Arrow stream, or a stretch of Parquet."""

BOM: Final = b"\xef\xbb\xbf"

_JSON: Final = json.JSONDecoder()
_NEWLINE: Final = 10
_JSON_BLANKS: Final = " \t\n\r"
_NAMES_SHOWN: Final = 10
_NAME_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Failure:
    """A file or line that gave no document: where it is, and why."""

    where: str
    reason: str


Row: TypeAlias = Document | Failure | tuple[str, str]
"""What a row is. A pair is a key and a text that are clean, and all that is kept of the row."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines of JSON or CSV, or rows of a table, not parsed yet.

    Attributes:
        name: the file's, as printed.
        first: the number of the first line or row; 0 for lines in a file, until it is asked for.
        count: how many lines or rows there are; of lines in a file about.
        data: the lines, each but perhaps the last with its newline; rows as an Arrow stream.
        format: which of them it is.
        columns: the names of the columns of CSV.
        stretch: where they are in a file, if `data` has nothing of them.
    """

    name: str
    first: int
    count: int
    data: bytes
    format: RowFormat = "jsonl"
    columns: tuple[str, ...] = ()
    stretch: Stretch | None = None

    @property
    def size(self) -> int:
        """About how many bytes the lines or rows have."""
        return len(self.data) if self.stretch is None else self.stretch.size


@dataclass(slots=True)
class RecordParser:
    """Makes documents of bytes.

    Attributes:
        of_sets: whether documents are sets (else texts).
        key_field, text_field, set_field: names in a JSON line.
        strict: refuse what is not UTF-8, instead of replacing the bad bytes by U+FFFD.
        auto_key: name a record without a key by its place, instead of refusing it.
        metadata: whether the other fields of a record are kept.
        metadata_fields: which of them; all if there are none here.
        replaced: documents so far with bytes or code units that are not Unicode.
    """

    of_sets: bool
    key_field: str
    text_field: str
    set_field: str
    strict: bool
    auto_key: bool
    metadata: bool = True
    metadata_fields: Sequence[str] = ()
    replaced: int = field(default=0, init=False)

    def content_of(self, text: str) -> Content:
        """The text itself; for sets the array in it. InputError if there is none."""
        if not self.of_sets:
            return text
        name = self.set_field
        wanted = f"a set is a JSON array, or an object with the array as {name!r}"
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON ({_json_reason(error)}): {wanted}") from error
        if isinstance(value, dict) and name in value:
            return set_of(value[name], f"field {name!r}")
        if not isinstance(value, list):
            raise InputError(f"{_kind(value)}: {wanted}")
        return set_of(value, "the set")

    def decoded(self, data: bytes) -> str:
        """The text that bytes of UTF-8 are; a byte order mark is left out."""
        data = data.removeprefix(BOM)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            if self.strict:
                raise InputError(f"not UTF-8 at byte {error.start + 1}") from error
            self.replaced += 1
            return data.decode("utf-8", "replace")

    def documents(self, lines: Lines) -> Iterator[Document | Failure]:
        """The documents of a block of lines, and a Failure for each line that is none."""
        return documents_among(self.numbered(lines))

    def numbered(
        self, lines: Lines, first: Callable[[], int] | None = None
    ) -> Iterator[tuple[int, Row]]:
        """The same, each with the place of its line in the block, from 0, and some as pairs.

        `first` tells the number of the first line, if the block does not.
        """
        number = lines.first

        def where(place: int) -> str:
            nonlocal number
            if not number and first is not None:
                number = first()
            return f"{lines.name}:{number + place}"

        view = memoryview(lines.data)  # whose slices are no copies
        newlines = np.flatnonzero(np.frombuffer(lines.data, np.uint8) == _NEWLINE).tolist()
        start = 0
        loads = _fast_json()
        key_field, text_field = self.key_field, self.text_field
        may_be_pair = not self.of_sets and key_field != text_field
        for place, end in enumerate([*newlines, len(view)]):
            line, start = view[start:end], end + 1
            try:
                record = loads(line) if loads is not None and len(line) <= LARGEST else None
            except (ValueError, RecursionError):
                record = None  # it is read again, to say why
            if type(record) is dict and may_be_pair and (len(record) == 2 or not self.metadata):
                # Most lines are like this; orjson takes no lone surrogates, so they are clean.
                key, text = record.get(key_field), record.get(text_field)
                if type(key) is str and type(text) is str and key and "\0" not in key:
                    yield place, (key, text)
                    continue
            if len(line) > LARGEST:
                yield place, too_long(where(place))
                continue
            own_key = where(place) if self.auto_key else ""
            try:
                document = self._quickly(record, own_key) if type(record) is dict else None
                if document is None and not is_blank(whole := bytes(line)):
                    document = self.document(whole, own_key)
            except InputError as error:
                yield place, Failure(where(place), str(error))
                continue
            if document is not None:
                yield place, document

    def document(self, line: bytes, where: str) -> Document:
        """The document of a line of JSON; `where` names it if it has no key."""
        try:
            # As json.loads, without its check of the type and its two regular expressions.
            text = self.decoded(line.rstrip()).lstrip(_JSON_BLANKS)
            record, end = _JSON.raw_decode(text)
            if end < len(text):
                raise json.JSONDecodeError("Extra data", text, end)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {_json_reason(error)}") from error
        if not isinstance(record, dict):
            raise InputError(f"not a JSON object but {_kind(record)}")
        return self.of_record(record, where)

    def _quickly(self, record: dict[str, object], where: str) -> Document | None:
        """The same of what orjson read; None where `document` says why not, or reads otherwise."""
        try:
            document = self.of_record(record, where)
        except InputError:
            return None
        if document.metadata is not None and has_large_float(document.metadata):
            return None
        return document

    def of_record(self, record: dict[str, object], where: str) -> Document:
        """The document of a record, its fields by their names; `where` names it without a key."""
        return Document(self._key(record, where), self._content(record), self._other_fields(record))

    @property
    def content_field(self) -> str:
        """The field that holds a document's content."""
        return self.set_field if self.of_sets else self.text_field

    def check_columns(self, names: Sequence[str]) -> None:
        """InputError if a file's columns are not those that documents are made of.

        One is missing, or two have one name.
        """
        record = dict.fromkeys(names)
        if len(record) < len(names):
            raise InputError(f"two columns are named {_repeated(names)!r}")
        try:
            if self.key_field not in record and not self.auto_key:
                raise InputError(f"no {self._named_key()}")
            self._check_content(record)
        except InputError as error:
            shown = ", ".join(name[:_NAME_SHOWN] for name in names[:_NAMES_SHOWN])
            more = ", ..." if len(names) > _NAMES_SHOWN else ""
            raise InputError(f"{error} (the columns are {shown}{more})") from error

    def _other_fields(self, record: dict[str, object]) -> dict[str, object] | None:
        """What is kept of a record beside its key and content."""
        own = (self.key_field, self.content_field)
        # Most records have nothing else: that is told without looking at each field.
        if not self.metadata or (len(record) == 2 and own[0] in record and own[0] != own[1]):
            return None
        kept = [n for n in self.metadata_fields or record if n in record and n not in own]
        return {name: record[name] for name in kept} if kept else None

    def _named_key(self) -> str:
        return f"field {self.key_field!r}: name it with --key-field, or give --auto-key"

    def _key(self, record: dict[str, object], where: str) -> str:
        name = self.key_field
        key = record.get(name)
        if key is None and self.auto_key:
            return where
        if name not in record:
            raise InputError(f"no {self._named_key()}")
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise InputError(f"field {name!r} is {_kind(key)}, not a string or integer")
        key = str(key)
        if not key:
            raise InputError(f"field {name!r} is empty")
        if "\0" in key:
            raise InputError(f"field {name!r} has a NUL character")
        return without_surrogates(key)

    def _check_content(self, record: Container[str]) -> None:
        """InputError if a record with these fields has no content."""
        wanted, other = self.text_field, self.set_field
        if self.of_sets:
            wanted, other = other, wanted
        if wanted not in record:
            if other not in record:
                option = "--set-field" if self.of_sets else "--text-field"
                raise InputError(f"no field {wanted!r}: name it with {option}")
            if self.of_sets:
                raise InputError(
                    f"a text (field {other!r}), and this database holds sets (field {wanted!r})"
                )
            raise InputError(
                f"a set (field {other!r}), and this database holds texts: make one for sets "
                "with lshdb init --shingle set"
            )

    def _content(self, record: dict[str, object]) -> Content:
        wanted = self.content_field
        if wanted not in record:
            self._check_content(record)
        content = record[wanted]
        if self.of_sets:
            return set_of(content, f"field {wanted!r}")
        if not isinstance(content, str):
            raise InputError(f"field {wanted!r} is {_kind(content)}, not a string")
        return self._clean(content)

    def _clean(self, text: str) -> str:
        clean = without_surrogates(text)
        if clean is not text:
            if self.strict:
                raise InputError("a lone surrogate, which is not Unicode text")
            self.replaced += 1
        return clean


@cache
def _fast_json() -> Callable[[bytes | memoryview], object] | None:
    """orjson.loads where the extra `speed` is installed, else None.

    It refuses some of what json.loads takes, and reads integers beyond 64 bits as floats.
    LSHDB_SPEED=0 keeps to json.
    """
    if os.environ.get("LSHDB_SPEED") == "0":
        return None
    try:
        loads: Callable[[bytes | memoryview], object] = import_module("orjson").loads
    except ImportError:
        return None
    return loads


def documents_among(rows: Iterable[tuple[int, Row]]) -> Iterator[Document | Failure]:
    """The documents that numbered rows are."""
    for _, row in rows:
        yield Document(*row) if isinstance(row, tuple) else row


def is_blank(line: bytes) -> bool:
    """Whether a line has nothing on it, not even a record that is wrong."""
    return not line or line.isspace() or (line.startswith(BOM) and not line[len(BOM) :].strip())


def too_long(where: str) -> Failure:
    """What a line that is too long becomes."""
    return Failure(where, f"longer than {LARGEST:,} bytes, the limit")


def array_of(text: str, name: str) -> object:
    """What a field of a table holds that is a set as JSON; InputError if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"field {name!r} is not a JSON array") from error


def set_of(content: object, name: str) -> Content:
    """The elements of a JSON array; InputError if it is not one of strings and integers."""
    if not isinstance(content, list):
        raise InputError(f"{name} is {_kind(content)}, not an array")
    if not set(map(type, content)) <= {str, int}:
        place, strange = next((i, e) for i, e in enumerate(content, 1) if type(e) not in (str, int))
        raise InputError(f"element {place} of {name} is {_kind(strange)}, not a string or integer")
    return content


def _repeated(names: Sequence[str]) -> str:
    """A name that comes twice."""
    ordered = sorted(names)
    return next(one for one, next_ in pairwise(ordered) if one == next_)


def _json_reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower().removesuffix(' at')} at character {error.pos + 1}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "a number with too many digits"


def _kind(value: object) -> str:
    """What a JSON value is, in JSON's own words."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a decimal number", str: "a string"}
    kinds |= {list: "an array", dict: "an object"}
    return kinds[type(value)]
