"""Data frames of other libraries: rows without near duplicates, in the form that they had.

In: a frame of pandas, Polars, Arrow, DuckDB or Hugging Face, or dicts. Out: the same, fewer rows.

    frames       `lshdb.dedup`
    data_frames  asks a frame for the columns that are needed, and for rows by their numbers

Doors: data_frames, frames.
"""
