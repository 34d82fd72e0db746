"""SQL about a database, besides that of the store."""

# In the first ?2 keys, whatever the case of ASCII.
KEYS_CONTAINING = """
    SELECT key FROM (SELECT key FROM documents ORDER BY key LIMIT ?2)
    WHERE instr(lower(key), ?1) OR instr(lower(key), ?4) LIMIT ?3"""
