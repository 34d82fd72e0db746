"""Maintenance of the file: check, repair, reindex.

In: a file, damaged or not. Out: its problems and repairs, or a rebuilt index.

    check      `lshdb check`: examines the file; with `repair` it derives values and rows of the
               index again, in steps, and examines the file after each
    examining  looks for problems in one pass
    findings   a problem, a repair, and the report
    restoring  puts a backup in the place of a database
    reindex    rebuilds the index, for another threshold or shape or a repair

Doors: analysis, check, choices, examining, findings, reindex, resolve, sampling.
"""
