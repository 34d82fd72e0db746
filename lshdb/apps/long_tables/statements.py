"""The SQL of the temporary file in which the elements of sets wait."""

GROUPING_TABLE = """
CREATE TABLE elements (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, element TEXT NOT NULL
) STRICT
"""
GROUPING_ADD = "INSERT INTO elements (key, element) VALUES (?, ?)"
GROUPING_SETS = """
    SELECT key, json_group_array(element)
    FROM elements GROUP BY key ORDER BY min(number)"""
