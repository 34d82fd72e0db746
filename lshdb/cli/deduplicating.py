"""The command dedup: like uniq, for near duplicates among lines of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from lshdb.cli.documents import Failures, reader_for
from lshdb.cli.files import STDOUT, Output, check_distinct, directory_beside
from lshdb.cli.messages import message, progress_bar, tell, tell_low_recall, tell_recall
from lshdb.cli.options import (
    DEFAULT_TIMEOUT,
    FIELDS,
    SETTINGS,
    AsJson,
    Encoding,
    Fields,
    NewSettings,
    Strict,
    Timeout,
)
from lshdb.cli.running import FAILED


def dedup(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Files of JSON lines, also compressed (.gz, .bz2, .xz, .zst), or - for standard "
            "input.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where the kept lines go; also compressed."
        ),
    ] = "-",
    dropped: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Where the dropped lines go, as lines of JSON; also compressed."
        ),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(
            "--db",
            "-d",
            metavar="FILE",
            help="Compare also with what this database has, and add what is kept.",
            readable=False,
        ),
    ] = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    settings: NewSettings = SETTINGS,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Decide by estimates from signatures, and store no contents."
        ),
    ] = False,
    fields: Fields = FIELDS,
    auto_key: Annotated[
        bool,
        typer.Option(
            "--auto-key", help="With -d: give a line without a key the key FILE:LINE, as without."
        ),
    ] = False,
    strict: Strict = False,
    encoding: Encoding = None,
    as_json: AsJson = False,
) -> None:
    """Drop lines of JSON that are similar to an earlier line.

    Like uniq for near duplicates: lines stay as they are and in order, and each is compared with
    all that were kept before it. --dropped has each dropped line as {"key", "line", "file", "kept",
    "similarity", "exact", "identical"}: the kept one that it resembles most. Blank lines go; lines
    that cannot be read are reported, go, and make the exit status 1.

    With -d it is also compared with the documents of a database, to which the kept ones are added
    as by add: what is stored already is dropped, and a key with new content that is similar to no
    other document replaces the old one. Without -d keys may be repeated or missing.

    Only -d names a database to which lines are added: LSHDB_PATH does not.

    OUTPUT gets its name when all is done. Settings are those of init; for a database that exists
    --threshold is only for this run.

    Example: lshdb dedup crawl.jsonl -o unique.jsonl --dropped dropped.jsonl
    """
    import lshdb
    from lshdb.sources.paths import input_bytes
    from lshdb.sources.walking import Rules

    if dropped == STDOUT and output == STDOUT:
        raise lshdb.UsageError("only one of --output and --dropped can be standard output")
    _check_formats(inputs, ("jsonl", "text", "json"))
    _check_formats([output, *([dropped] if dropped else [])], ("jsonl", "text"))
    _check_inputs(inputs)
    outputs = [output, *([dropped] if dropped else []), *([str(db)] if db else [])]
    check_distinct(inputs, outputs)
    exists = db is not None and db.exists() and db.stat().st_size > 0
    threshold = settings.threshold
    given = settings.given()
    if exists:
        given["threshold"] = None
    # Without -d contents are kept while the command runs: exact similarities need them.
    given["content"] = False if estimate and db is None else None
    failures = Failures()
    counts = _Counts()
    with ExitStack() as stack:
        kept = stack.enter_context(Output(output, keep=db is not None))
        told = stack.enter_context(Output(dropped)) if dropped is not None else None
        where = db or stack.enter_context(_temporary(output))
        database = stack.enter_context(lshdb.open(where, timeout=timeout, **given))
        tell_low_recall(database.settings, settings.bands, settings.construction)
        if threshold is not None and threshold < database.settings.threshold:
            tell_recall(database.settings, threshold)
        reader = reader_for(
            database,
            fields,
            fallback="jsonl",
            strict=strict,
            encoding=encoding,
            auto_key=auto_key or db is None,
            metadata=db is not None,  # nobody would see it
            rules=Rules(ignore=False),  # data is often kept out of git
        )
        bar = progress_bar("dedup", input_bytes(inputs), of_bytes=True)
        progress = stack.enter_context(bar)

        def written(report: lshdb.AddReport) -> None:
            counts.empty += report.empty
            counts.replaced += report.replaced
            progress(reader.bytes_read, documents=counts.kept + counts.dropped)
            kept.flush()
            if told is not None:
                told.flush()

        lines = database.dedup(
            inputs,
            reader,
            threshold=threshold,
            estimate=estimate,
            numbered=db is None,
            on_batch=written,
            on_failure=failures.tell,
        )
        for line in stack.enter_context(closing(lines)):  # type: ignore[type-var]
            if line.skipped is None:
                counts.kept += 1
                kept.write_line(line.data)
                continue
            counts.dropped += 1
            counts.stored += db is not None and line.skipped.kept == line.key
            if told is not None:
                where_from = {"key": line.key, "line": line.number, "file": line.file}
                told.write(f"{json.dumps(where_from | asdict(line.skipped))}\n")
    counts.failed = failures.count
    _report(counts, as_json=as_json, to_stderr=STDOUT in (output, dropped))
    if counts.failed:
        raise typer.Exit(FAILED)


@dataclass(slots=True)
class _Counts:
    """What became of the lines."""

    kept: int = 0
    dropped: int = 0
    stored: int = 0
    failed: int = 0
    empty: int = 0
    replaced: int = 0


def _check_formats(paths: Sequence[str], formats: Container[str]) -> None:
    """UsageError for a file that is none of the formats by its name."""
    from lshdb.errors import UsageError
    from lshdb.sources.paths import format_of

    for path in paths:
        if (format := format_of(path)) not in formats:
            raise UsageError(f"{path}: dedup reads and writes JSON lines, not .{format}")


def _check_inputs(inputs: Sequence[str]) -> None:
    """An error for what cannot be read, before any file is written."""
    from lshdb.errors import InputError

    for path in inputs:
        if path == "-":
            continue
        if os.path.isdir(path):
            raise InputError(f"{path}: is a directory: dedup reads files of JSON lines")
        if os.path.isfile(path):
            with open(path, "rb"):
                pass
        else:
            os.stat(path)


@contextmanager
def _temporary(output: str) -> Iterator[Path]:
    """A place for a database that is deleted at the end.

    It may take as much room as the input: beside the output there is likely enough of it.
    """
    from lshdb.errors import StoreError
    from lshdb.store.partial_files import temporary_directory

    beside = None if os.environ.get("TMPDIR") else directory_beside(output)
    with temporary_directory(beside) as directory:
        try:
            yield directory / "dedup.db"
        except StoreError as error:
            raise StoreError(
                f"{error} (it is temporary: the variable TMPDIR names another directory for it)"
            ) from error


def _report(counts: _Counts, *, as_json: bool, to_stderr: bool) -> None:
    if as_json:
        (tell if to_stderr else print)(json.dumps(asdict(counts)))
        return
    before = f" ({counts.stored:,} stored before)" if counts.stored else ""
    message(f"kept {counts.kept:,}, dropped {counts.dropped:,}{before}, failed {counts.failed:,}")
    if counts.empty:
        message(f"empty: {counts.empty:,} without a shingle, similar to nothing")
    if counts.replaced:
        message(f"not UTF-8: {counts.replaced:,}, bad bytes replaced (--strict refuses them)")
