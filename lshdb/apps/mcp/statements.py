"""SQL of the tools."""

KEY_OF_NUMBER = "SELECT key FROM documents WHERE doc_id = ?"
