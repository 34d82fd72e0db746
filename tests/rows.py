"""Rows as files of each format that lshdb reads, by the libraries that others write them with."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lshdb.read.compression import packed

Row = Mapping[str, Any]


def table_of(rows: Sequence[Row]) -> pa.Table:
    """A table with the columns that any row has."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pa.table(columns or {"id": pa.array([], pa.string()), "text": []})


def as_csv(rows: Sequence[Row], delimiter: str = ",") -> bytes:
    """Values that are not strings are written as JSON; missing ones as an empty field."""
    file, names = io.StringIO(newline=""), [*dict.fromkeys(name for row in rows for name in row)]
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerow(names)
    for row in rows:
        values = [row.get(name, "") for name in names]
        writer.writerow(
            [value if isinstance(value, str) else json.dumps(value) for value in values]
        )
    return file.getvalue().encode()


def as_zstd(data: bytes) -> bytes:
    sink = io.BytesIO()
    with packed(sink, ".zst") as file:
        file.write(data)
    return sink.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": as_zstd,
}


def as_file(name: str, rows: Sequence[Row], chunk: int = 20) -> bytes:
    """The content of a file by the suffixes of its name; in Arrow and Parquet cut into chunks."""
    kind, *packing = name.lower().split(".")[1:]
    sink = io.BytesIO()
    if kind == "json":
        sink.write(json.dumps(rows, indent=1, ensure_ascii=not packing).encode())
    elif kind == "jsonl":
        sink.writelines(json.dumps(row).encode() + b"\n" for row in rows)
    elif kind in ("csv", "tsv", "tab"):
        sink.write(as_csv(rows, "," if kind == "csv" else "\t"))
    elif kind in ("parquet", "pq"):
        pq.write_table(table_of(rows), sink, row_group_size=chunk)
    else:
        table, new = table_of(rows), pa.ipc.new_stream if kind == "arrows" else pa.ipc.new_file
        with new(sink, table.schema) as file:
            file.write_table(table, max_chunksize=chunk)
    return PACKERS[packing[0]](sink.getvalue()) if packing else sink.getvalue()
