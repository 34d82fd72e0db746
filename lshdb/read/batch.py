"""Documents in columns, and the rows that they are from: what all readers give.

The rows stay in the process that reads; the columns may go to another one, to be signed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from lshdb import model
from lshdb.read.metadata import from_json
from lshdb.store.rows import FileState
from lshdb.text.shingling import Content

RowPlace = tuple[str | None, int | None]
"""The file that a row or document is from, and its number there; None where there is none."""
Record = dict[str, Any]


@dataclass(frozen=True)
class TableSchema:
    """The head of a table: columns, schema, format.

    Attributes:
        columns: the names of the columns.
        schema: a pyarrow.Schema, of Parquet and Arrow, with the metadata; None for CSV.
        heading: of CSV, all up to the row that names the columns, with its newline: blank lines, a
            byte order mark, a line that names the delimiter.
        delimiter: of CSV, between fields.
        escape: of CSV, before a quote within a field; None if quotes are doubled alone.
        quoting: of CSV, which fields are quoted: `csv`, `none`, or `tab` for the rule of TSV.
        has_heading: whether CSV names the columns.
        compression: of Parquet, that of the first column, in the words of pyarrow.
        replaces_dictionaries: whether batches may have dictionaries of their own, as in Parquet
            and streams of Arrow.
        later: columns that not all tables of these rows have.
    """

    columns: tuple[str, ...]
    schema: Any = None
    heading: bytes = b""
    delimiter: str = ""
    escape: str | None = None
    quoting: Literal["csv", "none", "tab"] = "csv"
    has_heading: bool = True
    compression: str = "snappy"
    replaces_dictionaries: bool = True
    later: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Origin:
    """Where rows are from.

    Attributes:
        name: the file's or table's, as printed.
        numbers: of all rows, from 1: of a line, for CSV of its first one, or of a row.
        rows: the rows as they were read, if they are wanted: of JSON and CSV each as its bytes with
            the newline, which the last one of a file may lack; of Arrow a pyarrow.RecordBatch with
            all columns.
        in_file: whether they are from a file.
        schema: of rows that are wanted, the head of their table; None for JSON, which has none.
    """

    name: str
    numbers: Sequence[int]
    rows: Any = None
    in_file: bool = True
    schema: TableSchema | None = None

    def where(self, index: int) -> str:
        """The name of a row in messages."""
        return f"{self.name}:{self.numbers[index]}"


@dataclass(frozen=True, slots=True)
class Category:
    """A value of ordered categories, such as those of pandas and Polars' Enum."""

    code: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return self.names[self.code]


@dataclass(frozen=True)
class Batch:
    """n documents.

    Attributes:
        keys: their keys, repeated as they are.
        contents: of each, cleaned (see lshdb.text.content).
        metadata: of each, as stored; empty if none has any.
        origin: where the rows are from; None for text files and documents of a program.
        indices: of each document's row among those of the origin, ascending.
        states: of the documents that are text files, the keys, and the states before reading.
        failures: of rows that give no document, with their indices; or of a whole file.
        unread: the keys of documents that are there and failed, of a file whose others did not.
        replaced: how many have bytes or code units that are not Unicode, replaced by U+FFFD.
        unkeyed: how many have their place for a key, as their id gives none.
        size: about their bytes in memory.
        wheres: where each document is from, if the others do not say so.
        order_values: of each, the value of the field that orders documents; empty if none does.
    """

    keys: Sequence[str] = ()
    contents: Sequence[Content] = ()
    metadata: Sequence[str | None] = ()
    origin: Origin | None = None
    indices: Sequence[int] = ()
    states: Sequence[tuple[str, FileState]] = ()
    failures: Sequence[tuple[int, model.Failure]] = ()
    unread: Sequence[str] = ()
    replaced: int = 0
    unkeyed: int = 0
    size: int = 0
    wheres: Sequence[RowPlace] = ()
    order_values: Sequence[object] = ()

    @property
    def count(self) -> int:
        """How many rows or text files there are."""
        return len(self.keys) if self.origin is None else len(self.origin.numbers)

    def where(self) -> Sequence[RowPlace]:
        """Where each document is from."""
        if self.wheres:
            return self.wheres
        if self.origin is None:
            files = {key for key, _ in self.states}
            return [(key if key in files else None, None) for key in self.keys]
        name, numbers = self.origin.name if self.origin.in_file else None, self.origin.numbers
        return [(name, numbers[index]) for index in self.indices]

    @property
    def files(self) -> dict[int, str | None]:
        """By the indices of documents that are files, what says that their bytes are the same.

        See `FileState.bytes_digest`; None where it is not known.
        """
        if not self.states:
            return {}
        states = dict(self.states)
        known = enumerate(map(states.get, self.keys))
        return {index: state.bytes_digest for index, state in known if state is not None}

    def all_metadata(self) -> Sequence[str | None]:
        """The metadata of each document."""
        return self.metadata or [None] * len(self.keys)

    @classmethod
    def joined(cls, batches: Sequence["Batch"]) -> "Batch":
        """The documents of some batches, with the sums of their counts, without their rows."""
        flat = chain.from_iterable
        metadata = [*flat(batch.all_metadata() for batch in batches)]
        return cls(
            [*flat(batch.keys for batch in batches)],
            [*flat(batch.contents for batch in batches)],
            metadata if any(metadata) else (),
            states=[*flat(batch.states for batch in batches)],
            failures=[*flat(batch.failures for batch in batches)],
            replaced=sum(batch.replaced for batch in batches),
            size=sum(batch.size for batch in batches),
            wheres=[*flat(batch.where() for batch in batches)],
        )

    def items(self) -> Iterator[model.Document | model.Failure]:
        """The documents and failures, one by one, in the order of the rows."""
        waiting = list(reversed(self.failures))
        indices = self.indices or range(len(self.keys))
        rows = zip(indices, self.keys, self.contents, self.all_metadata(), strict=True)
        for index, key, content, metadata in rows:
            while waiting and waiting[-1][0] < index:
                yield waiting.pop()[1]
            yield model.Document(key, content, from_json(metadata))
        yield from (failure for _, failure in reversed(waiting))
