"""The SQL of runs.sql, the part of a file that the app has, and of its temporary file."""

HAS_RUN = "SELECT 1 FROM main.runs WHERE digest = ?"
INSERT_RUN = "INSERT OR IGNORE INTO runs VALUES (?)"
WRITES = {"runs": (INSERT_RUN,)}
"""The statements that change the tables of a part."""

# Of the temporary file of documents that wait for their turn (spool).
SPOOL_TABLES = """
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, place INTEGER NOT NULL, rank ANY,
    content TEXT NOT NULL, metadata TEXT, file TEXT, line INTEGER, size INTEGER,
    mtime_ns INTEGER, extracted TEXT, ctime_ns INTEGER, device INTEGER, inode INTEGER,
    file_digest BLOB
) STRICT;
CREATE TABLE dropped (number INTEGER PRIMARY KEY, reason TEXT NOT NULL) STRICT;
"""
SPOOL_ADD = "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
SPOOL_DROP = "INSERT OR IGNORE INTO dropped VALUES (?, ?)"
SPOOL_UP = "CREATE INDEX in_order ON documents (place, rank)"
SPOOL_DOWN = "CREATE INDEX in_order ON documents (place, rank DESC)"
_SPOOL = """SELECT number, documents.key, content, metadata, file, line,
    size, mtime_ns, extracted, ctime_ns, device, inode, file_digest FROM"""
SPOOL_ASCENDING = f"{_SPOOL} documents ORDER BY place, rank, number"
SPOOL_DESCENDING = f"{_SPOOL} documents ORDER BY place, rank DESC, number"
SPOOL_DOCUMENTS = (
    f"{_SPOOL} json_each(?) CROSS JOIN documents ON number = value ORDER BY json_each.id"
)
SPOOL_DECISIONS = """
SELECT number, key, reason FROM documents LEFT JOIN dropped USING (number)
WHERE number >= ? AND number < ? ORDER BY number
"""
