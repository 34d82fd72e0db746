"""Commands that look inside the file: show, buckets, sql, info."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from lshdb.cli.options import (
    DEFAULT_PATH,
    DEFAULT_TIMEOUT,
    AsCsv,
    AsJson,
    DatabasePath,
    Timeout,
    completed_keys,
    key_given,
)
from lshdb.cli.output import Cell, csv_rows, json_line, pairs, rows
from lshdb.cli.running import end_on_interrupt

_LANES_SHOWN = 8


def show(
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY",
            parser=key_given,
            autocompletion=completed_keys,
            help="The document's key.",
        ),
    ],
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Show one document: its sizes, its metadata, its signature, its buckets.

    Each bucket is a line: the number of its band, its key, how many documents are in it.

    Example: lshdb show -d code.db src/main.py
    """
    import lshdb

    with lshdb.open(db, mode="read", timeout=timeout) as database:
        document = database.get(key)
        buckets = database.buckets_of(key)
        distinct = database.count_distinct(document)
        # Not known of signatures that were made elsewhere.
        shingles = None if database.settings.shingling.foreign else document.shingles
    content = document.content
    lanes = [] if document.signature is None else document.signature.tolist()
    sizes: dict[str, str | int | None] = {"key": document.key, "doc_id": document.doc_id}
    if isinstance(content, str):
        sizes |= {"characters": len(content), "bytes": len(content.encode())}
    elif content is not None:
        sizes["elements"] = len(content)
    sizes |= {"shingles": shingles, "distinct_shingles": distinct}
    if as_json:
        json_line(
            {
                **sizes,
                "metadata": document.metadata,
                "signature": lanes,
                "buckets": [
                    {
                        "band_no": bucket.band_no,
                        "bucket_key": bucket.bucket_key,
                        "documents": bucket.documents,
                    }
                    for bucket in buckets
                ],
            }
        )
        return
    shown = " ".join(f"{lane:08x}" for lane in lanes[:_LANES_SHOWN])
    more = f" ... ({len(lanes)} lanes)" if lanes else "none: no shingle, similar to nothing"
    if document.metadata is not None:
        sizes["metadata"] = json.dumps(document.metadata, ensure_ascii=False)
    pairs(
        {name: value for name, value in sizes.items() if value is not None}
        | {"signature": shown + more, "buckets": len(buckets)}
    )
    if buckets:
        rows(
            ("band_no", "bucket_key", "documents"),
            [(bucket.band_no, bucket.bucket_key, bucket.documents) for bucket in buckets],
        )


def buckets(
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    top: Annotated[int, typer.Option(min=1, help="How many, the largest.")] = 10,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            parser=key_given,
            autocompletion=completed_keys,
            help="Rather all the buckets of this document.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the largest buckets, or those of one document.

    Each bucket is a line: the number of its band, its key, how many documents are in it.

    Example: lshdb buckets -d code.db --top 5
    """
    import lshdb

    end_on_interrupt()
    with lshdb.open(db, mode="read", timeout=timeout) as database:
        # More than SQLite can count is all.
        most = min(top, sys.maxsize)
        found = database.buckets(most) if key is None else database.buckets_of(key)
    names = ("band_no", "bucket_key", "documents")
    table = [(bucket.band_no, bucket.bucket_key, bucket.documents) for bucket in found]
    if as_json:
        for row in table:
            json_line(dict(zip(names, row, strict=True)))
    else:
        rows(names, table)


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="SELECT", help="One statement that reads, in quotes.")
    ],
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Run a SELECT on the file's tables and views.

    Tables: settings, documents, signatures, bands. Views: buckets, bucket_members,
    candidate_pairs. Functions besides SQLite's: lsh_similarity(signature, signature), the
    estimated similarity, and lsh_shingles(content), the distinct shingles as a JSON array.

    On a terminal the output is a table, in a pipe that of the sqlite3 shell, but with control
    characters as escapes and BLOBs in hexadecimal.

    Example: lshdb sql "select * from buckets order by documents desc limit 5"
    """
    import lshdb

    if as_json and as_csv:
        raise lshdb.UsageError("give one of --json and --csv")
    if statement.lstrip().startswith("."):
        raise lshdb.UsageError(
            f"{statement!r} is a command of the sqlite3 shell, not SQL: lshdb sql --help names "
            "the tables"
        )
    end_on_interrupt()
    with lshdb.open(db, mode="read", timeout=timeout) as database:
        names, table = database.sql(statement)
        if as_json:
            fields = _distinct(names)
            for row in table:
                values = [v.hex() if isinstance(v, bytes) else v for v in row]
                json_line(dict(zip(fields, values, strict=True)))
        elif as_csv:
            csv_rows(names, table)
        else:
            rows(names, table, separator="|")


def _distinct(names: Sequence[str]) -> list[str]:
    """Column names made distinct as SQLite itself does it: key, key:1."""
    distinct: list[str] = []
    for name in names:
        candidate, number = name, 0
        while candidate in distinct:
            number += 1
            candidate = f"{name}:{number}"
        distinct.append(candidate)
    return distinct


def info(
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Show the database's settings and size.

    Example: lshdb info -d code.db
    """
    import lshdb

    with lshdb.open(db, mode="read", timeout=timeout) as database:
        info = database.info()
    s = info.settings
    fields: dict[str, Cell] = {
        "documents": info.documents,
        "empty": info.empty,
        "threshold": s.threshold,
        "recall": s.recall,
        "shingle": str(s.shingling),
        "permutations": s.permutations,
        "bands": s.construction.bands,
        "rows": s.construction.rows,
        "construction": str(s.construction),
        "sketch": s.sketch,
        "seed": s.seed,
        "content": s.content,
        "bytes": info.bytes,
    }
    if as_json:
        json_line(fields)
    else:
        pairs({**fields, "content": "kept" if s.content else "not kept"})
