"""From files, streams and tables to documents.

In: paths, patterns, standard input, Arrow tables. Out: documents in columns, failures that say
where and why, and the rows as they were read. And the way back: rows to files.
    session       reads paths, directories and standard input: a stream of batches
    counts        what was read, what failed
    batch         what all formats give: documents in columns, and where they are from
    files, paths    a path, resolved once, and whether two are one file; names and keys
    walking       which files in directories are read
    kinds         the table of what is read, by suffix and first bytes
    inputs, compression     a file that is read: bytes, text in UTF-8, or one text; by suffix
    encodings     byte order marks
    formats       the door for what reads and writes: modules for rows, apps for documents
    json_rows, csv_rows     JSON lines and arrays; CSV and TSV
    arrow_rows   Parquet and Arrow
    proof         whether a file can be deleted, as it and what stays are read now
    sinks         what the writers of all formats share
    outputs       files that take their names when they are complete
    records, metadata       one record to a document: all rules; its other fields as JSON

Doors: arrow_rows, batch, compression, counts, csv_rows, encodings, files, formats, inputs,
json_rows, kinds, metadata, outputs, paths, proof, records,
session, sinks, walking.
"""
