"""Tables in memory, such as data frames, whose rows are documents.

In: anything with the Arrow C stream interface. Out: documents in a database.

    methods, options  the method of `Database`; its options, and the columns of such a table
    tables       tables of any library to documents

Doors: options, tables.
"""
