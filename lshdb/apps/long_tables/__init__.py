"""Long tables: rows of a key and one element become one set for each key.

In: rows of all formats, by the columns of `--set-key` and `--set-item`. Out: sets.

    element_rows  how a row gives an element, and the sets of all rows
    statements   the temporary file in which elements wait

Doors: .
"""
