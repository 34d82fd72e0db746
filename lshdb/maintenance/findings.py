"""What `check` finds in a file, and what `--repair` does about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

OnProgress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and of how much (0: not known)."""
ProblemKind: TypeAlias = Literal[
    "damaged",
    "schema",
    "foreign-key",
    "settings",
    "doc-id",
    "key",
    "content",
    "content-missing",
    "metadata",
    "digest",
    "shingles",
    "signature",
    "signature-missing",
    "signature-orphan",
    "band-wrong",
    "fingerprint-wrong",
    "decision",
    "not-checked",
]
RepairKind: TypeAlias = Literal[
    "schema-made",
    "documents-derived",
    "signatures-removed",
    "bands-rebuilt",
    "fingerprints-rebuilt",
]

PROBLEMS: Final = MappingProxyType[ProblemKind, str](
    {
        "damaged": "SQLite finds the file damaged",
        "schema": "tables, indexes or views that lshdb did not make so, or triggers that would run",
        "foreign-key": "rows that refer to others that are not there",
        "settings": "invalid settings",
        "doc-id": "documents with numbers below 1",
        "key": "keys that are empty, hold NUL or are not UTF-8",
        "content": "contents that are not in the form in which lshdb stores them",
        "content-missing": "documents whose content is not there",
        "metadata": "metadata that is not a JSON object",
        "digest": "digests that are not those of the content",
        "shingles": "numbers of shingles that are not those of the content",
        "signature": "signatures that are not those of the document",
        "signature-missing": "documents with shingles and without a signature",
        "signature-orphan": "signatures without a document",
        "band-wrong": "bands whose rows are not those that the signatures make",
        "fingerprint-wrong": "fingerprints that are not those of the contents",
        "decision": "decisions that are none: of no document, or of one only that is different",
        "not-checked": "what could not be checked because of other problems",
    }
)
"""What each kind of problem is, in words."""
REPAIRS: Final = MappingProxyType[RepairKind, str](
    {
        "schema-made": "tables, indexes and views made",
        "documents-derived": "documents derived from their content again",
        "signatures-removed": "signatures without a document removed",
        "bands-rebuilt": "bands rebuilt from signatures",
        "fingerprints-rebuilt": "fingerprints rebuilt from contents",
    }
)
"""What each kind of repair is, in words."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, of one kind.

    Attributes:
        kind: see PROBLEMS.
        count: how many rows, or things, it is wrong with.
        examples: some of them: the keys of documents, as they are (so to be escaped where they
            are shown), or other words that name the place.
    """

    kind: ProblemKind
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done, of one kind (see REPAIRS), and with how many rows or things."""

    kind: RepairKind
    count: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found.

    Attributes:
        documents: how many documents were looked at.
        bands: how many band rows.
        deep: whether contents were shingled and signed again.
        problems: what was wrong; () for a whole file.
        repairs: what was done about it.
        remaining: what is wrong still; without repair, all problems.
    """

    documents: int
    bands: int
    deep: bool
    problems: tuple[Problem, ...]
    repairs: tuple[Repair, ...]
    remaining: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, or nothing is any more."""
        return not self.remaining
