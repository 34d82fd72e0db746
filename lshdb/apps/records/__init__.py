"""Records: products, titles, addresses, songs; similar by what is rare in both.

In: texts. Out: the rows of the index, candidates, and their weighted similarities.

    record_index  the part of the index: every shingle of each record, and how many records have it
    records       candidates by rare shingles, and how similar records are; docs/choosing.md
    statements    the SQL of both

Doors: .
"""
