"""Maintenance of the file: check, reindex, tune.

In: a file, damaged or not. Out: its problems, or a rebuilt index.

    check      `lshdb check`: examines the file
    examining  looks for problems in one pass
    findings   a problem, and the report
    reindex    rebuilds the index, for another threshold or shape or a repair
    resolve    options to the settings of a file: bands and rows by threshold and recall
    choices     `lshdb tune`: the constructions worth having, by their curves

Doors: check, choices, examining, findings, reindex, resolve.
"""
