"""The gate of a repository: what its changes copy from elsewhere in it.

    options      groups of options
    gate         compares changed lines with the other files, by an index that it keeps
    working_tree  files that git tracks, and the lines that changes add
    cli          `lshdb gate`

Doors: .
"""
