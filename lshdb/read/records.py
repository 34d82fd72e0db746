"""One record becomes a document, or an InputError that says why: all rules for keys, contents
and metadata, whatever the record was read from (docs/inputs.md has them as a table).
"""

import json
import pathlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, cast

from lshdb import json_text, model
from lshdb.errors import ColumnWarning, ContentError, Cut, InputError, warn_of_limit
from lshdb.keys import key_of_id
from lshdb.limits import DEFAULTS, Limits
from lshdb.read.batch import Batch, Origin, Record
from lshdb.read.metadata import LIST, Path, field_value, path_of, to_json
from lshdb.read.paths import escaped, partition_of
from lshdb.text.content import normalized
from lshdb.text.shingling import Content, OfSets

BOM = b"\xef\xbb\xbf"

_LARGE_INTEGER = 1 << 64
_NAMES_SHOWN = 10
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")
_NAME_SHOWN = 40
_MISSING = object()


def field_paths(name: str, names: Container[str]) -> list[Path]:
    """The fields for a name, in records with fields of these names.

    A field of that name comes first; else `a,b` is the fields a and b, and `a.b` is b in a. `a[].b`
    is b in each element of the list a.

    >>> field_paths("title,meta.body", ["title", "meta"])
    [('title',), ('meta', 'body')]
    """
    if name in names:
        return [(name,)]
    return [path_of(part, names) for part in name.split(",")]


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names of columns; of several without a name, those after the first get their number.

    >>> distinct_names(["id", "text", "", ""])
    ['id', 'text', '', 'column 4']
    """
    nameless = [number for number, name in enumerate(names, 1) if not name]
    return [
        f"column {number}" if number in nameless[1:] else name
        for number, name in enumerate(names, 1)
    ]


@dataclass(frozen=True)
class RecordOptions:
    """How records become documents.

    Attributes:
        of_sets: whether documents are sets (else texts).
        key_field, text_field, set_field: names of fields (see `field_paths`); several texts are
            joined, each on lines of its own.
        strict: refuse input that is not UTF-8, instead of replacing bad bytes by U+FFFD.
        auto_key: name a record without a key by its place, instead of refusing it.
        any_id: name a record whose id gives no key by its place, instead of refusing it.
        metadata: whether the other fields of a record are kept.
        metadata_fields: which of them; all if empty.
        naming: how messages name the argument for a field, with `{}` for `key`, `text` or `set`.
        limits: sizes of blocks and documents.
        encoding: of texts, JSON and CSV; None for UTF-8, or that of a byte order mark.
        delimiter: between fields of CSV; None for what its first line says.
        escape: before a quote within a field of CSV; None for another quote alone.
        quoting: of fields of CSV: by its rules, or none; None for the former, and the rule of TSV.
        whole: whether rows come with all of their columns, as they were read.
        only_rows: whether batches of rows have no documents, but where the rows are from.
        on_null: whether a record without a text or set fails, or is kept as an empty one.
        order_field: the field by whose values documents are ordered; empty without one.
        stored_guess: what is stored of a text whose encoding was guessed, by its key.
    """

    of_sets: OfSets
    key_field: str = "id"
    text_field: str = "text"
    set_field: str = "set"
    strict: bool = False
    auto_key: bool = False
    any_id: bool = False
    metadata: bool = True
    metadata_fields: Sequence[str] = ()
    naming: str = "{}_field="
    limits: Limits = DEFAULTS
    encoding: str | None = None
    delimiter: str | None = None
    escape: str | None = None
    quoting: Literal["csv", "none"] | None = None
    whole: bool = False
    only_rows: bool = False
    on_null: Literal["fail", "keep"] = "fail"
    order_field: str = ""
    stored_guess: Callable[[str], str | None] = field(default=lambda _: None)

    def option(self, option: str, argument: str) -> str:
        """How messages name an option: by that of a command, or by an argument of the library."""
        return option if self.naming.startswith("--") else argument

    @cached_property
    def content_field(self) -> str:
        """The field that holds a document's content."""
        return self.set_field if self.of_sets else self.text_field

    def too_long(self, data: bytes) -> str:
        """Why a line of JSON is refused for its length; empty if it is not."""
        largest = self.limits.largest_text
        size = len(data) - data.endswith(b"\n")
        if size > largest and data.isascii() and b"\\u" not in data:
            largest = self.limits.largest_document
        return longer_than(largest) if size > largest else ""

    def own_fields(self, names: Collection[str]) -> set[str]:
        """The fields that keys and documents are made of, among those of a record."""
        fields = (self.key_field, self.content_field)
        return {_outer(path, names) for name in fields for path in field_paths(name, names)}

    def document(self, record: Record) -> tuple[str | None, Content, str | None, bool]:
        """The key, content and stored metadata of a row, by the names of its fields.

        Returns:
            The document, and whether bytes are replaced in it. Its place is to be its key if that
            is None, without an id (with `auto_key`), or empty, as its id gives none (`any_id`).

        Raises:
            InputError, ContentError: it has none.
        """
        if self.of_sets == "bag" and "bag" in record and self.set_field not in record:
            record = {self.set_field if name == "bag" else name: record[name] for name in record}
        key, content = record.get(self.key_field), record.get(self.content_field)
        replaced = False
        if type(key) is int and -_LARGE_INTEGER < key < _LARGE_INTEGER:
            key = str(key)
        elif type(key) is not str or not key or "\0" in key or not key.isascii():
            key = self.key_in(record)
        if type(content) is not str or self.of_sets:
            content, replaced = self._content(record)
        content = normalized(content, self.limits.largest_document, self.of_sets)
        metadata = to_json(self._other_fields(record)) if self.metadata else None
        return key, content, metadata, replaced

    def whole_documents(self, batches: Iterable[Batch], beside: pathlib.Path) -> Iterable[Batch]:
        """The documents of batches that were read: an app may make one of many rows.

        Args:
            batches: all that are read.
            beside: where a temporary file has room, unless TMPDIR names another place.
        """
        del beside
        return batches

    def content_of(self, text: str) -> Content:
        """The text itself; for sets the array in it. InputError if there is none."""
        if not self.of_sets:
            return text
        name = self.set_field
        expected = f"a set is a JSON array, or an object with the array as {name!r}"
        try:
            value = json_text.loads(json_text.repaired(text))
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON ({json_reason(error)}): {expected}") from error
        if isinstance(value, dict) and name in value:
            return set_of(value[name], f"field {name!r}", self.of_sets)
        if not isinstance(value, list) and self.of_sets != "bag":
            raise InputError(f"{kind_of(value)}: {expected}")
        return set_of(value, "the set", self.of_sets)

    def decoded(self, data: bytes | bytearray) -> tuple[str, bool]:
        """The text of UTF-8 bytes, without a byte order mark; and whether some are replaced."""
        try:
            return data.decode().removeprefix("\ufeff"), False
        except UnicodeDecodeError as error:
            if self.strict:
                raise InputError(f"not UTF-8 at byte {error.start + 1}") from error
            return data.decode("utf-8", "replace").removeprefix("\ufeff"), True

    def check_columns(self, names: Sequence[str]) -> None:
        """InputError if a file lacks columns of documents.

        One is missing, or two have one name.
        """
        record = dict.fromkeys(names)
        if len(record) < len(names):
            repeated = min(name for name, count in Counter(names).items() if count > 1)
            raise InputError(f"two columns are named {repeated!r}")
        lacking = [_outer(path, record) for path in field_paths(self.content_field, record)]
        if not self.auto_key:
            lacking.insert(0, field_paths(self.key_field, record)[0][0])
        self._refuse([name for name in lacking if name not in record], "columns", record)

    def check_records(self, records: Iterable[Record]) -> None:
        """InputError if some records have fields, and none of them those of documents.

        No record needs them where a missing document is an empty one, or a bag has another field.
        """
        if self.on_null == "keep" or self.of_sets == "bag":
            return
        lacking = [self.key_field] * (not self.auto_key) + [self.content_field]
        names: Record = {}
        for record in records:
            names |= record
            lacking = [
                name
                for name in lacking
                if all(
                    field_value(record, path, _MISSING) is _MISSING
                    for path in field_paths(name, record)
                )
            ]
            if not lacking:
                return
        self._refuse(lacking if names else [], "fields", names)

    def _refuse(self, lacking: Sequence[str], kind: str, record: Record) -> None:
        """InputError for what a file lacks of keys and documents, with the names that it has."""
        key = field_paths(self.key_field, record)[0][0]
        wrong = [
            f"no {self.named_key()}"
            if name in (key, self.key_field)
            else str(self.no_content(record, name))
            for name in lacking
        ]
        if wrong:
            shown = ", ".join(escaped(name[:_NAME_SHOWN]) for name in [*record][:_NAMES_SHOWN])
            more = ", ..." if len(record) > _NAMES_SHOWN else ""
            raise InputError(f"{'; '.join(wrong)} (the {kind} are {shown}{more})")

    def wanted_columns(self, names: Sequence[str]) -> list[str]:
        """The columns that documents are made of, in their order.

        Other columns than those of keys and documents are metadata, except the unnamed index of
        pandas.

        Raises:
            InputError: a column is missing or repeated.
        """
        self.check_columns(names)
        fields_read = self.own_fields(names)
        if self.order_field:
            fields_read.add(path_of(self.order_field, names)[0])
        fields_read.update(self.metadata_fields)
        are_some = self.metadata_fields or not self.metadata
        return [
            name
            for name in names
            if name in fields_read or not (are_some or _INDEX_OF_PANDAS.fullmatch(name))
        ]

    def named_key(self) -> str:
        """How a message names the field of keys, and the option for another one."""
        named = f"field {self.key_field!r}: name it with {self.naming.format('key')}"
        if "field" not in self.naming:  # of a table, whose keys are wanted
            return named
        return f"{named}, or give {self.option('--auto-key', 'auto_key=True')}"

    def key_in(self, record: Record) -> str | None:
        """The key of a record; None or empty if that is its place, see `document`."""
        name = self.key_field
        value = field_value(record, field_paths(name, record)[0], _MISSING)
        if value is _MISSING and not self.auto_key:
            raise InputError(f"no {self.named_key()}")
        # In CSV, an empty field means none.
        if self.auto_key and (value is _MISSING or (isinstance(value, str) and not value)):
            return None
        try:
            key = key_of_id(value)
        except InputError as error:
            if self.any_id:
                return ""
            raise InputError(f"field {name!r} {error}") from error
        if key is None and not self.auto_key:
            raise InputError(f"field {name!r} is null, and a document needs a key")
        return key

    def no_content(self, record: Record, content_field: str) -> InputError:
        """Why a record with these fields has no content in the wanted field."""
        other = self.text_field if self.of_sets else self.set_field
        for path in field_paths(content_field, record):
            if reason := _why_missing(record, path, content_field):
                return InputError(reason)
        if other not in record:
            option = self.naming.format("set" if self.of_sets else "text")
            return InputError(f"no field {content_field!r}: name it with {option}")
        if self.of_sets:
            return InputError(
                f"a text (field {other!r}), and this database holds sets (field {content_field!r})"
            )
        return InputError(
            f"a set (field {other!r}), and texts are compared: --shingle set compares sets"
        )

    def _content(self, record: Record) -> tuple[Content, bool]:
        """The content, of one field, a nested one, or several; whether bytes are replaced."""
        content_field = self.content_field
        paths = field_paths(content_field, record)
        values = [(".".join(path), field_value(record, path, _MISSING)) for path in paths]
        values = [(name, value) for name, value in values if value is not _MISSING]
        if self.on_null == "keep" and all(value is None for _, value in values):
            return ([] if self.of_sets else ""), False
        if not values:
            raise self.no_content(record, content_field)
        if self.of_sets:
            return set_of(values[0][1], f"field {content_field!r}", self.of_sets), False
        texts, replaced = [], False
        for name, value in values:
            if isinstance(value, bytes):
                value, is_invalid_utf8 = self.decoded(value)
                replaced |= is_invalid_utf8
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, list):
                texts += _texts_in(name, value)
            elif value is not None:
                raise InputError(f"field {name!r} is {kind_of(value)}, not a string")
        if texts:
            return "\n".join(texts), replaced
        if self.on_null == "keep":
            return "", False
        lists = [name for name, value in values if isinstance(value, list)]
        if lists:
            raise InputError(f"field {lists[0]!r} is an array without texts")
        raise InputError(f"field {content_field!r} is null, not a string")

    def _other_fields(self, record: Record) -> Record:
        """The fields of a record to keep besides its key and content."""
        others = {**record}
        for name in (self.key_field, self.content_field):
            if name in record:
                others.pop(name, None)
            else:
                for path in field_paths(name, record):
                    others = _without(others, path)
        return self.kept(others)

    def kept(self, fields: Record) -> Record:
        """The fields that are wanted."""
        if not self.metadata_fields:
            return fields
        return {name: fields[name] for name in self.metadata_fields if name in fields}


