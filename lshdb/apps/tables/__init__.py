"""Tables in memory, such as data frames: rows as documents, and results as tables and files.

In: anything with the Arrow C stream interface; results. Out: documents in a database; tables; files
of Parquet and Arrow.

    methods, options  the method of `Database`; its options, and the columns of such a table
    tables       tables of any library to documents
    arrow_results  results to tables of Arrow and pandas
    arrow_files  rows of values to files of Parquet and Arrow

Doors: arrow_files, options, tables.
"""
