"""Pages about near duplicates, in Datasette.

In: requests. Out: pages that only read. Needs the extra `web`.

    plugin     what Datasette finds: our addresses, menus, links and SQL functions
    serving    `lshdb serve`: Datasette for one file, for this machine only
    guarding   who may ask, under which host names; what browsers may do with the answers
    answering  a request to a response; views what each page shows; rendering its HTML
    results    results that take long, kept for each state of the file
    drawing    the numbers behind the pictures

Doors: serving.
"""
