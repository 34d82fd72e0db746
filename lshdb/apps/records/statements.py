"""All SQL that the app runs on its part of a file, record_shingles.sql."""

from lshdb.store.statements import BLOCK_ROWS

INSERT_SHINGLE = "INSERT OR FAIL INTO record_shingles VALUES (?, ?)"
INSERT_SHINGLES = INSERT_SHINGLE + ", (?, ?)" * (BLOCK_ROWS - 1)
DELETE_SHINGLE = "DELETE FROM record_shingles WHERE shingle = ? AND doc_id = ?"
DELETE_SHINGLES = "DELETE FROM record_shingles"
SHINGLE_ROWS = "SELECT shingle, doc_id FROM record_shingles"
ADD_COUNT = """
    INSERT INTO record_counts VALUES (?, ?)
    ON CONFLICT (shingle) DO UPDATE SET documents = documents + excluded.documents"""
DELETE_COUNTS = "DELETE FROM record_counts"
WRONG_COUNTS = """
    SELECT shingle, 0 FROM (
        SELECT shingle, documents FROM record_counts
        UNION ALL SELECT shingle, -count(*) FROM record_shingles GROUP BY shingle)
    GROUP BY shingle HAVING sum(documents)"""
COUNTS = """
    SELECT json_group_array(
        coalesce((SELECT documents FROM record_counts WHERE shingle = wanted.value), 0))
    FROM json_each(?1) AS wanted"""
# One array a shingle, as for counts: fetching a row for each document takes twice as long.
DOCUMENTS = """
    SELECT (SELECT json_group_array(doc_id) FROM record_shingles WHERE shingle = wanted.value)
    FROM json_each(?1) AS wanted"""

WRITES = {"record_shingles": (INSERT_SHINGLE, DELETE_SHINGLE, ADD_COUNT, DELETE_COUNTS)}
"""The statements that change the tables of a part."""
