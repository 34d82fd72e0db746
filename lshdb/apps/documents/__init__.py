"""The text of PDF, Word, slides, spreadsheets, web pages, books, mail and archives.

In: files that strangers made. Out: documents and rows.

    archives     ZIP and tar files as directories of their members
    reader       a batch for each document in a file, by a process that may crash, hang or be
                 killed; rows of spreadsheets
    extraction   that process: a module for each kind, and how texts are normalised
    user_programs  runs a program of the user that gives text

Doors: .
"""
