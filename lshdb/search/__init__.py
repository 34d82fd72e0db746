"""From candidates to verified matches.

In: a document, a key or nothing but the file. Out: matches, pairs, clusters, comparisons.

    stored_documents  documents by their keys: their fields, their buckets, lists of keys
    query       documents similar to one or many: candidates, estimates, verification, ranking
    lookup      the documents in the buckets of signatures
    passages    the runs of words that a text shares with stored ones
    passage_pairs  all pairs of documents that share a run of words
    passage_windows  the windows of texts that count, by which runs are found
    passage_runs  the passages that pairs of texts share: their runs, joined where that is asked
    shared_runs  the runs of windows that texts share, the same from both sides
    reworded    passages that share rare words, in whatever order
    weights     of fingerprints and of terms, by their rarity; similarity weighted by them
    compare, differences, alignment, renaming  why two are alike; rows side by side; words; names
    evidence    all that connects pairs, in one order, and which of them stand apart
    pairs, pair_sample, folders  similar pairs, clusters; a sample; pairs of directories
    candidates  the pairs of a self-join, each once, in bounded memory; fewer from hot buckets
    similarity  exact similarities and estimates, of one document and many, or of many pairs
    decisions   the decisions of reviewers about documents, and pairs marked different
    cut_notes   the limits on comparing large buckets and texts: numbers, reasons, messages

Doors: candidates, cut_notes, lookup, pair_sample, pairs, query, result_tables, similarity,
stored_documents.
"""
