-- The tables that every lshdb file of format 7 has. docs: docs/sql.md, "Tables". Those of a part,
-- which a file has whole or not at all, are in a file of its name in the folder of an app.
-- A file's definitions must be these, byte for byte: a change to a statement needs a new format.
-- Comments stand between statements, where SQLite does not keep them. Every statement ends with a
-- semicolon at the end of a line; lshdb.store runs them one by one.

-- One row. lane_bits is 16 or 32. tokenizer is reserved, and NULL: for the name and version of the
-- tokenizer whose tokens are shingled in place of words; an lshdb that does not know it refuses the
-- file. indexed_to and indexed_bucket are NULL if all band rows are written. While those of a large
-- addition follow, documents up to indexed_to have all of theirs, later ones those up to
-- indexed_bucket, which is band_no * 2^48 + bucket_key (NULL: none), and those in the table indexed
-- have theirs, too. root is the directory that keys of files are relative to: its path from the
-- directory of this file, or its absolute path where none leads there; NULL stands for '.'.
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
    indexed_bucket INTEGER,
    root           TEXT
) STRICT;

-- Documents above settings.indexed_to whose band rows were written at once, or that were removed.
CREATE TABLE indexed (
    doc_id INTEGER PRIMARY KEY
) STRICT;

-- Texts, such as a template, whose shingles and passages do not count. digest: as of a document.
CREATE TABLE base_texts (
    name    TEXT NOT NULL PRIMARY KEY,
    digest  BLOB NOT NULL,
    content TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- shingles: how many, repetitions counted; a document with 0 is similar to nothing.
-- digest: BLAKE2b, 16 bytes, of the content's UTF-8.
-- metadata: other fields, as a JSON object.
-- content: a text, or a set as a JSON array. It comes last: the other columns are then read without
-- the pages that it overflows to.
CREATE TABLE documents (
    doc_id   INTEGER PRIMARY KEY,
    key      TEXT    NOT NULL,
    shingles INTEGER NOT NULL CHECK (shingles >= 0),
    digest   BLOB    NOT NULL,
    metadata TEXT,
    content  TEXT
) STRICT;

CREATE UNIQUE INDEX documents_key ON documents (key);

CREATE INDEX empty_documents ON documents (doc_id) WHERE shingles = 0;

-- The lanes, of settings.lane_bits each, little-endian. A document without shingles has no row here and none in bands.
CREATE TABLE signatures (
    doc_id    INTEGER PRIMARY KEY REFERENCES documents (doc_id),
    signature BLOB    NOT NULL
) STRICT;

-- The table is its own index. A document's rows are found again from its signature, so there is
-- no index on doc_id, and no foreign key either: deleting a document would scan the whole table.
-- Bucket keys have 48 bits, which SQLite stores in six bytes.
CREATE TABLE bands (
    band_no    INTEGER NOT NULL,
    bucket_key INTEGER NOT NULL,
    doc_id     INTEGER NOT NULL,
    PRIMARY KEY (band_no, bucket_key, doc_id)
) STRICT, WITHOUT ROWID;

-- Documents that were read from files, and the state of each file then: sync reads again what
-- has another one, and removes what has a row here and no file any more. mtime_ns is NULL if the
-- file was changing when it was read; ctime_ns, device and inode are NULL where they are not known.
-- file_digest: BLAKE2b, 16 bytes, of the file's bytes (of a member of an archive, of the member's); NULL
-- if it is not known. extracted is NULL for a text in UTF-8, else a JSON object: by names the library
-- that took the text out of a file of another kind, or that guessed the encoding of a text; message is,
-- of a message in a mailbox, the digest of its body and parts in hexadecimal.
CREATE TABLE files (
    doc_id      INTEGER PRIMARY KEY REFERENCES documents (doc_id),
    size        INTEGER NOT NULL,
    mtime_ns    INTEGER,
    extracted   TEXT,
    ctime_ns    INTEGER,
    device      INTEGER,
    inode       INTEGER,
    file_digest BLOB
) STRICT;

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
