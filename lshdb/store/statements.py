"""All SQL that lshdb runs besides schema.sql and pragmas: static text, values bound as parameters.

A list of values goes in as one JSON array, so that one statement, prepared once, serves any
number of them.
"""

from lshdb.offers import TABLES as _PARTS

# Twice as fast as IN, which fills a table at each run; names of others may be no UTF-8.
_IS_PART = " OR ".join(f"name = '{part}' COLLATE NOCASE" for part in _PARTS)
SELECT_SETTINGS = f"""
    SELECT threshold, recall, shingle, permutations, construction, sketch, seed, content, passages,
        lane_bits, (SELECT json_group_array(lower(name)) FROM main.sqlite_schema WHERE {_IS_PART}),
        (SELECT json_group_array(name || hex(digest)) FROM main.base_texts), tokenizer IS NOT NULL,
        indexed_to, indexed_bucket, root
    FROM settings"""
BASE_TEXTS = "SELECT name, digest, content FROM main.base_texts ORDER BY name"
CLEAR_BASE = "DELETE FROM base_texts"
INSERT_BASE = "INSERT INTO base_texts VALUES (?, ?, ?)"
WHOLE_SETTINGS = "SELECT * FROM settings"
WRITE_SETTINGS = """
    INSERT INTO settings
        (id, threshold, recall, shingle, permutations, construction, sketch, seed, content,
         passages, lane_bits)
    VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET threshold = excluded.threshold, recall = excluded.recall,
        shingle = excluded.shingle, permutations = excluded.permutations,
        construction = excluded.construction, sketch = excluded.sketch, seed = excluded.seed,
        content = excluded.content, passages = excluded.passages, lane_bits = excluded.lane_bits"""
SET_ROOT = "UPDATE settings SET root = ? WHERE id = 1"

APPLICATION_ID = "PRAGMA main.application_id"
USER_VERSION = "PRAGMA main.user_version"

# Also of documents that were removed before their band rows were written.
LAST_DOC_ID = """
    SELECT max(coalesce((SELECT max(doc_id) FROM documents), 0),
        coalesce((SELECT max(doc_id) FROM indexed), 0),
        coalesce((SELECT indexed_to FROM settings WHERE id = 1), 0))"""
SET_INDEXED = "UPDATE settings SET indexed_to = ?, indexed_bucket = ? WHERE id = 1"
NOTE_INDEXED = """
    INSERT OR IGNORE INTO indexed SELECT ?1 FROM settings WHERE id = 1 AND indexed_to < ?1"""
INDEXED = "SELECT doc_id FROM indexed ORDER BY doc_id"
DELETE_INDEXED = "DELETE FROM indexed"
COUNT_UNINDEXED = """
    SELECT count(*) FROM documents
    WHERE doc_id > (SELECT indexed_to FROM settings WHERE id = 1) AND shingles > 0
        AND doc_id NOT IN (SELECT doc_id FROM indexed)"""
# Of a private file, in which keys may be repeated.
DROP_KEYS = "DROP INDEX documents_key"
KNOWN_DOCUMENTS = """
    SELECT d.doc_id, d.key, d.digest, d.metadata
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.key = wanted.value"""
INSERT_DOCUMENT = """
    INSERT INTO documents (doc_id, key, shingles, digest, metadata, content)
    VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (doc_id) DO UPDATE SET shingles = excluded.shingles, digest = excluded.digest,
        metadata = excluded.metadata, content = excluded.content"""
