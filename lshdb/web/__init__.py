"""Pages about near duplicates, in Datasette.

In: requests. Out: pages that only read. Needs the extra `web`, but for listing.

    plugin     the hooks for Datasette: our addresses, menus, links and SQL functions
    serving    `lshdb serve`: Datasette for one file, for this machine only
    guarding   who may send requests, under which host names; rules for browsers
    reviewing  `lshdb serve --review`: the only forms that change a file; they write decisions
    answering  a request to a response; views what each page shows; rendering its HTML
    beside     two documents side by side, as rows; colouring finds the words of code, by lexing in
               a separate process
    surveys    all clusters and all pairs, as columns; listing filters and sorts them
    results    results that take long, kept for each state of the file
    pasted     the texts that visitors pasted, under names for addresses
    report     all pages in one file, to hand on
    drawing    the numbers behind the pictures

Doors: listing, report, serving.
"""
