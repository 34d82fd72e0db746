-- What reviewers decided, one after the other: a document is to be kept or dropped, or documents
-- are not duplicates of each other (a row for each of them). digest is the document's when it was
-- decided, and file_digest that of its file's bytes (NULL if it was not known): of a document with
-- neither a decision says nothing, so there is no foreign key, and it holds again when the document
-- comes back. A decision to drop is spent (1, else NULL) when sync sees that its file is gone.
-- decided is UTC, as 2026-01-31T23:59:59.123456Z. The table is made with the first.
CREATE TABLE decisions (
    decision    INTEGER NOT NULL,
    verdict     TEXT    NOT NULL CHECK (verdict IN ('keep', 'drop', 'different')),
    key         TEXT    NOT NULL,
    digest      BLOB    NOT NULL,
    note        TEXT,
    who         TEXT    NOT NULL,
    decided     TEXT    NOT NULL,
    file_digest BLOB,
    spent       INTEGER,
    PRIMARY KEY (decision, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX decisions_of_key ON decisions (key);
