"""Databases that are added to another one: their documents, with their signatures.

In: another database. Out: signed documents; the keys that files of it have from another root.

    merging  reads its documents, adds them, and what other apps add of its parts (`offers.MERGED`)

Doors: merging.
"""
