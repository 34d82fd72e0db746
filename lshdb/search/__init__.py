"""From candidates to verified matches.

In: a document, a key or nothing but the file. Out: matches, pairs, clusters, comparisons.

    query            documents similar to one: candidates, estimates, verification, ranking
    buckets          the candidates of one query, from the buckets it shares
    compare          why two documents are alike, or not
    pairs            all similar pairs, and clusters of them
    candidates       the pairs of a self-join, each once, in bounded memory
    thinning         fewer candidates from hot buckets, with no similar pair lost
    clustering       connected components
    verifying        similarities of many pairs, exact or estimated
    overlaps         how much many pairs of sets share

Doors: buckets, compare, overlaps, pairs, query, verifying.
"""
