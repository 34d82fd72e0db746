"""Data frames of other libraries: rows without near duplicates, in the form that they had.

In: a frame of pandas, Polars, Arrow, DuckDB or Hugging Face, or dicts. Out: the same, fewer rows.

    options      groups of options
    frames       `lshdb.dedup`

Doors: .
"""
