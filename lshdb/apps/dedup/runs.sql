-- Runs of dedup that added rows to this file: digest is BLAKE2b, 16 bytes, of the rows that a run read
-- and of what it wrote. The same run again keeps no row, and leaves its output as it is. The table is
-- made with the first.
CREATE TABLE runs (
    digest BLOB NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
