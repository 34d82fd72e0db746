"""Tables in memory, such as data frames, whose rows are documents or results.

In: anything with the Arrow C stream interface; results. Out: documents in a database; tables.

    methods, options  the method of `Database`; its options, and the columns of such a table
    tables       tables of any library to documents
    arrow_results  results to tables of Arrow and pandas

Doors: options, tables.
"""
