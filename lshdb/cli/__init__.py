"""The command line: each command opens the file, calls one method, and prints.

In: arguments. Out: results to standard output, messages to standard error, an exit status. A module
for each command, of its name (app lists them), and what they share:

    app        the command `lshdb`, and the list of commands
    options    options that several commands share, in groups: the database, the form of results
    running    exit statuses, and the one line of an error
    results    writes rows as text, JSON, CSV, or to a file: every command has all of these formats
    documents  reads what a command is given, and reports what could not be read
    parameters options as typer takes them, and the values of SQL
    messages   notes, warnings and the bar of a long job; files writes whole files or none

Doors: app, check, documents, files, messages, options, parameters, results, running.
"""
