"""The problems that `check` finds in a file, and the repairs of `--repair`."""

from dataclasses import dataclass
from types import MappingProxyType

from lshdb.results import Result

PROBLEMS = MappingProxyType[str, str](
    {
        "damaged": "SQLite finds the file damaged",
        "schema": "tables, indexes or views that differ from lshdb's, or triggers that would run",
        "foreign-key": "rows that refer to missing rows",
        "settings": "invalid settings",
        "doc-id": "documents with numbers below 1",
        "key": "keys that are empty, hold NUL or are not UTF-8",
        "content": "contents that are not in the form in which lshdb stores them",
        "content-missing": "documents whose content is missing",
        "metadata": "metadata that is not a JSON object",
        "digest": "contents and digests that contradict each other: one of them was changed",
        "shingles": "numbers of shingles that are not those of the content",
        "signature": "signatures that are not those of the document",
        "signature-missing": "documents with shingles and without a signature",
        "signature-orphan": "signatures without a document",
        "band-wrong": "a table of bands whose rows are not those of the signatures",
        "fingerprint-wrong": "a table of fingerprints whose rows are not those of the contents",
        "rare-words-wrong": "an index of rare words that is not that of the contents",
        "decision": "decisions without a document, or of one only that is different",
        "not-checked": "what could not be checked because of other problems",
    }
)
"""Each kind of problem, in words."""
REPAIRS = MappingProxyType[str, str](
    {
        "schema-made": "tables, indexes and views made",
        "documents-derived": "documents derived from their content again",
        "signatures-removed": "signatures without a document removed",
        "bands-repaired": "rows of bands added or removed",
        "bands-rebuilt": "rows of bands rebuilt from signatures",
        "fingerprints-repaired": "rows of fingerprints added or removed",
        "fingerprints-rebuilt": "rows of fingerprints rebuilt from contents",
        "rare-words-rebuilt": "documents whose rare words were indexed again",
    }
)
"""Each kind of repair, in words."""


@dataclass(frozen=True, slots=True)
class Problem(Result):
    """The problems of one kind.

    Attributes:
        kind: see PROBLEMS.
        count: the number of rows, documents or other parts with the problem.
        examples: some of them: the keys of documents, unescaped (so escape them on output), or
            other words that say where they are.
    """

    kind: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair(Result):
    """The repairs of one kind (see REPAIRS), and the number of repaired rows or other parts."""

    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class CheckReport(Result):
    """The result of a check.

    Attributes:
        documents: how many documents were examined.
        bands: how many band rows.
        deep: whether contents were shingled and signed again.
        problems: all problems; () for a whole file.
        repairs: the repairs that were made.
        remaining: the problems that are left after repair; all of them without repair.
    """

    documents: int
    bands: int
    deep: bool
    problems: tuple[Problem, ...]
    repairs: tuple[Repair, ...]
    remaining: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether no problems remain."""
        return not self.remaining
