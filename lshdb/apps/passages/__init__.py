"""Passages: runs of words that documents share, and reworded copies.

In: texts. Out: fingerprints for the index; the passages that a text shares with others.

    methods      those of `Database`
    model, options  results and their columns; groups of options
    fingerprints, rare_word_index  the parts of the index; statements, their SQL; lookups in them
    table_part   a part that is a table by value, also of other apps
    winnowing    the fingerprints of texts: texts that share a run of words share one
    line_ends    words that the ends of lines break, made whole
    rare_words   the words of texts that may be rare, and the windows that have them
    rarity       similarity weighted by rarity; weights, of fingerprints and of terms
    containment  matches ranked by the share of a query that they hold
    shared_runs  the runs of windows that texts share, the same from both sides
    passage_windows  the windows of texts that count, by which runs are found
    passage_runs the passages that pairs of texts share: their runs, joined where that is asked
    passages, passage_pairs  the runs of words that a text shares with stored ones; all pairs of
                 documents that share one; passage_results; processes, which find them in two
    positions, places  texts cut into words or other units; pages and lines of stretches
    reworded     passages that share rare words, in whatever order
    cli          `lshdb passages`; the texts of --base

Doors: cli.base_texts, line_ends, lookups, model, options, passage_pairs, passage_runs,
passage_windows, passages, places, positions, processes, rarity, reworded, table_part, weights,
winnowing.
"""
