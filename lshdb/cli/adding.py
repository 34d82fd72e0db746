"""Commands that change the file: init, add, remove."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli.options import DEFAULT_PATH, AsJson, DatabasePath, key_given
from lshdb.cli.output import json_line, message
from lshdb.cli.running import FAILED, INTERRUPTED, failed

if TYPE_CHECKING:
    from lshdb.model import AddReport
    from lshdb.readers import Reader
from lshdb.records import Failure

_FAILURES_SHOWN = 20


def init(
    db: DatabasePath = DEFAULT_PATH,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Jaccard similarity, 0 to 1, from which documents count as similar. [default: 0.8]"
        ),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            help="Share of the pairs at the threshold that the index finds. [default: 0.99]"
        ),
    ] = None,
    shingle: Annotated[
        str | None,
        typer.Option(
            metavar="word:W|char:K|set",
            help="What is compared: runs of W words, runs of K characters, or sets of elements. "
            "[default: word:3]",
        ),
    ] = None,
    purpose: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="short-text|documents|code|baskets",
            help="What is compared: sets shingle and threshold, where they are not given.",
        ),
    ] = None,
    permutations: Annotated[
        int | None,
        typer.Option(
            help="Lanes of a signature, 16 to 4096. [default: 128, or what the bands take]"
        ),
    ] = None,
    bands: Annotated[
        int | None,
        typer.Option(help="Bands of the index, with --rows, instead of those for the recall."),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of a band, with --bands.")] = None,
    construction: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help='Bands and rows as one text, "and ROWS, or BANDS", or a cascade of levels, '
            'innermost first: "and 4, or 4, and 4, or 4".',
        ),
    ] = None,
    sketch: Annotated[
        str | None, typer.Option(metavar="fast|minhash", help="Kind of signature. [default: fast]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all hashes. [default: 1]")] = None,
    no_content: Annotated[
        bool,
        typer.Option(
            "--no-content", help="Keep signatures only: a smaller file, but estimates for results."
        ),
    ] = False,
) -> None:
    """Make a database file.

    Not needed before add: it makes a file with the defaults. For a file that exists, the
    settings given must be its own.

    Example: lshdb init -d code.db --threshold 0.7 --shingle char:5
    """
    import lshdb

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
        purpose=purpose,
    ) as database:
        s = database.settings
        done = "exists already" if existed else "made"
        cascade = f" ({s.construction})" if s.construction.higher else ""
        message(
            f"{db} {done}: shingle {s.shingling}, threshold {s.threshold:g}, "
            f"{s.construction.bands} bands of {s.construction.rows} rows{cascade}, "
            f"recall {s.recall:g}"
        )


def add(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Text files, directories, JSON lines (.jsonl, .ndjson), or - for standard input.",
        ),
    ],
    db: DatabasePath = DEFAULT_PATH,
    format: Annotated[
        str,
        typer.Option(metavar="auto|text|jsonl", help="What the files are; auto: by their suffix."),
    ] = "auto",
    key_field: Annotated[
        str, typer.Option(metavar="NAME", help="The key's field in a JSON line.")
    ] = "id",
    text_field: Annotated[
        str, typer.Option(metavar="NAME", help="The text's field in a JSON line.")
    ] = "text",
    set_field: Annotated[
        str, typer.Option(metavar="NAME", help="The set's field in a JSON line.")
    ] = "set",
    key: Annotated[
        str | None,
        typer.Option(metavar="KEY", parser=key_given, help="Read - as one text with this key."),
    ] = None,
    auto_key: Annotated[
        bool, typer.Option("--auto-key", help="Give a JSON line without a key the key FILE:LINE.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what is not UTF-8 instead of replacing it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add documents.

    A text file is one document, and its path is its key; a directory is walked, without hidden
    and binary files and symbolic links. A JSON line is {"id": ..., "text": ...} or, in a
    database of sets, {"id": ..., "set": [...]}.

    Adding a key again replaces the document; the same content changes nothing. What cannot be
    read is told and counted, the rest is added, and the exit status is 1.

    Example: lshdb add -d code.db src/
    """
    import lshdb
    from lshdb.cli.progress import progress_bar
    from lshdb.model import AddReport
    from lshdb.readers import STDIN, Reader, input_bytes

    if format not in ("auto", "text", "jsonl"):
        raise lshdb.UsageError(f"--format {format} is not auto, text or jsonl")
    if key is not None and (paths != [STDIN] or format == "jsonl"):
        raise lshdb.UsageError("--key is for one text on standard input: lshdb add --key KEY -")
    if key == "":
        raise lshdb.UsageError("--key is empty")
    with lshdb.open(db) as database:
        reader = Reader(
            of_sets=database.settings.shingling.of_sets,
            format=format,  # type: ignore[arg-type]  # just checked
            key_field=key_field,
            text_field=text_field,
            set_field=set_field,
            strict=strict,
            auto_key=auto_key,
            stdin=sys.stdin.buffer if sys.stdin else None,
            stdin_key=key,
        )
        total = AddReport()
        failures = _Failures()
        interrupted = False
        try:
            with progress_bar("adding", input_bytes(paths)) as progress:

                def written(report: AddReport) -> None:
                    nonlocal total
                    total += report
                    progress(reader.bytes_read, total.documents)

                database.add_files(paths, reader, on_batch=written, on_failure=failures.tell)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Also where the disk is full: the batches before are in the file.
            _report(total, reader, as_json)
    if interrupted:
        raise failed("interrupted; what is counted above is in the file", INTERRUPTED)
    if total.failed:
        raise typer.Exit(FAILED)


class _Failures:
    """Tells the first failures, each on a line."""

    def __init__(self) -> None:
        self._told = 0

    def tell(self, failure: Failure) -> None:
        """Tell one."""
        self._told += 1
        if self._told <= _FAILURES_SHOWN:
            message(f"lshdb: {failure.where or repr('')}: {failure.reason}")
        elif self._told == _FAILURES_SHOWN + 1:
            message("lshdb: further failures are counted only")


def _report(total: AddReport, reader: Reader, as_json: bool) -> None:
    replaced = total.replaced + reader.replaced
    passed_over = {
        "hidden": reader.hidden,
        "binary": reader.binary,
        "links": reader.links,
        "special": reader.special,
    }
    if as_json:
        json_line(
            {
                "added": total.added,
                "updated": total.updated,
                "unchanged": total.unchanged,
                "skipped": 0,
                "failed": total.failed,
                "empty": total.empty,
                "replaced": replaced,
                "passed_over": passed_over,
            }
        )
        return
    parts = [
        f"added {total.added:,}",
        f"updated {total.updated:,}",
        f"unchanged {total.unchanged:,}",
        f"failed {total.failed:,}",
    ]
    message(", ".join(parts))
    if total.empty:
        message(f"empty: {total.empty:,} without a shingle, similar to nothing")
    if replaced:
        message(f"not UTF-8: {replaced:,}, bad bytes replaced (--strict refuses them)")
    over = [f"{amount:,} {kind}" for kind, amount in passed_over.items() if amount]
    if over:
        message(f"passed over: {', '.join(over)}")


def remove(
    keys: Annotated[
        list[str],
        typer.Argument(metavar="KEY...", parser=key_given, help="Keys of documents."),
    ],
    db: DatabasePath = DEFAULT_PATH,
) -> None:
    """Remove documents.

    If one of the keys is not there, nothing is removed.

    Example: lshdb remove -d code.db src/old.py
    """
    import lshdb

    with lshdb.open(db, mode="write") as database:
        database.remove_many(keys)
        message(f"removed {len(set(keys)):,}")
