-- In files for records: each shingle of each document, and the shingle that all documents have.
CREATE TABLE record_shingles (
    shingle INTEGER NOT NULL,
    doc_id  INTEGER NOT NULL,
    PRIMARY KEY (shingle, doc_id)
) STRICT, WITHOUT ROWID;
-- How many documents have each; 0 after they are removed.
CREATE TABLE record_counts (
    shingle   INTEGER PRIMARY KEY,
    documents INTEGER NOT NULL
) STRICT;
