"""What is made of the database: each app is one folder, which can be deleted.

An app has its commands, options, methods and pages in its folder. It imports what the core and the
apps that it needs name as doors; the core imports no app. `lshdb.offers` is the table of what apps
give to the command line and to `Database`.
"""
