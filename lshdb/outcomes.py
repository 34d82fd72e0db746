"""What becomes of documents that are compared with those before them, and of an index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from lshdb.model import Settings

OnSimilar: TypeAlias = Literal["keep", "skip"]
"""What is done with a document that is similar to one kept before it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document that was left out, and the kept one that it resembles most.

    Attributes:
        key: its key.
        kept: the key of the kept document.
        similarity: of the two, exact or estimated, in [0, 1].
        exact: whether `similarity` is exact.
    """

    key: str
    kept: str
    similarity: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line of JSON, and whether it is kept.

    Attributes:
        key: the key of its document.
        file: the file that it is from.
        number: its number there, from 1.
        data: the line, byte by byte as it was, with its newline if it has one.
        skipped: why it is not kept; None if it is.
    """

    key: str
    file: str
    number: int
    data: bytes = field(repr=False)
    skipped: Skipped | None


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What `Database.reindex` did.

    Attributes:
        before: the settings that the index had.
        after: those that it has; the same if there was nothing to do.
        documents: how many have band rows.
        rows: how many band rows were written; 0 where those of before serve as well.
        free: bytes of the file that are free for what is added next.
    """

    before: Settings
    after: Settings
    documents: int
    rows: int
    free: int
