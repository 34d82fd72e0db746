"""The command dedup: like uniq, for near duplicates among the rows of files, or files."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.apps.dedup.options import ComparisonOptions, DedupOutputs, RowsOptions
from lshdb.apps.review.cli import proving
from lshdb.cli import documents, messages, options, results, running
from lshdb.errors import UsageError, limits_to
from lshdb.formatting import counted
from lshdb.groups import Option, uncommon
from lshdb.json_text import dumps
from lshdb.read.outputs import STDOUT
from lshdb.read.paths import path_of_key

if TYPE_CHECKING:
    from lshdb.apps.dedup.cli.job import DedupJob


def dedup(
    *,
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Tables, directories, or -.")
    ],
    outputs: DedupOutputs,
    null: Annotated[
        bool,
        uncommon("Print paths of duplicates, with NUL bytes.", flags=("--null", "-0")),
    ] = False,
    as_json: options.AsJson = False,
    db: Annotated[
        Path | None,
        Option(
            "Compare with it, and add kept rows.",
            metavar="FILE",
            flags=("--db", "-d"),
            parse=options.database_path,
        ),
    ] = None,
    comparison: ComparisonOptions,
    rows: RowsOptions,
    list_skipped: options.ListSkipped = False,
) -> None:
    """Drop rows that are similar to an earlier row.

    Rows keep their order, columns and types; the output's suffix says its format, or the input's.
    Without -o, a directory is text files: dedup prints duplicates, of the same bytes at threshold
    1, with the kept file.

    Example: lshdb dedup crawl.parquet -o unique.parquet --dropped dropped.csv

    Example: lshdb dedup shards/ -o clean/ --key-field url --text-field body

    Example: lshdb dedup a.csv --against b.csv:text=q --only-against -o c.csv
    """
    from lshdb.apps.dedup.cli.job import DedupJob

    reading = documents.counts_printed(print_all=list_skipped)
    job = DedupJob(inputs, rows, comparison.settings, outputs, db, reading)
    if null and not job.are_texts:
        raise UsageError("--null is for files: give a directory and no -o, or --format text")
    with limits_to(job.note), closing(job.run()) as batches:
        lines: Iterator[Sequence[object]] = chain.from_iterable(batches)
        if null:
            paths = ((str(key), path_of_key(str(key), job.root)) for key, *_ in lines)
            names = (proving.path_from_here(p) if os.path.lexists(p) else key for key, p in paths)
            proving.print_names(names, null=True)
        elif job.are_texts:
            results.write_results(
                job.columns,
                lines,
                options.Form(as_json=as_json),
                shown=("similarity", "exact", "key", "kept"),
                fields=list(rows.fields),
                none="no file is similar to an earlier one",
            )
        else:
            for _ in results.noting_absent(job.columns, lines, list(rows.fields)):
                pass
    _report(job, as_json=as_json)
    if proving.report_left(job.left) or job.reading.failures.count:
        raise typer.Exit(running.FAILED)


def _report(job: "DedupJob", *, as_json: bool) -> None:
    """Print how many rows a job has kept, and what was left out, or all as a line of JSON."""
    counts, outputs, failed = job.counts, job.outputs, job.reading.failures.count
    name = ", ".join(reference.name for reference in job.references)
    documents.report_skipped_files(job.of_references.skipped.counts(), of=f"{name}: ")
    skipped = job.reading.skipped.counts()
    if as_json:
        names = ("kept", "dropped", "stored", "failed", "empty", "replaced", "unkeyed")
        record = {name: counts[name] for name in names} | {"failed": failed, "notes": job.notes}
        is_used = STDOUT in (*job.tables_written, outputs.dropped)
        to_stderr = job.are_texts or is_used
        (messages.warn if to_stderr else print)(dumps({**record, "skipped_files": skipped}))
        return
    same = counted(counts["stored"], "is the same row", "are the same rows")
    before = f" ({same} as in an earlier run)" if counts["stored"] else ""
    messages.message(
        f"kept {counts['kept']:,}, dropped {counts['dropped']:,}{before}, failed {failed:,}"
    )
    if counts["unkeyed"]:
        from lshdb.apps.dedup.run import unkeyed_note

        messages.message(unkeyed_note(counts["unkeyed"]))
    documents.report_reading(skipped, counts["replaced"], counts["empty"])
