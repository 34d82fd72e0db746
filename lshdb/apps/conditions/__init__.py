"""Conditions on documents, as a user's own SQL: `--where "metadata ->> 'year' > 2000"`.

In: an expression, and a connection that can only read. Out: which documents match it.

    matching    finds the documents that match an expression
    statements  the statements that it becomes a part of

Doors: .
"""
