"""From files, streams and tables to documents.

In: paths, patterns, standard input, Arrow tables. Out: documents, or failures that say where and
why; blocks of rows that are not parsed yet, to be parsed where they are signed.

    paths         which files are read, as which format; names printed safely
    compression   packs and unpacks, by suffix
    readers       walks files and directories, cuts each file into documents or blocks
    lines         cuts files of lines into blocks; row_files opens them again elsewhere
    csv_rows      CSV and TSV
    parquet_rows  Parquet by places in the file; arrow_rows any Arrow batch; arrow_files opens both
    parsing       a block of any format to documents
    records       one record to a document: all rules for keys, fields and sets
    metadata      the other fields of a record, as JSON

Doors: arrow_rows, compression, metadata, parsing, paths, readers, records.
"""
