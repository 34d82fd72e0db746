"""The rows of decisions in a file. It has their table from the first one on."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from lshdb.apps.review import statements as sql
from lshdb.maintain.findings import Problem
from lshdb.model import Verdict
from lshdb.options import SqlValue
from lshdb.store.guard import Connection
from lshdb.store.lookups import StoreReader
from lshdb.store.rows import typed
from lshdb.store.store import Store
from lshdb.text.content import digest

PART = "decisions"
"""The part of a file that has them."""


@dataclass(frozen=True)
class DecisionRow:
    """A decision about one document.

    `present` is the digest of the document of its key now, and `holds` whether it has, or its file,
    that of the decision: None if there is none. `spent` is 1 if the file that was to go is gone.
    """

    decision: int
    verdict: str
    key: str
    digest: bytes
    file_digest: bytes | None
    note: str | None
    who: str
    decided: str
    spent: int | None
    present: bytes | None
    holds: int | None

    @property
    def document(self) -> tuple[str, bytes]:
        """The key, and the digest of the text: the present one if this is about that document."""
        return self.key, self.present if self.present and self.holds else self.digest


def decision_rows(reader: StoreReader) -> list[DecisionRow]:
    """All decisions in order, the rows of each by key."""
    return reader.records(DecisionRow, sql.DECISIONS) if PART in reader.parts else []


def decided(reader: StoreReader) -> list[tuple[int, Verdict, int, str]]:
    """The decisions about the documents of their keys as they are now, the earliest first.

    Returns:
        The number of each decision, its verdict, a doc_id and its key.
    """
    rows = reader.rows(sql.DECIDED) if PART in reader.parts else []
    return [cast(Any, typed(row, int, str, int, str)) for row in rows]


def different_texts(reader: StoreReader) -> list[tuple[int, bytes, int, str]]:
    """The documents whose texts, or files, were marked different, under any key.

    Returns:
        The number of the decision, the digest of the text in it, the doc_id and the key.
    """
    if PART not in reader.parts:
        return []
    marks: defaultdict[bytes, set[tuple[int, bytes]]] = defaultdict(set)
    empty = digest(b"")
    rows = reader.rows(sql.DIFFERENT, empty)
    for decision, text, file_digest in (typed(row, int, bytes, bytes | None) for row in rows):
        for value in filter(None, (text, file_digest)):
            marks[value].add((decision, text))
    rows = reader.rows(sql.WITH_DIFFERENT, empty) if marks else []
    texts = {
        (decision, text, doc_id, key)
        for value, doc_id, key in (typed(row, bytes, int, str) for row in rows)
        for decision, text in marks[value]
    }
    return sorted(texts)


# writing; the caller holds a transaction


def last_decision(store: Store) -> int:
    """The largest number of a decision, 0 if there is none."""
    return store.last(sql.LAST_DECISION, "decision") if PART in store.parts else 0


def insert(store: Store, rows: Iterable[Sequence[SqlValue]]) -> None:
    """Insert rows of decisions: all columns but `spent`."""
    store.make_part(PART)
    store.run_many(sql.INSERT_DECISION, rows)


def delete(store: Store, decision: int) -> None:
    """Delete the rows of a decision."""
    store.run_many(sql.DELETE_DECISION, [(decision,)])


def move(store: Store, keys: Iterable[tuple[int, str]]) -> None:
    """Give decisions about documents, which still have their keys, the new ones."""
    if PART in store.parts:
        store.run_many(sql.MOVE_DECISIONS, keys)


def spend_drops(store: Store, keys: Iterable[str]) -> None:
    """Note that the files of these keys that were decided to be dropped are gone."""
    if PART in store.parts:
        store.run_many(sql.SPEND_DROPS, zip(keys))


def problems(connection: Connection) -> Iterator[Problem]:
    """The decisions that are invalid, as `check` lists them; see lshdb.offers.CHECKS."""
    for number, texts, is_wrong in connection.rows(sql.JUDGED_DECISIONS):
        try:
            is_wrong = is_wrong or not isinstance(texts, str) or not texts.encode()
        except UnicodeEncodeError:  # of a text that is not UTF-8
            is_wrong = True
        if is_wrong:
            yield Problem(PART, str(number), "rows that disagree", "a decision")
