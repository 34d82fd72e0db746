"""SQL about the documents of a database, besides that of the store."""

ALL_DOCUMENTS = """
    SELECT doc_id, key, shingles, content, signature
    FROM documents LEFT JOIN signatures USING (doc_id) ORDER BY doc_id"""
