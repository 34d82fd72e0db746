"""A user's condition on documents: one SQL expression, evaluated for some of them.

The expression goes between parentheses into a statement of lshdb's, so it must not close them or
end the statement: such text is refused first. The rest can be wrong or slow, but it is one
expression. It runs like `lshdb sql`, on a connection that can only read, and in the transaction of
the query that it belongs to.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from lshdb.errors import QueryError
from lshdb.json_text import dumps
from lshdb.store.guard import Connection
from lshdb.store.readonly_sql import WRONG, explained
from lshdb.store.rows import Parameters

# The only statement with a user's text in it. In a subquery, json_each has no columns that the text
# could name by mistake; candidates come from a function, as all parameters are the user's.
_MATCHING: Final = """
    SELECT doc_id FROM documents
    WHERE doc_id IN (SELECT value FROM json_each(lshdb_candidates())) AND (
{expression}
)"""
_AT_ONCE: Final = 10_000
_COLUMNS: Final = "doc_id, key, shingles, digest, metadata and content"
_TOKEN: Final = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\]
    | (?P<variable>[$@\#:][^\s()'"`\[]*\()
    | (?P<quote>['"`\[]) | (?P<comment>--|/\*) | (?P<other>[();\0])""",
    re.VERBOSE,
)
"""Tokens that could end an expression, as SQLite's tokenizer sees them, and tokens that hide these.

A variable may have anything in parentheses directly after its name, as in Tcl.
"""


class Condition:
    """Finds the documents that match an expression."""

    def __init__(
        self, connection: Connection, path: Path, expression: str, parameters: Parameters
    ) -> None:
        """Prepare to evaluate it on a sealed connection.

        Raises:
            QueryError: it is not one expression, or would do more than read.
        """
        check_expression(expression)
        self._path = path
        self._parameters = parameters
        self._statement = _MATCHING.format(expression=expression)
        self._candidates = "[]"
        self._connection = connection
        connection.create_function("lshdb_candidates", 0, lambda: self._candidates)
        self.matching(np.empty(0, dtype=np.int64))

    def matching(self, doc_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of the documents int64[n] match, bool[n]; QueryError if it fails."""
        true = [np.empty(0, dtype=np.int64)]
        # At least once: that shows errors in it.
        for start in range(0, max(1, len(doc_ids)), _AT_ONCE):
            self._candidates = dumps(doc_ids[start : start + _AT_ONCE].tolist())
            rows = self._rows()
            true.append(np.array([doc_id for (doc_id,) in rows], dtype=np.int64))
        found: npt.NDArray[np.bool_] = np.isin(doc_ids, np.concatenate(true))
        return found

    def _rows(self) -> list[tuple[int]]:
        try:
            return self._connection.execute(self._statement, self._parameters).fetchall()
        except WRONG as error:
            raise QueryError(f"where: {error}") from error
        except sqlite3.Error as error:
            raised = explained(error, self._path)
            if isinstance(raised, QueryError):
                raised = QueryError(f"where: {error}; the columns are {_COLUMNS}")
            raise raised from error


def check_expression(text: str) -> None:
    """QueryError for a text that would end lshdb's own parenthesis, or its statement.

    Raises:
        QueryError: it is blank, has a semicolon, comment or NUL outside of quotes, an open quote,
            or parentheses that do not match.
    """
    if not text.strip():
        raise QueryError("where: an expression is needed, such as key = 'a'")
    depth = 0
    for match in _TOKEN.finditer(text):
        if match["quote"]:
            raise QueryError(f"where: a quote {match['quote']} is not closed")
        if match["variable"]:
            raise QueryError("where: a parameter followed by a parenthesis")
        if match["comment"]:
            raise QueryError("where: a comment, which an expression may not have")
        if match["other"] in (";", "\0"):
            raise QueryError("where: one expression, without semicolons")
        depth += {"(": 1, ")": -1}.get(match["other"] or "", 0)
        if depth < 0:
            break
    if depth:
        raise QueryError("where: parentheses do not match")
