"""From shingle hashes to a signature, and from a signature to its bucket keys.

In: shingle hashes (lshdb.text) and a construction. Out: signatures uint32[n, lanes] and bucket
keys int64[n, bands], the same for the same seed everywhere: golden files pin them.

    banding         a signature's bucket keys, one per band
    constructions   bands, rows, levels: what makes a candidate, how probably (the S-curve)
    minhash         the sketch `fast`, and the door for others; estimates from signatures
    part_rows       what other parts of the index have of documents that are signed
    settings        what a database is made with
    signing         a batch of documents to signatures and bucket keys

Doors: banding, constructions, minhash, part_rows, settings, signing.
"""
