"""Looking after the file: check, repair, reindex.

In: a file, damaged or not. Out: its problems, and what was repaired; another index.

    check      `lshdb check`: examines, and if asked repairs in steps and examines again: derives
               values and rows of the index again
    examining  looks for problems in one pass
    findings   the kinds of problems and repairs, and the report
    restoring  puts a backup in the place of a database
    reindex    rebuilds the index, for another threshold or shape or a repair

Doors: check, findings, reindex, restoring.
"""
