"""Which of similar documents stays, by another rule than the first one added; stars around these.

In: rows and stored documents, what is known of each, the options of a rule. Out: their order.

    ranking      the ranks of documents by a rule, a field or a folder
    field_order  how the values of a field compare
    stored_order the documents of clusters in the order of a rule
    stars        clusters whose members are each similar to the kept one

Doors: field_order, ranking.
"""
