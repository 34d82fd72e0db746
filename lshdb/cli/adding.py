"""Commands that change the file: init, add, remove."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli.options import (
    DEFAULT_PATH,
    FAILED,
    INTERRUPTED,
    AsJson,
    DatabasePath,
    failed,
    reported_errors,
)
from lshdb.cli.output import json_line, message

if TYPE_CHECKING:
    from lshdb.model import AddReport, Document
    from lshdb.readers import Failure, Reader

_FAILURES_SHOWN = 20


def init(
    db: DatabasePath = DEFAULT_PATH,
    threshold: Annotated[
        float | None,
        typer.Option(help="Jaccard similarity from which documents are similar. [default: 0.8]"),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Share of the pairs at the threshold to be found. [default: 0.99]"),
    ] = None,
    shingle: Annotated[
        str | None, typer.Option(help="word:W, char:K or set. [default: word:3]")
    ] = None,
    permutations: Annotated[
        int | None, typer.Option(help="Lanes of a signature, 16 to 4096. [default: 128]")
    ] = None,
    bands: Annotated[
        int | None, typer.Option(help="Bands, with --rows; else chosen for the recall.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of a band, with --bands.")] = None,
    construction: Annotated[
        str | None, typer.Option(help='The same as text: "and ROWS, or BANDS".')
    ] = None,
    sketch: Annotated[str | None, typer.Option(help="fast or minhash. [default: fast]")] = None,
    seed: Annotated[int | None, typer.Option(help="Of all hashes. [default: 1]")] = None,
    no_content: Annotated[
        bool, typer.Option("--no-content", help="Keep signatures only: results are estimates.")
    ] = False,
) -> None:
    """Make a database file.

    Not needed before add: it makes a file with the defaults. For a file that exists, the
    settings given must be its own.
    """
    import lshdb

    with reported_errors():
        existed = db.exists() and db.stat().st_size > 0
        with lshdb.open(
            db,
            threshold=threshold,
            recall=recall,
            shingle=shingle,
            permutations=permutations,
            bands=bands,
            rows=rows,
            construction=construction,
            sketch=sketch,
            seed=seed,
            content=False if no_content else None,
        ) as database:
            s = database.settings
            done = "is there already" if existed else "made"
            message(
                f"{db} {done}: shingle {s.shingling}, threshold {s.threshold:g}, "
                f"{s.construction.bands} bands of {s.construction.rows} rows, "
                f"recall {s.recall:g}"
            )


def add(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH... | -",
            help="Text files, directories, JSON lines (.jsonl, .ndjson), or - for standard input.",
        ),
    ],
    db: DatabasePath = DEFAULT_PATH,
    format: Annotated[
        str, typer.Option(metavar="auto|text|jsonl", help="auto goes by the file's suffix.")
    ] = "auto",
    key_field: Annotated[str, typer.Option(help="The key's name in a JSON line.")] = "id",
    text_field: Annotated[str, typer.Option(help="The text's name in a JSON line.")] = "text",
    set_field: Annotated[str, typer.Option(help="The set's name in a JSON line.")] = "set",
    key: Annotated[
        str | None, typer.Option(help="Read - as one text, and give it this key.")
    ] = None,
    auto_key: Annotated[
        bool, typer.Option("--auto-key", help="Name lines without a key FILE:LINE.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what is not UTF-8 instead of replacing it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add documents.

    A text file is one document, and its path is its key; a directory is walked, without hidden
    and binary files. A JSON line is {"id": ..., "text": ...} or {"id": ..., "set": [...]}.
    Adding a key again replaces the document; the same content changes nothing.

    Example: lshdb add -d code.db src/
    """
    import lshdb
    from lshdb.cli.progress import progress_bar
    from lshdb.model import AddReport
    from lshdb.readers import Reader, input_bytes

    if format not in ("auto", "text", "jsonl"):
        raise typer.BadParameter(f"{format!r} is not auto, text or jsonl", param_hint="--format")
    with reported_errors(), lshdb.open(db) as database:
        reader = Reader(
            of_sets=database.settings.shingling.of_sets,
            format=format,  # type: ignore[arg-type]  # just checked
            key_field=key_field,
            text_field=text_field,
            set_field=set_field,
            strict=strict,
            auto_key=auto_key,
            stdin=sys.stdin.buffer,
            stdin_key=key,
        )
        failures: Counter[str] = Counter()
        total = AddReport()
        interrupted = False
        with progress_bar("adding", input_bytes(paths)) as progress:

            def on_batch(report: AddReport) -> None:
                nonlocal total
                total += report
                progress(reader.bytes_read, total.documents)

            try:
                database.add_many(_good(reader.read(paths), failures), on_batch=on_batch)
            except KeyboardInterrupt:
                interrupted = True
    _report(total, failures.total(), reader, as_json)
    if interrupted:
        raise failed("interrupted; what is counted above is in the file", INTERRUPTED)
    if failures.total():
        raise typer.Exit(FAILED)


def _good(items: Iterator[Document | Failure], failures: Counter[str]) -> Iterator[Document]:
    """The documents of a stream; failures are told and counted."""
    from lshdb.model import Document

    for item in items:
        if isinstance(item, Document):
            yield item
            continue
        failures["failed"] += 1
        if failures["failed"] <= _FAILURES_SHOWN:
            message(f"lshdb: {item.where}: {item.reason}")
        elif failures["failed"] == _FAILURES_SHOWN + 1:
            message("lshdb: further failures are counted only")


def _report(total: AddReport, failures: int, reader: Reader, as_json: bool) -> None:
    passed_over = {"hidden": reader.hidden, "binary": reader.binary, "special": reader.special}
    if as_json:
        json_line(
            {
                "added": total.added,
                "updated": total.updated,
                "unchanged": total.unchanged,
                "skipped": 0,
                "failed": failures,
                "empty": total.empty,
                "replaced": reader.replaced,
                "passed_over": passed_over,
            }
        )
        return
    parts = [
        f"added {total.added:,}",
        f"updated {total.updated:,}",
        f"unchanged {total.unchanged:,}",
        f"failed {failures:,}",
    ]
    message(", ".join(parts))
    if total.empty:
        message(f"{total.empty:,} without a shingle, similar to nothing")
    if reader.replaced:
        message(f"{reader.replaced:,} not UTF-8, bad bytes replaced (--strict refuses them)")
    over = [f"{count:,} {kind}" for kind, count in passed_over.items() if count]
    if over:
        message(f"passed over: {', '.join(over)} files")


def remove(
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Keys of documents.")],
    db: DatabasePath = DEFAULT_PATH,
) -> None:
    """Remove documents.

    If one of the keys is not there, nothing is removed.

    Example: lshdb remove -d code.db src/old.py
    """
    import lshdb

    with reported_errors(), lshdb.open(Path(db), mode="write") as database:
        database.remove_many(keys)
        message(f"removed {len(set(keys)):,}")
