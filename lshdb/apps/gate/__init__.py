"""The gate of a repository: what its changes copy from elsewhere in it.

    gate         compares changed lines with the other files, by an index that it keeps
    cli          `lshdb gate`

Doors: .
"""
