"""From files, streams and tables to documents.

In: paths, patterns, standard input, Arrow tables. Out: documents, or failures that say where and
why; blocks of lines and rows, to be parsed where they are signed. And the way back: rows to files.

    readers       walks files and directories; gives documents, or blocks to parse, and parses these
    paths         named files: patterns, formats, keys; names printed safely
    walking       which files in directories are read: .gitignore, patterns, sizes
    compression   packs and unpacks, by suffix
    text_rows     JSON lines and CSV: bytes to blocks, lines to documents
    arrow_rows    Parquet, Arrow and other libraries' tables: record batches to blocks
    sinks         rows of blocks, or of results, to files: a class for each format
    outputs       files that take their names when they are complete
    records       one record to a document: all rules for keys, contents and metadata
    metadata      the other fields of a record, as JSON

Doors: arrow_rows, compression, metadata, outputs, paths, readers, records, sinks, walking.
"""
