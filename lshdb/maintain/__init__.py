"""Maintenance of the file: check, reindex, tune.

In: a file, damaged or not. Out: its problems, or a rebuilt index.

    check      `lshdb check`: examines the file
    examining  looks for problems in one pass
    findings   a problem, and the report
    reindex    rebuilds the index, for another threshold or shape or a repair

Doors: analysis, check, choices, examining, findings, reindex, resolve.
"""
