"""Passages: runs of words that documents share, and reworded copies.

In: texts. Out: fingerprints for the index; the passages that a text shares with others.

    methods      those of `Database`
    model, options  results and their columns; groups of options
    winnowing    the fingerprints of texts, and their index: texts that share a run share one
    table_part   a part of the index that is a table by value, also of other apps
    statements   the SQL of the parts; lookups in them
    line_ends    words that the ends of lines break, made whole
    rare_words   the words of texts that may be rare, their windows and their index
    weights      similarity weighted by rarity, of fingerprints, of terms, of shingles of records
    containment  matches ranked by the share of a query that they hold
    shared_runs  the runs of windows that texts share, the same from both sides
    passage_windows  the windows of texts that count, by which runs are found
    passage_runs the passages that pairs of texts share: their runs, joined where that is asked
    passages     the runs of words that a text shares with stored ones
    passage_pairs  all pairs of documents that share a run of words, as results; processes, which
                 find them in two
    positions    texts cut into words or other units; pages and lines of stretches
    reworded     passages that share rare words, in whatever order
    cli          `lshdb passages`; the texts of --base

Doors: cli.base_texts, line_ends, lookups, model, options, passage_pairs, passage_runs,
passage_windows, passages, positions, processes, reworded, table_part, weights, winnowing.
"""
