"""From documents to rows in the file.

In: documents (lshdb.read). Out: the file with them, a report per batch.
    batches     read | sign: cuts a stream into batches, signed by a pool; all that is read ahead
    parts       digests and signs documents, here or in a worker process
    writing     a signed part to rows: new, changed, unchanged
    add         read | sign | write; removing
    queries     read | sign | answer: a stream of documents that are queries only
    doc_ids     which documents a run has written, to count keys that repeat

Doors: add, batches, doc_ids, parts, queries, writing.
"""
