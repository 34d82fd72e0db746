"""The SQL that changes runs.sql, the part of a file that the app has."""

from lshdb.store import statements

WRITES = {"runs": (statements.INSERT_RUN,)}
"""The statements that change the tables of a part."""
