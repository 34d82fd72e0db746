"""The SQL of decisions.sql, the part of a file that the app has."""

_ABOUT = "(x.digest = d.digest OR x.file_digest = f.file_digest)"
"""Whether a decision is about a document or its file as they are now; NULL for no."""
# With the digests of the documents of their keys now, and whether they are about these: NULL if
# there is none.
DECISIONS = f"""
    SELECT x.decision, x.verdict, x.key, x.digest, x.file_digest, x.note, x.who, x.decided, x.spent,
        d.digest, CASE WHEN d.doc_id IS NOT NULL THEN {_ABOUT} IS TRUE END
    FROM decisions AS x
    LEFT JOIN documents AS d ON d.key = x.key LEFT JOIN files AS f USING (doc_id)
    ORDER BY x.decision, x.key"""
DECIDED = f"""
    SELECT x.decision, x.verdict, d.doc_id, d.key
    FROM decisions AS x
    CROSS JOIN documents AS d ON d.key = x.key LEFT JOIN files AS f USING (doc_id)
    WHERE {_ABOUT} AND x.spent IS NULL
    ORDER BY x.decided, x.decision"""
# Without the empty text, whose digest is ?1: it says nothing.
DIFFERENT = """
    SELECT decision, digest, file_digest FROM decisions
    WHERE verdict = 'different' AND digest <> ?1"""
# The documents with these digests, of texts or of files: each IN is a lookup in a temporary index.
WITH_DIFFERENT = f"""
    SELECT digest, doc_id, key FROM documents
    WHERE digest IN (SELECT digest FROM ({DIFFERENT}))
    UNION
    SELECT f.file_digest, d.doc_id, d.key FROM files AS f CROSS JOIN documents AS d USING (doc_id)
    WHERE f.file_digest IN (SELECT file_digest FROM ({DIFFERENT}))"""
# A decision that already has a row for the new key keeps the old one.
MOVE_DECISIONS = """
    UPDATE OR IGNORE decisions SET key = ?2
    WHERE key = (SELECT key FROM documents WHERE doc_id = ?1)
        AND (digest = (SELECT digest FROM documents WHERE doc_id = ?1)
            OR file_digest = (SELECT file_digest FROM files WHERE doc_id = ?1))"""
SPEND_DROPS = "UPDATE decisions SET spent = 1 WHERE key = ? AND verdict = 'drop'"
LAST_DECISION = "SELECT coalesce(max(decision), 0) FROM decisions"
INSERT_DECISION = """
    INSERT INTO decisions (decision, verdict, key, digest, note, who, decided, file_digest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
DELETE_DECISION = "DELETE FROM decisions WHERE decision = ?"
# Each decision, and whether it is invalid: its rows disagree, or are too many or too few for its
# verdict.
JUDGED_DECISIONS = """
    SELECT decision, group_concat(key || coalesce(note, '') || who || decided, ''),
        decision NOT BETWEEN 1 AND 1 << 40 OR min(verdict) NOT IN ('keep', 'drop', 'different')
            OR (count(*) > 1) <> (min(verdict) = 'different')
            OR count(DISTINCT json_array(verdict, note, who, decided)) > 1
            OR max(length(digest) <> 16 OR key = '' OR instr(key, char(0)))
    FROM decisions GROUP BY decision"""
DATA_VERSION = "PRAGMA data_version"

WRITES = {"decisions": (INSERT_DECISION, DELETE_DECISION, MOVE_DECISIONS, SPEND_DROPS)}
"""The statements that change the tables of a part."""
