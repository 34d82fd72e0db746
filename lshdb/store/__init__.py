"""The SQLite file: the only room that imports sqlite3.

In and out: rows as typed arrays and lists; lshdb's errors in place of SQLite's. The tables are in
schema.sql, all other SQL of the core in statements, except pragmas, BEGIN, COMMIT and users' texts.
    connection     opens a file and checks its format, or one that may be damaged; pragmas
    sqlite_errors  SQLite's errors as lshdb's own
    transactions   all or nothing, each writer in its turn, the log's length
    guard          refuses a connection after a fork, in another thread, or of a replaced file
    schema         refuses a file whose tables are not those of schema.sql, or that could run code
    rows           what SQLite gives, as the type that it must have; the row of settings
    store          writes documents and the settings; lookups reads everything
    index, parts   writes signatures and bands; the door for other parts, which apps have
    late           the band rows of a large addition, written when its documents are
    snapshot       what apps read of a file at one moment: a door that lookups is
    readonly_sql   runs a user's SELECT, or condition on documents
    functions      SQL functions such as lsh_similarity, for any connection
    backup         copies a file in use
    location       where a file is, and whether it has other names with logs of their own
    spool          temporary files: documents until their turn to be decided on, elements of sets
    partial_files  files that take their names when complete; what killed runs left of them

Doors: backup, connection, guard, index, late, location, lookups, partial_files, parts,
readonly_sql, rows, schema, snapshot, spool, sqlite_errors, statements, store.
"""
