"""Values of SQLite, checked for their types.

A file with damage that SQLite cannot see gives values of another type, or NULL: NumPy would turn
some of them into numbers, and Python into the word None. They are refused here.
"""

import dataclasses
import json
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

import numpy as np

from lshdb.errors import DamagedFile, OtherFormat
from lshdb.options import SqlValue
from lshdb.sketch.constructions import Construction
from lshdb.sketch.settings import Settings
from lshdb.store import statements as sql
from lshdb.store.sqlite_errors import RESTORE
from lshdb.text import arrays, content, shingling

_T = TypeVar("_T")
_types: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


@dataclasses.dataclass(frozen=True, slots=True)
class FileState:
    """The state of a file when it was read; size and time show whether it has changed since.

    Attributes:
        size: in bytes.
        mtime_ns: the last change, in nanoseconds since 1970; None if that is so recent that the
            file may change again at the same time.
        extracted: what took the text out of a file of another kind, as JSON, with the digest of a
            `message` of a mailbox in hexadecimal; None for a text.
        ctime_ns: the last change of its content, name or mode, in nanoseconds since 1970.
        device, inode: which file it was, as signed integers of 64 bits.
        digest: BLAKE2b, 16 bytes, of its bytes, or of those of a member of an archive.

    The last four are None where they are not known.
    """

    size: int
    mtime_ns: int | None
    extracted: str | None = dataclasses.field(default=None, compare=False)
    ctime_ns: int | None = dataclasses.field(default=None, compare=False)
    device: int | None = dataclasses.field(default=None, compare=False)
    inode: int | None = dataclasses.field(default=None, compare=False)
    digest: bytes | None = dataclasses.field(default=None, compare=False)

    @property
    def bytes_digest(self) -> str | None:
        """The digest of what makes the document identical to others, as of IDENTITIES."""
        message: str | None = json.loads(self.extracted or "{}").get("message")
        return message or (None if self.digest is None else self.digest.hex())


def checked(value: SqlValue, kind: type[_T]) -> _T:
    """The value, which is of this type in every whole file."""
    if not isinstance(value, kind):
        raise _other(kind, value)
    return value


def typed(row: Sequence[SqlValue], *kinds: Any) -> tuple[Any, ...]:
    """A row whose values are of these types, or of one of several as `str | None`."""
    if not all(map(isinstance, row, kinds)):
        pairs = zip(row, kinds, strict=True)
        value, kind = next((v, k) for v, k in pairs if not isinstance(v, k))
        raise _other(kind, value)
    return tuple(row)


def typed_column(values: Sequence[SqlValue], *kinds: type) -> Any:
    """A column whose values are of these types: a check of all at once."""
    if not set(map(type, values)) <= set(kinds):
        raise _other(kinds[0], next(value for value in values if type(value) not in kinds))
    return values


def record(kind: type[_T], row: Sequence[SqlValue]) -> _T:
    """A row as an object of a class whose attributes are its columns, and have their types."""
    return kind(*typed(row, *_types(kind).values()))


def integers(rows: Iterable[tuple[SqlValue, ...]]) -> arrays.IntArray:
    """The values of rows, row by row, int64[any]; all must be integers."""
    try:
        # Nearly as fast as np.fromiter, which would cut floats to integers.
        values = array("q", cast(Iterable[int], chain.from_iterable(rows)))
    except TypeError as error:
        raise DamagedFile(f"expected integers in the file: {error}; {RESTORE}") from error
    return np.frombuffer(values, dtype=np.int64) if values else arrays.NO_NUMBERS


def _other(expected: Any, value: SqlValue) -> DamagedFile:
    return DamagedFile(
        f"expected {getattr(expected, '__name__', expected)} in the file, found "
        f"{type(value).__name__}; {RESTORE}"
    )


class FileSettings(NamedTuple):
    """What a file says of itself.

    Attributes:
        settings: the settings.
        parts: the names of the parts whose tables the file has (see lshdb.store.schema).
        indexed_to, indexed_bucket: which band rows are written, see schema.sql; None for all.
        root: the directory that keys of files are relative to, from that of the file.
    """

    settings: Settings
    parts: frozenset[str]
    indexed_to: int | None
    indexed_bucket: int | None
    root: str | None


def lanes_of(packed: bytes | bytearray, settings: Settings) -> arrays.Lanes:
    """Signatures as a file has them, one after another, as lanes [n, k]."""
    lanes = np.frombuffer(packed, dtype=settings.lane_type.newbyteorder("<"))
    return lanes.reshape(-1, settings.permutations).astype(settings.lane_type, copy=False)


def settings_of(
    path: Path, settings_rows: Sequence[Sequence[Any]], base_rows: Iterable[Sequence[Any]]
) -> FileSettings:
    """The settings in the row of SELECT_SETTINGS, and rows of BASE_TEXTS; texts may be bytes.

    Raises:
        DamagedFile: it is missing or invalid.
        OtherFormat: the file uses what its format reserves for later versions of lshdb.
    """
    try:
        values: list[Any] = [
            value.decode() if isinstance(value, bytes) else value
            for row in settings_rows[:1]
            for value in row
        ]
        threshold, recall, shingle, lanes, construction, sketch, seed, content, *others = values
        passages, lane_bits, parts, _, later, *state = others
        if later:
            raise OtherFormat(f"{path} uses what this lshdb does not know: upgrade lshdb")
        texts, in_file = tuple(map(_base_text, base_rows)), json.loads(parts)
        settings = Settings(
            threshold,
            recall,
            dataclasses.replace(shingling.Shingling.parse(shingle), base=texts),
            lanes,
            Construction.parse(construction),
            sketch,
            seed,
            bool(content),
            passages,
            "rare_words" in in_file,
            lane_bits,
            "record_shingles" in in_file,
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise DamagedFile(f"{path} has invalid settings: {error}") from error
    kinds = int | None, int | None, str | None
    return FileSettings(settings, frozenset(in_file), *typed(state, *kinds))


def _base_text(row: Sequence[Any]) -> tuple[str, str]:
    """The name and the text of a row of BASE_TEXTS."""
    name, digest, text = (v.encode() if isinstance(v, str) else v for v in row)
    if content.digest(text) != digest:
        raise ValueError("a base text differs from its digest")
    return name.decode(), text.decode()


def write_settings(connection: sqlite3.Connection, settings: Settings) -> None:
    """Write all settings of a file, within the caller's transaction."""
    values = (
        settings.threshold,
        settings.recall,
        str(settings.shingling),
        settings.permutations,
        str(settings.construction),
        settings.sketch,
        settings.seed,
        int(settings.content),
        settings.passages,
        settings.lane_bits,
    )
    connection.execute(sql.WRITE_SETTINGS, values)
    connection.execute(sql.CLEAR_BASE)
    for name, text in settings.shingling.base:
        connection.execute(sql.INSERT_BASE, (name, content.digest(text.encode()), text))
