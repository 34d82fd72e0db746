"""Dropped rows, and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from lshdb.apps.passages.model import CopiedPassage
from lshdb.columns import Columns, columns_of
from lshdb.results import Result
from lshdb.search.result_tables import Tabular, with_fields


@dataclass(frozen=True, slots=True)
class DroppedRow(Result):
    """A row or document that is dropped, and the kept one that is most similar to it.

    Attributes:
        key: its key; `row:NUMBER` or FILE:NUMBER, from 1, for a row without one.
        file: the file that it is from; None for rows of a table and documents of a program.
        line: its line in the file, or its row in the table, from 1; for CSV its first line; None
            for a text file and a document of a program.
        kept: the key of the kept row or document.
        kept_file, kept_line: file and line of the kept row, if it is of the same run or of a
            reference that is not a database; None for a document that was stored before.
        similarity: the similarity of the two, exact or estimated, in [0, 1]; by the rule
            `copied`, the share of the dropped document's words in passages of the kept one.
        exact: whether `similarity` is exact.
        identical, same_text: whether both have the same bytes, and text, as for Match.
        reference: the name of the reference (`against`) that has the kept document; None if it was
            kept by this run.
        metadata, kept_metadata: the requested fields of each, as for Match.
        passage: by the rule `copied`, the longest passage that it copies from the kept document.
        references: with `all_references`, the keys of the documents of references that it matches,
            the most similar first: at most ten, then how many more; else None.
    """

    key: str
    file: str | None
    line: int | None
    kept: str
    kept_file: str | None
    kept_line: int | None
    similarity: float
    exact: bool
    identical: bool = False
    same_text: bool = False
    reference: str | None = None
    metadata: dict[str, Any] | None = field(default=None, repr=False, hash=False)
    kept_metadata: dict[str, Any] | None = field(default=None, repr=False, hash=False)
    passage: CopiedPassage | None = None
    references: tuple[str, ...] | None = None


DROPPED: Columns = columns_of(DroppedRow, "passage", "references")
REFERENCES: Columns = {"references": list}
"""The column of all documents of references that a row matches, if it is wanted."""
_COPIED_FIELDS = {
    "start": "start",
    "end": "end",
    "kept_start": "stored_start",
    "kept_end": "stored_end",
    "words": "words",
    "text": "text",
}
COPIED: Columns = {name: columns_of(CopiedPassage)[field] for name, field in _COPIED_FIELDS.items()}
"""Columns of the longest passage for which a row is dropped: its positions in both rows, its number
of words, its text."""
copied_values = attrgetter(*_COPIED_FIELDS.values())
"""Gives the values of a passage for the columns of `COPIED`."""
_dropped = attrgetter(*DROPPED)


def dropped_columns(
    fields: Iterable[str], *, copied: bool = False, references: bool = False
) -> dict[str, type]:
    """`DROPPED` with columns for fields of the dropped row, NAME, and of the kept row, kept.NAME.

    Rows that are dropped because of copied passages have the columns of `COPIED` too, and those
    with all references that they match the column of `REFERENCES`.
    """
    others = {**(REFERENCES if references else {}), **(COPIED if copied else {})}
    return with_fields({**DROPPED, **others}, fields, "", "kept.")


def dropped_row(
    row: DroppedRow, *, copied: bool = False, references: bool = False
) -> tuple[Any, ...]:
    """The values of `dropped_columns`."""
    metadata, kept_metadata = row.metadata or {}, row.kept_metadata or {}
    passage: tuple[Any, ...] = ()
    if copied:
        passage = (None,) * len(COPIED) if row.passage is None else copied_values(row.passage)
    matching = (row.references and [*row.references],) if references else ()
    return *_dropped(row), *matching, *passage, *metadata.values(), *kept_metadata.values()


class Dropped(Tabular, list[DroppedRow]):
    """Dropped rows: a list, and a table without their metadata and passages."""

    columns = dict.fromkeys(DROPPED, object)

    def rows(self) -> Iterator[Sequence[Any]]:
        """The rows of the table: a value per column for each dropped row."""
        return map(_dropped, self)
