"""Reports to hand on: what connects the documents of a collection, or of a class.

    options      groups of options
    evidence     all that connects pairs, in one order, and which of them stand apart
    submissions  which of a directory a report says nothing of, and why
    hidden_names the names of submissions in texts, and what replaces them
    report       one file of HTML
    pages        the templates and the style sheet
    cli          `lshdb report`

Doors: .
"""
