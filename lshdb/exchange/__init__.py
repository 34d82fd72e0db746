"""Data of other programs, in and out.

In: Arrow tables, signature matrices. Out: the same, and data frames.

    tables      adds any Arrow table
    results     matches, pairs and clusters as they are found, as tables, and in notebooks
<<<<<<< HEAD
    templates   HTML for notebooks, pages and reports, from web/pages
    signatures  adds a matrix of signatures; reads that of a database; queries by one

Doors: results, signatures, tables, templates.
=======
    dedup       a program's rows without near duplicates, in the form they came in
    kept_rows   the kept rows of files, to one file or one for each
    cuts        the list of what is cut out of rows, and rows as they were before
    signatures  adds a matrix of signatures; reads that of a database; queries by one

Doors: cuts, dedup, kept_rows, results, signatures, tables.
>>>>>>> 1df0cf3bcf42230b8aee54d4a5a9f68135d0eb3e
"""
