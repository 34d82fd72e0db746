"""SQL about the files of a database, besides that of the store."""

# Of any device; a scan of the table.
FILES_OF_INODES = """
    SELECT d.doc_id, d.key, d.digest,
        f.size, f.mtime_ns, f.extracted, f.ctime_ns, f.device, f.inode, f.file_digest
    FROM files AS f CROSS JOIN documents AS d USING (doc_id)
    WHERE f.inode IN (SELECT value FROM json_each(?))"""
