"""One object for all threads of a program, and for asyncio, that queries a file and adds to it.

    service      `lshdb.Service`
    arrivals     asks about documents and adds them in one step
    options      groups of options

Doors: .
"""
