"""All SQL that the app runs on its parts of a file, fingerprints.sql and rare_words.sql."""

from lshdb.store.statements import BLOCK_ROWS

INSERT_FINGERPRINT = "INSERT OR FAIL INTO fingerprints VALUES (?, ?, ?)"
INSERT_FINGERPRINTS = INSERT_FINGERPRINT + ", (?, ?, ?)" * (BLOCK_ROWS - 1)
DELETE_FINGERPRINT = """
    DELETE FROM fingerprints WHERE fingerprint = ? AND doc_id = ? AND position = ?"""
DELETE_FINGERPRINTS = "DELETE FROM fingerprints"
# As MEMBERS of lshdb.store.statements.
FIRST_OF_FINGERPRINTS = """
    SELECT wanted.key, f.doc_id
    FROM json_each(?1) AS wanted
    CROSS JOIN fingerprints AS f ON f.fingerprint = wanted.value
        AND f.doc_id <= coalesce(
            CASE WHEN ?2 THEN
                (SELECT doc_id FROM fingerprints WHERE fingerprint = wanted.value
                 ORDER BY doc_id LIMIT 1 OFFSET ?2 - 1)
            END,
            9223372036854775807)"""
FINGERPRINT_ROWS = "SELECT fingerprint, doc_id, position FROM fingerprints"
# One number a row, of 48 and 15 bits: fetching two takes twice as long.
SHARED_FINGERPRINTS = """
    SELECT fingerprint << 15 | min(count(*), 32767)
    FROM fingerprints GROUP BY fingerprint HAVING count(*) > 1"""

INSERT_TERMS = "INSERT INTO rare_words (rowid, word) VALUES (?, ?)"
DELETE_TERMS = "INSERT INTO rare_words (rare_words, rowid, word) VALUES ('delete', ?, ?)"
CLEAR_RARE_WORDS = "INSERT INTO rare_words (rare_words) VALUES ('delete-all')"
# For each term how many of its first documents there are, up to ?2, below 512, and the last of
# these: other documents of a frequent word are not read.
TERM_COUNTS = """
    SELECT wanted.key, (SELECT coalesce(max(doc_id), 0) << 9 | count(*) FROM
        (SELECT rowid AS doc_id FROM rare_words
         WHERE rare_words MATCH '"' || wanted.value || '"' LIMIT ?2))
    FROM json_each(?1) AS wanted"""
# One number a row, of 23 and 40 bits.
DOCUMENTS_OF_TERMS = """
    SELECT wanted.key << 40 | w.rowid
    FROM json_each(?1) AS wanted
    CROSS JOIN rare_words AS w
    WHERE w.rare_words MATCH '"' || wanted.value || '"' AND w.rowid > ?2"""
ALLOW_TEMPORARY = "PRAGMA query_only = OFF"
READ_RARE_WORDS = """
    CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, rare_words, instance)"""
RARE_WORDS = "SELECT term, doc FROM temp.terms"
MEAN_SHINGLES = """
    SELECT CAST(round(coalesce(avg(d.shingles), 0)) AS INTEGER)
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""

WRITES = {
    "fingerprints": (INSERT_FINGERPRINT, DELETE_FINGERPRINT),
    # SQLite's own writes for the full-text table; they are only prepared, to see what would run.
    "rare_words": tuple(
        f"{verb} rare_words_{name}{rest}"
        for name in ("config", "data", "idx")
        for verb, rest in (
            ("REPLACE INTO", f" SELECT * FROM rare_words_{name}"),
            ("DELETE FROM", ""),
        )
    ),
}
"""The statements that change the tables of a part."""
