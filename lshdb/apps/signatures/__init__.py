"""Signatures of a database as a matrix, and those of other programs in a database or a query.

In: matrices, with how they were made. Out: documents without contents; matches; a matrix.

    methods, model  those of `Database`; the matrix
    signature_sets  how signatures were made, and whether they can be compared
    textbook        the sketch `minhash`, with a hash function for each lane

Doors: signature_sets.
"""
