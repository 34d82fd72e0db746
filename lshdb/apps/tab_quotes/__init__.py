"""Quotes in fields between tabs: of TSV by the rules of CSV, and of fields that are as they are.

In: lines of a file whose fields tabs delimit. Out: the fields of rows.

    tab_fields   which quotes quote a field, and which lines are one row

Doors: tab_fields.
"""
