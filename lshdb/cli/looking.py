"""Commands that look inside the file: show, buckets, sql, info."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from operator import attrgetter
from typing import Annotated, Final

import typer

from lshdb.cli.options import (
    DEFAULT_PATH,
    DEFAULT_TIMEOUT,
    AsJson,
    DatabasePath,
    Timeout,
    completed_keys,
    key_given,
)
from lshdb.cli.results import TEXT, Cell, Columns, Form, facts, json_line, write_results
from lshdb.cli.running import end_on_interrupt

_LANES_SHOWN = 8
_BUCKET: Final[Columns] = {"band_no": int, "bucket_key": int, "documents": int}
_bucket_row = attrgetter(*_BUCKET)


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
                "buckets": [asdict(bucket) for bucket in buckets],
            }
        )
        return
    shown = " ".join(f"{lane:08x}" for lane in lanes[:_LANES_SHOWN])
    more = f" ... ({len(lanes)} lanes)" if lanes else "none: no shingle, similar to nothing"
    if document.metadata is not None:
        sizes["metadata"] = json.dumps(document.metadata, ensure_ascii=False)
    facts(
        {name: value for name, value in sizes.items() if value is not None}
        | {"signature": shown + more, "buckets": len(buckets)}
    )
    if buckets:
        write_results(_BUCKET, map(_bucket_row, buckets), TEXT)


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
    form: Form = TEXT,
) -> None:
    """Show the largest buckets, or those of one document.

    Each bucket is a line: the number of its band, its key, how many documents are in it.

    Example: lshdb buckets -d code.db --top 5
    """
    import lshdb

    form.check(db)
    if form.output is None:
        end_on_interrupt()
    with lshdb.open(db, mode="read", timeout=timeout) as database:
        # More than SQLite can count is all.
        most = min(top, sys.maxsize)
        found = database.buckets(most) if key is None else database.buckets_of(key)
    write_results(_BUCKET, map(_bucket_row, found), form, counted=("bucket", "buckets"))


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="SELECT", help="One statement that reads, in quotes.")
    ],
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    form: Form = TEXT,
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

    if statement.lstrip().startswith("."):
        raise lshdb.UsageError(
            f"{statement!r} is a command of the sqlite3 shell, not SQL: lshdb sql --help names "
            "the tables"
        )
    form.check(db)
    end_on_interrupt()  # also where a file is written: the time goes into the first row
    with lshdb.open(db, mode="read", timeout=timeout) as database:
        names, rows = database.sql(statement)
        write_results(dict.fromkeys(_distinct(names), object), rows, form, separator="|")


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
        facts({**fields, "content": "kept" if s.content else "not kept"})
