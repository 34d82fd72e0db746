"""From files, streams and tables to documents.

In: paths, patterns, standard input, Arrow tables. Out: documents in columns, failures that say
where and why, and the rows as they were read. And the way back: rows to files.
    readers       reads paths, directories and standard input: a stream of batches
    batch         what all readers give: documents in columns, and where they are from
    paths, identity     named files: patterns, formats, keys; whether two are one file
    walking       which files in directories are read: .gitignore, patterns, sizes
    git           which files git tracks, and which lines changed
    archives      ZIP and tar files as directories of their members
    compression   packs and unpacks, by suffix
    inputs        a file that is read: bytes, text in UTF-8, or one text
    extracting, programs    the text of documents such as PDF, by a process; those of users
    documents     that process: a module for each kind, and how texts are normalised
    formats       the table of formats, each a class that reads and writes
    json_rows     JSON lines and arrays
    csv_rows, arrow_rows    CSV and TSV; Parquet, Arrow and other libraries' tables; arrow_keys
    long_tables   rows of one element each to sets
    sinks, added_columns    what the writers of all formats share; rows with more columns
    outputs       files that take their names when they are complete
    records       one record to a document: all rules for keys, contents and metadata; rows of text
    metadata      the other fields of a record, as JSON

Doors: added_columns, archives, arrow_rows, batch, compression, extracting, formats, git, identity,
inputs, json_rows, long_tables, metadata, outputs, paths, readers, records, sinks, walking.
"""
