"""From files, streams and tables to documents.

In: paths, patterns, standard input, Arrow tables. Out: documents, or failures that say where and
why; blocks of lines and rows, to be parsed where they are signed.

    readers       walks files and directories; gives documents, or blocks to parse, and parses these
    paths         named files: patterns, formats, keys; names printed safely
    walking       which files in directories are read: .gitignore, patterns, sizes
    compression   packs and unpacks, by suffix
    text_rows     JSON lines and CSV: bytes to blocks, lines to documents
    arrow_rows    Parquet, Arrow and other libraries' tables: record batches to blocks
    records       one record to a document: all rules for keys, contents and metadata
    metadata      the other fields of a record, as JSON

Doors: arrow_rows, compression, metadata, paths, readers, records, text_rows, walking.
"""
