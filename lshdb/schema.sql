-- The tables of an lshdb file. docs: docs/sql.md, "Tables".
-- Every statement ends with a semicolon at the end of a line; lshdb.store runs them one by one.

CREATE TABLE settings (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    threshold    REAL    NOT NULL CHECK (threshold > 0 AND threshold <= 1),
    recall       REAL    NOT NULL CHECK (recall > 0 AND recall <= 1),
    shingle      TEXT    NOT NULL,
    permutations INTEGER NOT NULL CHECK (permutations BETWEEN 16 AND 4096),
    construction TEXT    NOT NULL,
    sketch       TEXT    NOT NULL CHECK (sketch IN ('fast', 'minhash')),
    seed         INTEGER NOT NULL CHECK (seed >= 0),
    content      INTEGER NOT NULL CHECK (content IN (0, 1)),
    passages     INTEGER NOT NULL DEFAULT 0 CHECK (passages = 0 OR passages BETWEEN 3 AND 1000)
) STRICT;

-- content comes last: the other columns are then read without the pages that it overflows to.
-- A file of format 1 that was migrated has metadata behind it, so statements name their columns.
CREATE TABLE documents (
    doc_id   INTEGER PRIMARY KEY,
    key      TEXT    NOT NULL UNIQUE,
    shingles INTEGER NOT NULL CHECK (shingles >= 0),  -- repetitions counted; 0: similar to nothing
    digest   BLOB    NOT NULL,                        -- BLAKE2b, 16 bytes, of the content's UTF-8
    metadata TEXT,                                    -- other fields, as a JSON object
    content  TEXT                                     -- a text, or a set as a JSON array
) STRICT;

CREATE INDEX empty_documents ON documents (doc_id) WHERE shingles = 0;

-- A document without shingles has no row here and none in bands.
CREATE TABLE signatures (
    doc_id    INTEGER PRIMARY KEY REFERENCES documents (doc_id),
    signature BLOB    NOT NULL                        -- permutations x uint32, little-endian
) STRICT;

-- The table is its own index. A document's rows are found again from its signature, so there is
-- no index on doc_id, and no foreign key either: deleting a document would scan the whole table.
CREATE TABLE bands (
    band_no    INTEGER NOT NULL,
    bucket_key INTEGER NOT NULL,
    doc_id     INTEGER NOT NULL,
    PRIMARY KEY (band_no, bucket_key, doc_id)
) STRICT, WITHOUT ROWID;

-- Empty unless settings.passages is above 0. Each document's fingerprints, each once, with the
-- number of the word (or character) at which it first stands. They are found again from the
-- content, so there is no index on doc_id.
CREATE TABLE fingerprints (
    fingerprint INTEGER NOT NULL,
    doc_id      INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, doc_id, position)
) STRICT, WITHOUT ROWID;

-- Documents that were read from text files, and the state of each file then: sync reads again what
-- has another one, and removes what has a row here and no file any more.
CREATE TABLE files (
    doc_id   INTEGER PRIMARY KEY REFERENCES documents (doc_id),
    size     INTEGER NOT NULL,                        -- bytes
    mtime_ns INTEGER                                  -- NULL: it was changing when it was read
) STRICT;

-- What reviewers decided, one after the other: a document is to be kept or dropped, or documents
-- are not duplicates of each other (a row for each of them). Of a document with another digest it
-- says nothing, so there is no foreign key: it holds again when the document comes back.
CREATE TABLE decisions (
    decision INTEGER NOT NULL,
    verdict  TEXT    NOT NULL CHECK (verdict IN ('keep', 'drop', 'different')),
    key      TEXT    NOT NULL,
    digest   BLOB    NOT NULL,                        -- the document's when it was decided
    note     TEXT,
    who      TEXT    NOT NULL,
    decided  TEXT    NOT NULL,                        -- UTC, as 2026-01-31T23:59:59.123456Z
    PRIMARY KEY (decision, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX decisions_of_key ON decisions (key);

CREATE VIEW buckets AS
    SELECT band_no, bucket_key, count(*) AS documents
    FROM bands
    GROUP BY band_no, bucket_key;

CREATE VIEW bucket_members AS
    SELECT band_no, bucket_key, doc_id, key
    FROM bands JOIN documents USING (doc_id);

-- Pairs that share a bucket, and in how many bands. In a cascade (settings.construction with more
-- than two levels, or OR first) only some of them are candidates: SQL does not evaluate its levels.
CREATE VIEW candidate_pairs AS
    SELECT one.doc_id AS doc_id_a, other.doc_id AS doc_id_b, count(*) AS bands
    FROM bands AS one
    JOIN bands AS other
      ON other.band_no = one.band_no
     AND other.bucket_key = one.bucket_key
     AND other.doc_id > one.doc_id
    GROUP BY one.doc_id, other.doc_id;
