"""Data of other programs, in and out.

In: Arrow tables, signature matrices. Out: the same, and data frames.

    tables         adds any Arrow table
    result_tables  matches, pairs and clusters as they are found, as tables, and in notebooks
    signatures     adds a matrix of signatures; reads that of a database; queries by one

Doors: result_tables, signatures, tables.
"""
