"""From candidates to verified matches.

In: a document, a key or nothing but the file. Out: matches, pairs, clusters, comparisons.

    stored_documents  documents by their keys: their fields and buckets
    query       documents similar to one or many: candidates, estimates, verification, ranking
    lookup      the documents in the buckets of signatures
    pairs, pair_filters  similar pairs, clusters; the door PairFilter
    candidates  the pairs of a self-join, each once, in bounded memory; fewer from hot buckets
    similarity  exact similarities and estimates, of one document and many, or of many pairs
    result_tables  what `Database` gives: results one by one, or as a table
    cut_notes   the limits on comparing large buckets and texts: numbers, reasons, messages

Doors: candidates, cut_notes, lookup, pairs, query,
result_tables, similarity, stored_documents.
"""