UPDATE_METADATA = "UPDATE documents SET metadata = ?2 WHERE doc_id = ?1"
DELETE_DOCUMENT = "DELETE FROM documents WHERE doc_id = ?"
SET_FILE = """
    INSERT OR REPLACE INTO files
        (doc_id, size, mtime_ns, extracted, ctime_ns, device, inode, file_digest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
DELETE_FILE = "DELETE FROM files WHERE doc_id = ?"
# From the index of keys only: the rows of documents are not read.
FILES_BELOW = """
    SELECT d.doc_id, d.key, d.digest,
        f.size, f.mtime_ns, f.extracted, f.ctime_ns, f.device, f.inode, f.file_digest
    FROM documents AS d LEFT JOIN files AS f USING (doc_id)
    WHERE d.key >= ?1 AND d.key < ?2 ORDER BY d.key"""
FILES_OF = """
    SELECT d.doc_id, d.key, d.digest,
        f.size, f.mtime_ns, f.extracted, f.ctime_ns, f.device, f.inode, f.file_digest
    FROM json_each(?) AS wanted
    CROSS JOIN documents AS d ON d.doc_id = wanted.value
    LEFT JOIN files AS f USING (doc_id)"""
KEYS_OF_FILES = "SELECT doc_id, d.key FROM files JOIN documents AS d USING (doc_id)"
SET_KEY = "UPDATE documents SET key = ?2 WHERE doc_id = ?1"
INSERT_SIGNATURE = "INSERT INTO signatures (doc_id, signature) VALUES (?, ?)"
DELETE_SIGNATURE = "DELETE FROM signatures WHERE doc_id = ?"
# OR FAIL, as an error ends the transaction anyway: with the usual OR ABORT SQLite keeps a copy of
# every page that a statement of many rows touches, to undo only that statement.
INSERT_BAND = "INSERT OR FAIL INTO bands (band_no, bucket_key, doc_id) VALUES (?, ?, ?)"
BLOCK_ROWS = 200
INSERT_BANDS = INSERT_BAND + ", (?, ?, ?)" * (BLOCK_ROWS - 1)
"""Many rows, three times as fast as one by one."""
# Without WHERE: SQLite frees whole pages, without reading their rows.
DELETE_BANDS = "DELETE FROM bands"
DELETE_BAND = "DELETE FROM bands WHERE band_no = ? AND bucket_key = ? AND doc_id = ?"
DROP_PART = {name: f"DROP TABLE IF EXISTS {name}" for name in _PARTS}
# A bucket is (band_no << 48) + its key (lshdb.sketch.banding.bucket_codes); 2^47 more has the
# band in its upper bits. The inner SELECT is an index lookup for each bucket; a window function
# would read all members. Without ?2 it takes 60% of the time. Members are counted by the caller:
# GROUP BY takes as long again.
MEMBERS = """
    SELECT wanted.key, b.doc_id
    FROM json_each(?1) AS wanted
    CROSS JOIN bands AS b ON b.band_no = (wanted.value + 140737488355328) >> 48
        AND b.bucket_key = (wanted.value << 16) >> 16
        AND b.doc_id <= coalesce(
            CASE WHEN ?2 THEN
                (SELECT doc_id FROM bands
                 WHERE band_no = (wanted.value + 140737488355328) >> 48
                    AND bucket_key = (wanted.value << 16) >> 16
                 ORDER BY doc_id LIMIT 1 OFFSET ?2 - 1)
            END,
            9223372036854775807)
    LIMIT ?3"""
BUCKETS_OF_DOCUMENT = """
    SELECT query.key, query.value, count(b.doc_id)
    FROM json_each(?) AS query
    LEFT JOIN bands AS b ON b.band_no = query.key AND b.bucket_key = query.value
    GROUP BY query.key
    ORDER BY query.key"""

DOCUMENT_OF_KEY = """
    SELECT d.doc_id, d.key, d.shingles, d.metadata, d.content, s.signature
    FROM documents AS d LEFT JOIN signatures AS s USING (doc_id) WHERE d.key = ?"""
BEGINNINGS = """
    SELECT d.key, d.metadata, coalesce(substr(CAST(d.content AS BLOB), 1, ?2), x''),
        coalesce(length(CAST(d.content AS BLOB)), 0)
    FROM json_each(?1) AS wanted CROSS JOIN documents AS d ON d.key = wanted.value"""
CONTENTS = """
    SELECT d.content
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""
SIZES = """
    SELECT d.shingles, d.digest
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""
# The last is hexadecimal: of a message, a file, and of what is no file its text; NULL if not known.
IDENTITIES = """
    SELECT d.key, d.digest, CASE WHEN f.doc_id IS NULL THEN lower(hex(d.digest))
        ELSE coalesce(f.extracted ->> 'message', nullif(lower(hex(f.file_digest)), '')) END
    FROM json_each(?) AS wanted
    CROSS JOIN documents AS d ON d.doc_id = wanted.value
    LEFT JOIN files AS f USING (doc_id)"""
LAST_FILE = "SELECT coalesce(max(doc_id), 0) FROM files"
KEYS_OF = """
    SELECT d.key
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""
METADATA_OF = """
    SELECT d.metadata
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""
# A field text of the metadata itself stays.
METADATA_AND_TEXT_OF = """
    SELECT json_insert(coalesce(d.metadata, '{}'), '$.text', d.content)
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""
SIGNATURES = """
    SELECT s.doc_id, s.signature
    FROM json_each(?) AS wanted CROSS JOIN signatures AS s ON s.doc_id = wanted.value"""