@dataclass(eq=False)
class Collector:
    """Collects the documents and failures of rows in a batch.

    Attributes:
        options: how rows become documents.
        origin: where they are from.
        order_values: of all rows, the values of the field that orders them, where a column has
            more than its values say; else they are in the records.
        texts: of fields for whose values metadata has texts, the types.
    """

    options: RecordOptions
    origin: Origin
    order_values: Sequence[object] = ()

    def __post_init__(self) -> None:
        self.texts: dict[str, str] = {}
        origin = self.origin
        self._partition = partition_of(origin.name) if origin.in_file else {}
        self._order_values: list[object] = []
        self._keys: list[str] = []
        self._contents: list[Content] = []
        self._metadata: list[str | None] = []
        self._indices: list[int] = []
        self._failures: list[tuple[int, model.Failure]] = []
        self._replaced = self._unkeyed = 0

    def take(
        self, index: int, record: Record, is_invalid_utf8: bool = False, has_texts: bool = True
    ) -> None:
        """Add the document of a row, or its failure.

        Args:
            index: of the row.
            record: the row.
            is_invalid_utf8: whether U+FFFD replaces what is not Unicode in it.
            has_texts: whether there may be values for which metadata has texts.
        """
        options = self.options
        if has_texts and options.metadata:
            self.texts |= json_text.text_fields(record)
        if is_invalid_utf8 and options.strict:
            self.fail(index, "not UTF-8")
            return
        if self._partition:
            record = with_partition(record, self._partition)
        try:
            key, content, metadata, replaced = options.document(record)
            # The key of another record may have U+FFFD for other bytes there.
            if is_invalid_utf8 and key and json_text.REPLACEMENT in key:
                if not options.any_id:
                    raise InputError(
                        f"field {options.key_field!r} has a lone surrogate or bytes that are not "
                        "UTF-8"
                    )
                key = ""
        except (InputError, ContentError) as error:
            self.fail(index, str(error))
            return
        if not key:
            self._unkeyed += key is not None
            key = self.origin.where(index)
        self._keys.append(key)
        self._contents.append(content)
        self._metadata.append(metadata)
        self._indices.append(index)
        self._replaced += replaced or is_invalid_utf8
        if self.order_values:
            self._order_values.append(self.order_values[index])
        elif name := options.order_field:
            self._order_values.append(field_value(record, path_of(name, record)))

    def fail(self, index: int, reason: str) -> None:
        """Add a row that gives no document."""
        self._failures.append((index, model.Failure(self.origin.where(index), reason)))

    def batch(self, size: int = 0, rows: object = None) -> Batch:
        """The batch of all rows, of about this many bytes; with the rows as they were read."""
        own_fields = self.options.key_field, self.options.content_field
        note_columns(
            "metadata has the exact text of some values",
            {n: kind for n, kind in self.texts.items() if n not in own_fields},
        )
        return Batch(
            self._keys,
            self._contents,
            self._metadata if any(self._metadata) else (),
            replace(self.origin, rows=rows),
            self._indices,
            failures=self._failures,
            replaced=self._replaced,
            unkeyed=self._unkeyed,
            size=size,
            order_values=self._order_values,
        )


