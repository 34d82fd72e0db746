"""Pages about near duplicates, as one ASGI application.

In: requests. Out: pages that only read, as HTML or JSON. Needs the extra `web`.
Lists, texts side by side and reviews are those of lshdb.apps.review.

    app        the application for a file: a request to a response; `lshdb serve` for this machine
    in_datasette  the same application in Datasette, by its hooks; plugin offers them to it
    guarding   who may send requests, under which host names; rules for browsers
    views      the fields of addresses, and the values that each page shows, as plain objects;
               rendering makes HTML of them
    api        JSON that programs post
    page_file  a file as pages read it: it cannot be changed
    computing  results that take long, kept for each state of the file
    statements SQL of the search for keys
    cli        `lshdb serve`

Doors: rendering.
"""
