-- The tables of files of format 6 that have changed since, and its part of decisions, which each
-- file had, as it had fingerprints: lshdb.store.migrating makes those of schema.sql of them.
CREATE TABLE settings (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    threshold      REAL    NOT NULL CHECK (threshold > 0 AND threshold <= 1),
    recall         REAL    NOT NULL CHECK (recall > 0 AND recall <= 1),
    shingle        TEXT    NOT NULL,
    permutations   INTEGER NOT NULL CHECK (permutations BETWEEN 16 AND 4096),
    lane_bits      INTEGER NOT NULL CHECK (lane_bits > 0),
    construction   TEXT    NOT NULL,
    sketch         TEXT    NOT NULL,
    seed           INTEGER NOT NULL CHECK (seed >= 0),
    content        INTEGER NOT NULL CHECK (content IN (0, 1)),
    passages       INTEGER NOT NULL CHECK (passages = 0 OR passages BETWEEN 3 AND 1000),
    tokenizer      TEXT,
    indexed_to     INTEGER CHECK (indexed_to >= 0),
    indexed_bucket INTEGER
) STRICT;

CREATE TABLE files (
    doc_id    INTEGER PRIMARY KEY REFERENCES documents (doc_id),
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER,
    extracted TEXT
) STRICT;

CREATE TABLE decisions (
    decision INTEGER NOT NULL,
    verdict  TEXT    NOT NULL CHECK (verdict IN ('keep', 'drop', 'different')),
    key      TEXT    NOT NULL,
    digest   BLOB    NOT NULL,
    note     TEXT,
    who      TEXT    NOT NULL,
    decided  TEXT    NOT NULL,
    PRIMARY KEY (decision, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX decisions_of_key ON decisions (key);
