"""The SQL of check: whole tables, in the order of their keys, as they are."""

from typing import Final

SCHEMA: Final = "SELECT type, name, sql FROM main.sqlite_schema ORDER BY rowid"
ALL_SETTINGS: Final = """
    SELECT threshold, recall, shingle, permutations, construction, sketch, seed, content
    FROM settings ORDER BY id"""
COUNT_BANDS: Final = "SELECT count(*) FROM bands"
DOCUMENTS_FROM: Final = """
    SELECT d.doc_id, d.key, d.shingles, d.digest, s.signature, d.content IS NOT NULL, NULL,
        d.metadata
    FROM documents AS d LEFT JOIN signatures AS s USING (doc_id)
    WHERE d.doc_id >= ? ORDER BY d.doc_id"""
DOCUMENTS_WITH_CONTENT_FROM: Final = """
    SELECT d.doc_id, d.key, d.shingles, d.digest, s.signature, d.content IS NOT NULL, d.content,
        d.metadata
    FROM documents AS d LEFT JOIN signatures AS s USING (doc_id)
    WHERE d.doc_id >= ? ORDER BY d.doc_id"""
ORPHAN_SIGNATURES: Final = """
    SELECT doc_id FROM signatures AS s
    WHERE NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.doc_id = s.doc_id)"""
BAND: Final = "SELECT bucket_key, doc_id FROM bands WHERE band_no = ? ORDER BY bucket_key, doc_id"
FOREIGN_BANDS: Final = """
    SELECT band_no, bucket_key, doc_id FROM bands WHERE band_no < 0
    UNION ALL SELECT band_no, bucket_key, doc_id FROM bands WHERE band_no >= ?"""
# A part of the documents, told by the lowest bits of their numbers.
BAND_OF_PART: Final = """
    SELECT bucket_key, doc_id FROM bands
    WHERE band_no = ?1 AND doc_id & ?2 IN (SELECT value FROM json_each(?3))
    ORDER BY bucket_key, doc_id"""
SIGNATURES_OF_PART: Final = """
    SELECT s.doc_id, s.signature FROM signatures AS s JOIN documents AS d USING (doc_id)
    WHERE s.doc_id & ?1 IN (SELECT value FROM json_each(?2)) AND length(s.signature) = ?3
    ORDER BY s.doc_id"""
PRESENT_DOCUMENTS: Final = """
    SELECT d.doc_id, d.key
    FROM json_each(?) AS wanted CROSS JOIN documents AS d ON d.doc_id = wanted.value"""
UPDATE_DERIVED: Final = """
    UPDATE documents SET shingles = ?2, digest = ?3, content = ?4 WHERE doc_id = ?1"""
