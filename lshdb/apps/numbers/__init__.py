"""Texts that differ in a number are not similar (`--distinguish numbers`).

In: texts of similar documents. Out: which pairs have the same numbers in the same order.

    numbers  the numbers of a text, as they are written; the filter of pairs

Doors: .
"""
