"""The command line: each command opens the file, calls one method, and prints.

In: arguments. Out: results to standard output, messages to standard error, an exit status. A module
for each group of commands (app lists which), and what they share:

    app       the command `lshdb`, and which module has which command
    options   options that several commands share
    running   exit statuses, and the one line of an error
    output    prints tables, lines, JSON, messages; progress a bar; saving and files write files

Doors: app.
"""
