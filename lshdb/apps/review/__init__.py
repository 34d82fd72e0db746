"""What pages, reports and the terminal show of near duplicates, and how reviewers decide on them.

In: a database, filters, decisions. Out: plain objects; no HTML, and no colours of a terminal.

    options     groups of options
    methods     those of `Database`
    listing     all clusters and all pairs of a file, and lists of them, filtered and sorted
    beginnings  titles and first lines of documents, read from their starts
    changes     titles of documents in a list, and how they differ from the one that stays
    reviewing   forms, keys and pages that write decisions, each once, and take them back
    drawing     the numbers behind the pictures
    dropped_files  files of dropped documents, each proved before it goes
    drop_list, pair_sample  documents of clusters that can be removed; some of all pairs
    cli         `lshdb review`, `decide` and `decisions`; proving names what can be deleted
    decisions, storing_decisions, statements  decisions as rows and by document; writing; their SQL
    file_state  whether a file has changed since a result was computed

Doors: beginnings, changes, cli.proving, decisions, drawing, dropped_files,
file_state, listing, options, reviewing, storing_decisions.
"""
