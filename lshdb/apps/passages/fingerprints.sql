-- In files whose settings.passages is above 0: each document's fingerprints, each once, with the
-- number of the word (or character) at which it first stands. They are found again from the
-- content, so there is no index on doc_id.
CREATE TABLE fingerprints (
    fingerprint INTEGER NOT NULL,
    doc_id      INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    PRIMARY KEY (fingerprint, doc_id, position)
) STRICT, WITHOUT ROWID;
