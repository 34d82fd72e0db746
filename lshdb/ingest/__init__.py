"""From documents to rows in the file.

In: documents and blocks of rows (lshdb.sources). Out: the file with them, a report per batch.

    add         the loop: read, sign, write, report; adding, removing
    batches     cuts a stream into batches, and these into parts
    parts       parses, digests and signs a part, here or in a worker process
    writing     a signed part to rows: new, changed, unchanged
    reference   a collection whose near duplicates are dropped from the input
    queries     a stream of documents that are queries only
    deciding    what reviewers decide of documents; removes what they decided to drop
    ordering    deduplicating rows, also in another order than the input's
    dedup       decides which documents are similar to none that is kept, and writes those

Doors: add, batches, deciding, dedup, ordering, parts, queries, reference, sync, writing.
"""
