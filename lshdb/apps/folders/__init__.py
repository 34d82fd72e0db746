"""Folders that a database follows: files that change, folders that are copies, files to delete.

In: directories, decisions. Out: a database that has what the directories have; files moved aside.

    options      groups of options
    methods      that of `Database`
    sync         updates documents from the files below directories
    renames      which files and messages are stored ones under other keys, by contents
    folders      pairs of directories whose files are the same or similar
    folder_documents  the files of each folder as one document of a temporary file
    statements   SQL about the files of a database
    trash        moves files of dropped documents aside, and back
    cli          `lshdb sync`, `folders` and `trash`

Doors: folder_documents, options, sync.
"""
