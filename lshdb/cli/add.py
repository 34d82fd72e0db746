"""`lshdb add`: add files, folders and tables, or replace what has changed."""

from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from typing import Annotated

import typer

from lshdb.cli import documents, files, messages, results, running
from lshdb.cli.options import (
    AsJson,
    DatabaseFile,
    ListSkipped,
    Null,
)
from lshdb.columns import DROPPED
from lshdb.errors import UsageError
from lshdb.formatting import counted, number
from lshdb.groups import Option
from lshdb.ingest.failures import MAX_KEPT
from lshdb.model import AddReport, DroppedRow
from lshdb.options import AddFilesOptions
from lshdb.sources.paths import STDIN, escaped, listed
from lshdb.sources.readers import Reader

_KEYS_SHOWN = 5


def add(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...",
            help="Files, directories, or - for standard input.",
        ),
    ] = None,
    at: DatabaseFile,
    asked: AddFilesOptions,
    key: Annotated[
        str | None,
        Option("Key of the text on standard input.", metavar="KEY"),
    ] = None,
    files_from: Annotated[
        str | None,
        Option("Add the paths that FILE (or -) lists.", metavar="FILE"),
    ] = None,
    null: Null = False,
    list_skipped: ListSkipped = False,
    as_json: AsJson = False,
) -> bool:
    """Add files, folders and tables, or replace what has changed.

    A text file is a document, and its path is its key. So is a JSON line, or a row of CSV, Parquet
    or Arrow; its other fields become metadata. The format is detected from the suffix, also before
    .gz, .bz2, .xz or .zst. What cannot be read is reported and left out. Of another database, if it
    is named itself, all documents are added.

    Example: lshdb add -d code.db src/

    Example: lshdb add 'crawl/*.jsonl.zst' mails.csv --key-field url

    Example: lshdb add -d all.db monday.db tuesday.db --on-conflict keep
    """
    paths = paths or []
    if not paths and files_from is None:
        raise UsageError("give PATH..., or --files-from FILE")
    if null and files_from is None:
        raise UsageError("--null is for the list of --files-from")
    if files_from == STDIN and STDIN in paths:
        raise UsageError("standard input is the list of paths, so it cannot be added")
    if asked.metadata_fields and not asked.metadata:
        raise UsageError("give one of --metadata-fields and --no-metadata")
    if key is not None and (paths != [STDIN] or files_from or asked.format not in ("auto", "text")):
        raise UsageError("--key is for one text on standard input: lshdb add --key KEY -")
    if key == "":
        raise UsageError("--key is empty")
    also = () if files_from is None else listed(files.entries_of(files_from, null=null))
    with at.open() as database:
        reader = documents.reader_for(database, asked, stdin_key=key)
        batches: list[AddReport] = []
        failures = documents.Failures(print_all=list_skipped)
        if list_skipped:
            reader.skipped_files.on_skip = documents.report_skip
        interrupted = False
        try:
            options = replace(
                asked,
                reader=reader,
                on_batch=batches.append,
                on_failure=failures.report,
                on_skip=partial(_print_dropped, as_json=as_json),
                progress=messages.shows_progress(),
            )
            database.add_files(chain(paths, also) if files_from else paths, options)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # Also where the disk is full: the batches before are in the file.
            total = sum(batches, AddReport())
            _report(total, reader, as_json)
    if interrupted:
        raise running.failed(
            "interrupted; what is counted above is in the file", running.INTERRUPTED
        )
    return total.failed > 0


def _print_dropped(one: DroppedRow, *, as_json: bool) -> None:
    if as_json:
        results.json_line({name: getattr(one, name) for name in DROPPED})
    else:
        kind = results.exactness(one.exact, one.identical)
        print("\t".join(map(escaped, (str(number(one.similarity)), kind, one.key, one.kept))))


def _report(total: AddReport, reader: Reader, as_json: bool) -> None:
    skipped_files = reader.skipped_files.counts()
    if as_json:
        counts = asdict(total)
        del counts["failures"]  # each was printed
        results.json_line({**counts, "skipped_files": skipped_files})
        return
    skipped = f"skipped {total.skipped:,}, " if total.skipped else ""
    messages.message(
        f"added {total.added:,}, updated {total.updated:,}, unchanged {total.unchanged:,}, "
        f"{skipped}failed {total.failed:,}"
    )
    if total.conflicts:
        did, count = ("kept", total.kept) if total.kept else ("replaced", len(total.conflicts))
        amount = f"{count:,} or more" if count == MAX_KEPT else f"{count:,}"
        have = "document that has" if count == 1 else "documents that have"
        first = ", ".join(map(escaped, total.conflicts[:_KEYS_SHOWN]))
        more = ", ..." if count > _KEYS_SHOWN else ""
        messages.message(
            f"{did} {amount} {have} another content or metadata in an added database: {first}{more}"
        )
    if total.decisions:
        messages.message(
            f"left out {counted(total.decisions, 'decision')} of added databases: they stay there"
        )
    documents.report_reading(skipped_files, total.replaced, total.empty)
