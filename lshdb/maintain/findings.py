"""What `check` finds in a file."""

from dataclasses import dataclass

from lshdb.results import Result


@dataclass(frozen=True, slots=True)
class Problem(Result):
    """Something in a file that is not as it should be.

    Attributes:
        table: the table, and its column unless whole rows are wrong: `documents.digest`; `file` for
            what SQLite finds, and `unchecked` for what could not be checked.
        key: the key of the document, unescaped (so escape it on output), or another name of the
            row; empty for a whole table.
        stored: what is stored, in words or as the beginning of a value; also unescaped.
        expected: what it should be, likewise.
    """

    table: str
    key: str
    stored: str
    expected: str


@dataclass(frozen=True, slots=True)
class CheckReport(Result):
    """The result of a check.

    Attributes:
        documents: how many documents were examined.
        bands: how many band rows.
        deep: whether contents were shingled and signed again.
        problems: the first five of each table and column; () for a whole file.
        counts: the number of all problems, by their `table`.
        repairs: how many rows, documents or definitions were repaired, by table.
        remaining: the counts that are left after repair; all of them without repair.
    """

    documents: int
    bands: int
    deep: bool
    problems: tuple[Problem, ...]
    counts: dict[str, int]
    repairs: dict[str, int]
    remaining: dict[str, int]

    @property
    def ok(self) -> bool:
        """Whether no problems remain."""
        return not self.remaining
