"""The SQL that changes decisions.sql, the part of a file that the app has."""

from lshdb.store import statements

WRITES = {"decisions": (statements.INSERT_DECISION, statements.DELETE_DECISION)}
"""The statements that change the tables of a part."""
