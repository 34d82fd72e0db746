"""Repairs of a file, from what can be derived or from a backup.

In: a file with problems, or a backup. Out: the same file, repaired or restored, or as it was.

    repairing  derives values and rows of the index again, for `lshdb check --repair`
    restoring  puts a backup in the place of a database; options, its arguments
    cli        what `lshdb check --repair` prints at its end; `lshdb backup --restore`

Doors: .
"""
