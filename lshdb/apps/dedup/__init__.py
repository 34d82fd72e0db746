"""Dropping near duplicates: a rule, a plan, a run, behind every door.

In: rows of files or of a program, references, a database of earlier runs. Out: each row, kept or
dropped because of another; files of rows; the database with what was kept.

    options, methods, model  groups of options; the method of `Database`; dropped rows
    rules       each rule: what it needs of a file, its columns, how it decides; RULES has them
    matching    compares a batch with a collection: by shared codes, as records, by digests
    whole_texts texts of a reference that are too short for runs
    containing  documents that another one contains
    collection  documents that others are compared with, and where they are from
    references  names of files, databases and data of a program that rows are compared with first
    deciding    decides on batches in order, and writes what is kept; Database.add_many uses it
    run         a run: opens references, decides in some order, merges kept rows into a database
    file_rows   files as the source of a run, for Database.dedup_files
    rows, data_frames, arrow_tables  rows of files and of a program
    input_tables, run_outputs, cutting  what the command's job reads and writes; writers of rows
    adding      what a run kept, in a database, and under which keys
    spool       documents that wait until they are decided on, in a temporary file
    statements  the SQL of runs.sql, and of the temporary file
    output_directory  a directory of outputs: what may be in it, and the list of what lshdb wrote

Doors: data_frames, file_rows, input_tables, model, options, output_directory,
references, rows, rules, run, run_outputs, whole_texts.
"""