def with_partition(record: Record, partition: Record) -> Record:
    """The record, and behind its fields those that its directories name and it lacks."""
    return record | partition | record


def note_columns(note: str, columns: Mapping[str, str]) -> None:
    """Issue a ColumnWarning that names columns.

    Args:
        note: what is so of their values.
        columns: the types of these columns, by their names; without any, nothing is said.
    """
    if columns:
        named = ", ".join(f"{escaped(name)} ({kind})" for name, kind in columns.items())
        warn_of_limit(Cut("columns", len(columns), f"{note}: {named}"), ColumnWarning)


def is_utf8(data: bytes | bytearray) -> bool:
    """Whether bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _outer(path: Path, names: Container[str]) -> str:
    """The name of the column that a field is in."""
    return path[0] if path[0] in names else path[0].removesuffix(LIST)


def _texts_in(name: str, value: list[object]) -> list[str]:
    """The texts of a list, of the lists in it, and of parts of messages: objects with a `text`.

    A part of another `type`, such as an image, has none. InputError if there is something else.
    """
    texts: list[str] = []
    for index, element in enumerate(value, 1):
        if isinstance(element, dict) and not {"text", "type"}.isdisjoint(element):
            element = element.get("text")
        if isinstance(element, str):
            texts.append(element)
        elif isinstance(element, list):
            texts += _texts_in(name, element)
        elif element is not None:
            hint = ""
            if isinstance(element, dict) and element:
                sizes = {n: isinstance(v, str) and len(v) for n, v in element.items()}
                inner = f"{name}{LIST}.{max(element, key=sizes.__getitem__)}"
                hint = f"; for a field of it write {inner!r}"
            kind = kind_of(element)
            raise InputError(f"element {index} of field {name!r} is {kind}, not a string{hint}")
    return texts


def _why_missing(record: Mapping[str, object], path: Path, name: str) -> str:
    """Why a record has no field of this name, where a null or a list is on the way to it."""
    parts, value = list[str](), cast(object, record)
    for part in (inner.removesuffix(LIST) for inner in path):
        if value is None:
            return f"field {'.'.join(parts)!r} is null, so there is no {name!r}"
        if isinstance(value, list):
            parts[-1] += LIST
            value = next((e for e in value if isinstance(e, dict) and part in e), None)
        if not isinstance(value, dict) or part not in value:
            return ""
        parts.append(part)
        value = value[part]
    shown = ".".join(parts)
    return f"no field {name!r}: in a list it is {shown!r}" if LIST in shown else ""


def _without(record: Record, path: Path) -> Record:
    """The record without a field, which may be in an object; drops an object that gets empty."""
    name, inner = path[0], path[1:]
    is_list = name not in record
    if is_list:
        name = name.removesuffix(LIST)
    value, left = record.get(name), cast(object, None)
    if inner and isinstance(value, dict):
        left = _without(value, inner)
    elif inner and is_list and isinstance(value, list):
        elements = [_without(each, inner) if isinstance(each, dict) else each for each in value]
        left = elements if any(elements) else None
    elif inner:
        return record
    return {n: left if n == name else v for n, v in record.items() if left or n != name}


def longer_than(largest: int) -> str:
    """Why a line or row is refused for its length."""
    return f"longer than {largest:,} bytes, the limit"


def set_of(content: object, name: str, of_sets: OfSets = True) -> Content:
    """The elements of an array, or the counts of an object, or of a string that holds one as JSON.

    Raises:
        InputError: it is not one of strings and integers; the message uses `name` for it.
    """
    if isinstance(content, str):
        try:
            content = json_text.loads(json_text.repaired(content))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name} is a string that is not a JSON array") from error
    if isinstance(content, dict) and of_sets == "bag":
        return content
    if not isinstance(content, list):
        raise InputError(f"{name} is {kind_of(content)}, not an array")
    if not set(map(type, content)) <= {str, int}:
        index, strange = next(
            (index, e) for index, e in enumerate(content, 1) if type(e) not in (str, int)
        )
        raise InputError(
            f"element {index} of {name} is {kind_of(strange)}, not a string or integer"
        )
    return content


def json_reason(error: ValueError | RecursionError) -> str:
    """Why a text, perhaps with the end of its line, is not JSON."""
    if isinstance(error, json.JSONDecodeError):
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        end = len(error.doc) - error.doc.endswith("\n")
        return f"{reason} at character {min(error.pos, end) + 1}"
    if isinstance(error, RecursionError):
        return json_text.TOO_DEEP
    return "a number with too many digits"


def kind_of(value: object) -> str:
    """The type of a value, in JSON's words if JSON has it."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a decimal number", str: "a string"}
    kinds |= {list: "an array", dict: "an object"}
    return kinds.get(type(value)) or f"of type {type(value).__name__}"
