"""What other programs have, in and out.

In: Arrow tables, signature matrices. Out: the same.

    tables      adds any Arrow table; pairs and clusters as tables
    signatures  adds a matrix of signatures; reads that of a database; queries by one

Doors: signatures, tables.
"""
