"""The command passages: which runs of words are copied, and from where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from lshdb.cli.documents import Failures, content_of_file, is_table, queries_reader
from lshdb.cli.files import STDOUT
from lshdb.cli.messages import message
from lshdb.cli.options import (
    DATABASE,
    FIELDS,
    TEXT,
    DatabaseFile,
    FailIfFound,
    Fields,
    Form,
    StoredKey,
    Top,
)
from lshdb.cli.results import write_results
from lshdb.cli.running import FAILED
from lshdb.errors import InputError, UsageError

if TYPE_CHECKING:
    from lshdb.database import Database
    from lshdb.model import Passages

_COMMON_SHOWN: Final = 5

Gap: TypeAlias = Annotated[
    int,
    typer.Option(min=0, metavar="WORDS", help="Join passages with up to this many words between."),
]
Common: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="DOCUMENTS",
        help="Ignore passages in more documents than this. [default: 100]",
    ),
]
Base: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE", help="Ignore passages of this text, which anyone may copy; repeatable."
    ),
]


def passages(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE | -",
            help="A text, or a table or JSON lines whose rows are texts; - is standard input.",
        ),
    ] = None,
    at: DatabaseFile = DATABASE,
    key: StoredKey = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All pairs of stored documents that share a passage.")
    ] = False,
    least: Annotated[
        int | None,
        typer.Option(metavar="WORDS", help="Shortest passage. [default: what the index finds]"),
    ] = None,
    top: Top = None,
    gap: Gap = 0,
    common: Common = None,
    base: Base = None,
    fail_if_found: FailIfFound = False,
    fields: Fields = FIELDS,
    form: Form = TEXT,
) -> None:
    """Find which passages of a text are in stored documents, and where.

    The index of passages finds every run of words that both have, from the length with which it
    was made: lshdb init --passages 8, or lshdb reindex --passages 8. Case and punctuation do not
    matter. With char shingles it finds runs of characters. A stored document is not its own source.

    A passage is a line: the share of the text that its document has, the document's key, the
    number of words, its line in the text and in the document, and its text. The document that
    has most of the text comes first.

    Example: lshdb passages essay.txt -d essays.db --base task.txt
    """
    if sum((file is not None, key is not None, everything)) != 1:
        raise UsageError("give one of FILE, -, --key KEY and --all")
    if file not in (None, STDOUT) and not os.path.isfile(str(file)):
        raise InputError(f"{file}: no such file; a stored document goes with --key KEY")
    failures = Failures()
    with at.reading(form) as database:
        texts = tuple(str(content_of_file(database, name)) for name in base or ())
        asked: dict[str, Any] = {
            "least": least,
            "top": top,
            "gap": gap,
            "common": common,
            "base": texts,
        }
        if everything:
            pairs = database.passage_pairs(**asked)
            count = write_results(
                pairs.columns,
                pairs.rows(),
                form,
                shown=("words", "a", "b", "passage_words", "line", "stored_line", "text"),
                counted=("passage", "passages"),
                none="no passage that two documents share",
            )
        else:
            rows = _rows(database, _queries(database, file, key, fields, failures), asked)
            count = _write_passages(rows, form, several=file is not None and is_table(file))
    if failures.count or (fail_if_found and count):
        raise typer.Exit(FAILED)


def _queries(
    database: Database, file: str | None, key: str | None, fields: Fields, failures: Failures
) -> Iterator[tuple[str, str | None]]:
    """The queries: the key of each text, and the text; None for a stored one."""
    if key is not None:
        yield key, None
        return
    from lshdb.sources.records import Failure

    assert file is not None
    for document in queries_reader(database, fields).read([file]):
        if isinstance(document, Failure):
            failures.report(document)
        elif isinstance(document.content, str):
            yield document.key, document.content


def _rows(
    database: Database, queries: Iterable[tuple[str, str | None]], asked: dict[str, Any]
) -> Iterator[tuple[object, ...]]:
    from lshdb.search.limits import COMMON

    for key, text in queries:
        result = database.passages(text, key=key if text is None else None, **asked)
        _note_limits(key, result, asked["common"] or COMMON)
        for source in result:
            totals = (key, source.key, source.coverage, source.stored_coverage, source.words)
            for passage in source.passages:
                yield totals + astuple(passage)


def _note_limits(key: str, result: Passages, common: int) -> None:
    """Note what was not searched."""
    if not result.words:
        message(f"{key}: shorter than {result.shortest} {result.unit}s: no passage can be found")
    documents = f"{common:,} document{'' if common == 1 else 's'}"
    for one in result.common[:_COMMON_SHOWN]:
        lines = f"line {one.line}"
        if one.end_line > one.line:
            lines = f"lines {one.line} to {one.end_line}"
        message(
            f"{key}: {one.words:,} {result.unit}s in more than {documents} do not count: {lines}"
        )
    if len(result.common) > _COMMON_SHOWN:
        message(f"{key}: and {len(result.common) - _COMMON_SHOWN:,} more such passages")


def _write_passages(rows: Iterator[tuple[object, ...]], form: Form, *, several: bool) -> int:
    from lshdb.exchange.results import PASSAGE

    totals = {"query": str, "key": str, "coverage": float, "stored_coverage": float, "words": int}
    shown = ("coverage", "key", "passage_words", "line", "stored_line", "text")
    return write_results(
        {**totals, **PASSAGE},
        rows,
        form,
        shown=("query", *shown) if several else shown,
        counted=("passage", "passages"),
        none="no passage of a stored document",
    )
