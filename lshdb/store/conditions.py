"""A user's condition on documents: one SQL expression, evaluated for some of them.

SQLite itself decides whether a text is one expression: it must take it in two statements, between
parentheses and between the words of a CASE. What ends the one early is a syntax error in the other.
It runs like `lshdb sql`, on a connection that can only read, and in the transaction of the query
that it belongs to.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lshdb.errors import QueryError
from lshdb.json_text import dumps
from lshdb.options import Parameters, SqlValue
from lshdb.shingling.arrays import IntArray, chunks
from lshdb.store import guard, readonly_sql, rows

# The only statements with a user's text in them. In a subquery, json_each has no columns that the
# text could name by mistake; candidates come from a function, as all parameters are the user's.
_MATCHING = """
    SELECT doc_id FROM documents
    WHERE doc_id IN (SELECT value FROM json_each(lshdb_candidates())) AND (
{expression}
)"""
_ALONE = """
    EXPLAIN SELECT CASE WHEN
{expression}
    THEN 1 END FROM documents"""
_AT_ONCE = 10_000
_COLUMNS = "doc_id, key, shingles, digest, metadata and content"


@dataclass(eq=False)
class Condition:
    """Finds the documents that match an expression.

    Attributes:
        connection: a sealed one.
        path: of the file, for messages.
        expression: SQL about a document.
        parameters: the values for its parameters.

    Raises:
        QueryError: it is not one expression, or would do more than read.
    """

    connection: guard.Connection
    path: Path
    expression: str
    parameters: Parameters

    def __post_init__(self) -> None:
        if not self.expression.strip():
            raise QueryError("where: an expression is needed, such as key = 'a'")
        self._statement = _MATCHING.format(expression=self.expression)
        self._candidates = "[]"
        self.connection.create_function("lshdb_candidates", 0, lambda: self._candidates)
        self._rows(self._statement)
        self._rows(_ALONE.format(expression=self.expression))

    def matching(self, doc_ids: IntArray) -> npt.NDArray[np.bool_]:
        """Which of the documents int64[n] match, bool[n]; QueryError if it fails."""
        true = [np.empty(0, dtype=np.int64)]
        for part in chunks(len(doc_ids), _AT_ONCE):
            self._candidates = dumps(doc_ids[part].tolist())
            true.append(rows.integers(self._rows(self._statement)))
        found: npt.NDArray[np.bool_] = np.isin(doc_ids, np.concatenate(true))
        return found

    def _rows(self, statement: str) -> list[tuple[SqlValue, ...]]:
        with readonly_sql.user_errors(self.path, "where", f"; the columns are {_COLUMNS}"):
            return self.connection.execute(statement, self.parameters).fetchall()
