"""Which documents match an expression about a document.

SQLite itself decides whether a text is one expression: it must accept the text in two statements,
between parentheses and between the words of a CASE. A text that ends one of them early is a syntax
error in the other.
"""

import numpy as np

from lshdb.apps.conditions import statements
from lshdb.errors import QueryError
from lshdb.json_text import dumps
from lshdb.options import Parameters, SqlValue
from lshdb.store.guard import Connection
from lshdb.store.readonly_sql import DocumentFilter, user_errors
from lshdb.store.rows import integers
from lshdb.text import arrays

_BLOCK = 10_000
_HINT = "; the columns are doc_id, key, shingles, digest, metadata and content"


def condition(connection: Connection, expression: str, parameters: Parameters) -> DocumentFilter:
    """A function that finds the documents that match an expression.

    Args:
        connection: a sealed connection.
        expression: SQL about a document.
        parameters: the values for its parameters.

    Returns:
        A function of doc_ids int64[n] that returns True for each match, bool[n]; it raises
        QueryError if the expression fails.

    Raises:
        QueryError: the text is not one expression, or would do more than read.
    """
    if not expression.strip():
        raise QueryError("where: an expression is needed, such as key = 'a'")
    statement = statements.MATCHING.format(expression=expression)
    candidates = "[]"
    connection.create_function("lshdb_candidates", 0, lambda: candidates)

    def run(statement: str) -> list[tuple[SqlValue, ...]]:
        with user_errors(connection, "where", _HINT):
            return connection.execute(statement, parameters).fetchall()

    def matching(doc_ids: arrays.IntArray) -> arrays.Mask:
        nonlocal candidates
        true = [arrays.NO_NUMBERS]
        for part in arrays.chunks(len(doc_ids), _BLOCK):
            candidates = dumps(doc_ids[part].tolist())
            true.append(integers(run(statement)))
        matches: arrays.Mask = np.isin(doc_ids, np.concatenate(true))
        return matches

    run(statement)
    run(statements.ALONE.format(expression=expression))
    return matching
