"""Reports to hand on: what connects the documents of a collection, or of a class.

    evidence     all that connects pairs, in one order, and which of them stand apart
    folder_documents  the files of each folder as one document of a temporary file
    submissions  which of a directory a report says nothing of, and why
    hidden_names the names of submissions in texts, and what replaces them
    report       one file of HTML
    cli          `lshdb report`

Doors: folder_documents, report.
"""
