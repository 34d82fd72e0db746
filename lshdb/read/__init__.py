"""From files, streams and tables to documents.

In: paths, patterns, standard input, Arrow tables. Out: documents in columns, failures that say
where and why, and the rows as they were read. And the way back: rows to files.
    session       reads paths, directories and standard input: a stream of batches
    counts        what was read, what failed
    batch         what all formats give: documents in columns, and where they are from
    files, paths, identity  a path, resolved once; names and keys; whether two are one file
    walking, git  which files in directories are read: patterns, sizes, what git tracks
    kinds, readers         what apps read: documents, spreadsheets, archives; the door for them
    inputs, compression     a file that is read: bytes, text in UTF-8, or one text; by suffix
    encodings     bytes to text: guessing their encoding
    formats       the table of formats, each a module that reads and writes
    json_rows, csv_rows     JSON lines and arrays; CSV and TSV
    arrow_rows, tables, long_tables  Arrow; tables of a program; a row an element to sets
    keeping, ordering       which of similar documents stays; how values of a field compare
    proof         whether a file can be deleted, as it and what stays are read now
    sinks         what the writers of all formats share
    outputs       files that take their names when they are complete
    records, metadata       one record to a document: all rules; its other fields as JSON

Doors: arrow_rows, batch, compression, counts, csv_rows, encodings, files, formats, git, identity,
inputs, json_rows, keeping, kinds, long_tables, metadata, ordering, outputs, paths, proof, readers,
records, session, sinks, tables, walking.
"""
