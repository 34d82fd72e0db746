"""Why two documents are similar: rows side by side, changed words, names that changed in step.

In: two documents. Out: their rows, aligned, and what differs in them.

    methods      those of `Database`
    options, model  groups of options; results
    admission    adds a document unless a similar one is stored, and says what differs
    compare      exact similarity, signatures and shared buckets of two documents
    alignment    the words that two texts have in common, in the same order or moved
    differences  one list of rows, which terminals, pages and reports show
    beside       two documents side by side, as rows in which passages are marked
    renaming     names of two programs that differ in step
    temporary    a database for one job
    cli          `lshdb compare`

Doors: admission, beside, cli.compare, differences, options, temporary.
"""