ALL_SIGNATURES = "SELECT doc_id, signature FROM signatures WHERE doc_id > ? ORDER BY doc_id"
KEYS_AFTER = """
    SELECT doc_id, key FROM documents WHERE doc_id > ? ORDER BY doc_id LIMIT ?"""
DOC_IDS = "SELECT doc_id FROM documents WHERE shingles >= ? ORDER BY doc_id"
BYTES = """
    SELECT coalesce(length(CAST(d.content AS BLOB)), 0)
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""
LENGTHS = """
    SELECT coalesce(length(d.content), d.shingles)
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""

COUNT_DOCUMENTS = "SELECT count(*) FROM documents"
COUNT_EMPTY = "SELECT count(*) FROM documents WHERE shingles = 0"
HAS_DBSTAT = "SELECT sqlite_compileoption_used('ENABLE_DBSTAT_VTAB')"
TABLE_BYTES = """
    SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize)
    FROM dbstat AS s LEFT JOIN sqlite_schema AS m ON m.name = s.name
    WHERE s.aggregate = TRUE
    GROUP BY 1 ORDER BY 2 DESC, min(m.rowid)"""
FREE_PAGES = "PRAGMA freelist_count"
PAGE_COUNT = "PRAGMA page_count"
PAGE_SIZE = "PRAGMA page_size"
SCHEMA = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"
# For the rows of SCHEMA in a new file, as JSON: whether each is the same here; NULL if it is not
# there. As SQLite compares names, and byte for byte.
EXPECTED_SCHEMA = """
    SELECT own.key, s.type = 'view',
        s.type = json_extract(own.value, '$[0]') AND s.sql = json_extract(own.value, '$[2]')
    FROM json_each(?) AS own
    LEFT JOIN main.sqlite_schema AS s ON s.name = json_extract(own.value, '$[1]') COLLATE NOCASE
    ORDER BY own.key"""
# Those of some parts of which a file has a table, an index or the like.
NAMED_PARTS = """
    SELECT part.value FROM json_each(?) AS part
    WHERE EXISTS (SELECT 1 FROM main.sqlite_schema AS s
        WHERE s.name = part.value COLLATE NOCASE OR s.name LIKE part.value || '!_%' ESCAPE '!')"""
COUNT_SCHEMA = "SELECT count(*) FROM main.sqlite_schema"
COUNT_DEFINITIONS = "SELECT count(*) FROM main.sqlite_schema WHERE sql IS NOT NULL"
# The user's indexes on tables of lshdb's that have an expression or a condition.
INDEXES_WITH_CODE = """
    SELECT json_extract(own.value, '$[1]'), i.name
    FROM json_each(?1) AS own CROSS JOIN pragma_index_list(json_extract(own.value, '$[1]')) AS i
    WHERE json_extract(own.value, '$[0]') = 'table'
        AND (i.partial OR EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name) WHERE cid = -2))
        AND i.name NOT IN (SELECT json_extract(value, '$[1]') FROM json_each(?1))"""
# Tables with a foreign key of a generated column to lshdb's, which is evaluated for each deletion.
REFERENCES_WITH_CODE = """
    SELECT s.name
    FROM main.sqlite_schema AS s CROSS JOIN pragma_foreign_key_list(s.name) AS f
    CROSS JOIN pragma_table_xinfo(s.name) AS c
    WHERE s.type = 'table' AND c.hidden > 1 AND c.name = f."from" COLLATE NOCASE
        AND f."table" COLLATE NOCASE IN
            (SELECT json_extract(value, '$[1]') FROM json_each(?1))"""
