"""SQL that reads the contents of documents."""

# For a very long document the first million characters.
DOCUMENTS_AFTER = """
    SELECT doc_id, key, substr(content, 1, 1000000) FROM documents
    WHERE doc_id > ? AND content IS NOT NULL ORDER BY doc_id"""
