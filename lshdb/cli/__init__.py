"""The command line: each command opens the file, calls one method, and prints.

In: arguments. Out: results to standard output, messages to standard error, an exit status. A module
for each group of commands (app lists which), and what they share:

    app       the command `lshdb`, and which module has which command
    options   options that several commands share
    running   exit statuses, and the one line of an error
    results   writes rows as text, JSON, CSV, or to a file: every command has all of these formats
    messages  notes, warnings and failures; progress shows a bar; files writes whole files or none

Doors: app.
"""