# Tables besides these with an index that has an expression or a condition.
OTHER_TABLES_WITH_CODE = """
    SELECT s.name FROM main.sqlite_schema AS s CROSS JOIN pragma_index_list(s.name) AS i
    WHERE s.type = 'table' AND s.name NOT IN (SELECT value FROM json_each(?1))
        AND (i.partial OR EXISTS (SELECT 1 FROM pragma_index_xinfo(i.name) WHERE cid = -2))"""
ALL_AS_STORED = """
    SELECT d.doc_id, d.key, d.shingles, d.digest, s.signature, d.content IS NOT NULL,
        CASE WHEN ?1 THEN d.content END, d.metadata
    FROM documents AS d LEFT JOIN signatures AS s USING (doc_id)
    ORDER BY d.doc_id"""
BAND_ROWS = "SELECT band_no, bucket_key, doc_id FROM bands"
CHECK_STRUCTURE = "PRAGMA integrity_check(100)"
# All without what indexes should have; and some tables with it.
CHECK_PAGES = "PRAGMA quick_check(100)"
CHECK_TABLES = """
    SELECT c.integrity_check
    FROM json_each(?) AS own
    CROSS JOIN main.sqlite_schema AS s ON s.name = own.value AND s.type = 'table'
    CROSS JOIN pragma_integrity_check(own.value) AS c"""
TABLES = "SELECT name FROM main.sqlite_schema WHERE type = 'table'"
# Of tables without generated columns, whose expressions would run.
_TABLES_WITHOUT_CODE = """main.sqlite_schema AS s WHERE s.type = 'table' AND s.rootpage > 0
        AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(s.name) WHERE hidden > 1)"""
CHECK_TABLES_WITHOUT_CODE = f"""
    SELECT c.quick_check FROM (SELECT s.name FROM {_TABLES_WITHOUT_CODE}) AS plain
    CROSS JOIN pragma_quick_check(plain.name) AS c"""
GENERATED_COLUMNS = """
    SELECT s.name FROM main.sqlite_schema AS s CROSS JOIN pragma_table_xinfo(s.name) AS c
    WHERE s.type = 'table' AND s.rootpage > 0 AND c.hidden > 1"""
# What has these names and is no table: views, virtual tables.
NO_TABLES = """
    SELECT s.name FROM main.sqlite_schema AS s
    WHERE s.type IN ('table', 'view') AND s.rootpage = 0
        AND s.name COLLATE NOCASE IN (SELECT value FROM json_each(?))"""
CHECK_CONSTRAINTS = "PRAGMA ignore_check_constraints = OFF"
CHECK_NO_CONSTRAINTS = "PRAGMA ignore_check_constraints = ON"
BROKEN_REFERENCES = f"""
    SELECT c."table", c.rowid FROM (SELECT s.name FROM {_TABLES_WITHOUT_CODE}) AS plain
    CROSS JOIN pragma_foreign_key_check(plain.name) AS c"""
UPDATE_SHINGLES = "UPDATE documents SET shingles = ?2 WHERE doc_id = ?1"
UPDATE_CONTENT = "UPDATE documents SET content = ?2 WHERE doc_id = ?1"

WRITES = (
    WRITE_SETTINGS,
    SET_ROOT,
    CLEAR_BASE,
    INSERT_BASE,
    SET_INDEXED,
    NOTE_INDEXED,
    DELETE_INDEXED,
    INSERT_DOCUMENT,
    UPDATE_METADATA,
    UPDATE_SHINGLES,
    UPDATE_CONTENT,
    SET_KEY,
    DELETE_DOCUMENT,
    SET_FILE,
    DELETE_FILE,
    INSERT_SIGNATURE,
    DELETE_SIGNATURE,
    INSERT_BAND,
    DELETE_BAND,
)
"""The statements that change the tables of every file, except those for many rows or all rows."""
