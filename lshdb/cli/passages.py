"""`lshdb passages`: find the passages that a text shares with documents."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lshdb.cli import documents, messages, results, similar
from lshdb.cli.files import STDOUT
from lshdb.cli.options import Base, DatabaseFile, FailIfFound, Form
from lshdb.cli.tables import Extras
from lshdb.columns import PAIR_TOTALS, PASSAGE, SOURCE, passage_values
from lshdb.database import Database
from lshdb.errors import InputError, UsageError
from lshdb.formatting import counted, listed
from lshdb.groups import Option, replaced
from lshdb.limits import DEFAULTS
from lshdb.model import CommonPassage, Failure
from lshdb.options import (
    FieldOptions,
    PassagePairsOptions,
    PassagesOptions,
    QueriesOptions,
    StoredKey,
)
from lshdb.search.passages import unit_of

if TYPE_CHECKING:
    from lshdb.sources.session import Session

_COMMON_SHOWN = 5


def passages(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Texts, tables whose rows are texts, directories, or - for standard input.",
        ),
    ] = None,
    at: DatabaseFile,
    key: StoredKey = None,
    everything: Annotated[
        bool, Option("All pairs of stored documents that share a passage.", flags=("--all",))
    ] = False,
    each: Annotated[
        bool,
        Option("With --all, print a line a passage.", flags=("--passages",)),
    ] = False,
    asked: PassagePairsOptions,
    base: Base = None,
    fail_if_found: FailIfFound = False,
    fields: FieldOptions,
    form: Form,
) -> bool:
    """Find the passages that a text shares with stored documents, and where.

    The index of passages finds every run of words that both have, from the length with which it
    was made: lshdb init --passages 8, or lshdb reindex --passages 8. Case and punctuation do not
    matter. With char shingles it finds runs of characters, with code shingles of a program's
    tokens. A stored document is not its own source, nor is that of a file, even a changed one.

    A passage is a line: the share of the text that its document has, the document's key, the
    number of words, its line in the text and in the document, and its text. The document that
    has most of the text comes first. With several texts it begins with the key of the text.

    With --reworded it finds stretches of some 50 words that share rare words, in whatever order,
    in a file that was made with lshdb init --reworded. A line begins with the score of the passage,
    and whether it is copied or reworded; the document with the highest score comes first.

    With --all a pair is a line: the share of the first document that is in shared passages, that
    of the second, how many words, and both keys; the larger share first. --passages prints each
    passage, with --top or --sort those of the best pairs first.

    Example: lshdb passages essay.txt -d essays.db --base task.txt

    Example: lshdb passages essays/ -d sources.db --top 3
    """
    files = files or []
    if sum((bool(files), key is not None, everything)) != 1:
        raise UsageError("give one of FILE..., -, --key KEY and --all")
    several = _are_several(files)
    if each and not everything:
        raise UsageError("--passages is for --all; one text has a line a passage")
    if asked.group_by is not None and not everything:
        raise UsageError("--group-by is for --all")
    form.check(at.db, *files)
    with at.reading(form, temporary=asked.group_by is not None) as database:
        read = partial(documents.content_of_file, database)
        texts = documents.ignored_texts(base or (), database.settings.shingling, read)
        asked = replaced(asked, base=texts, progress=messages.shows_progress())
        lead = [
            *filter(None, [asked.weighted.sort]),
            *(["score", "kind"] if asked.reworded else []),
        ]
        place = ("passage_words", "line", "stored_line", "text")
        noun = "passage"
        rows: Iterable[Sequence[Any]]
        noted: list[tuple[str, CommonPassage]] = []
        if everything:
            pairs = database.passage_pairs(asked)
            noted = pairs.common
            if each or asked.reworded:
                columns, rows = pairs.columns, islice(pairs.rows(), asked.top)
                of = ("a", "b") if asked.group_by is None else ("file", "stored_file")
                shown = [*lead, "words", *of, *place]
            else:
                columns, rows, noun = PAIR_TOTALS, pairs.totals(), "pair"
                shown = [*lead, "a_coverage", "b_coverage", "words", "a", "b"]
            none = "no passage that two documents share"
        else:
            columns = {"query": str, **SOURCE, **PASSAGE}
            session = documents.queries_session(database, QueriesOptions(names=fields))
            queries: Iterable[_TextQuery] = [(key, None, False)]
            if files:
                queries = _text_queries(session, files)
            rows = _rows(database, queries, asked, noted)
            before = ["query"] if several else []
            shown = [*before, *lead, *([] if asked.reworded else ["coverage"]), "key", *place]
            none = "no passage of a stored document"
        count = results.write_results(
            columns,
            rows,
            form,
            shown=shown,
            noun=(noun,),
            none=none,
            extras=Extras(below="text"),
        )
        if noted:
            _note_common(noted, unit_of(database.settings), asked.copied.runs.common)
        if several:
            documents.report_skipped_files(session.counts.skipped.counts())
        failed = 0 if everything else session.counts.failures.count
    return bool(failed or (fail_if_found and count))


def _are_several(files: Sequence[str]) -> bool:
    """Whether files may have several texts: the rows of passages then begin with their keys."""
    similar.check_one_stdin(files)
    many_files = len(files) > 1 or any(map(similar.names_files, files))
    if files and not many_files and files[0] != STDOUT and not os.path.exists(files[0]):
        raise InputError(f"{files[0]}: no such file; a stored document goes with --key KEY")
    return many_files or any(map(documents.is_table, files))


_TextQuery = tuple[str, str | None, bool]
"""The key of a text, the text, None for a stored one, and whether it is all of a file."""


def _text_queries(session: "Session", files: Sequence[str]) -> Iterator[_TextQuery]:
    """The texts of files, one by one; what gives none is reported."""
    for batch in session.batches(files):
        of_files = {key for key, _ in batch.states}
        for document in batch.items():
            if isinstance(document, Failure):
                session.counts.failures(document)
            elif isinstance(document.content, str):
                yield document.key, document.content, document.key in of_files


def _rows(
    database: Database,
    queries: Iterable[_TextQuery],
    asked: PassagePairsOptions,
    noted: list[tuple[str, CommonPassage]],
) -> Iterator[tuple[object, ...]]:
    """The passages of each query; the document of a file is not its own source.

    Common runs are noted, with the key of their query.
    """
    top = asked.top
    for key, text, is_file in queries:
        one_more = asked if top is None or not is_file else replace(asked, top=top + 1)
        result = database.passages(
            PassagesOptions(text, search=one_more, key=key if text is None else None)
        )
        noted += [(key, one) for one in result.common]
        if not result.words:
            shortest = f"{result.shortest} {result.unit}s"
            messages.message(f"{key}: shorter than {shortest}: no passage can be found")
        others = [source for source in result if not is_file or source.key != key]
        for source in others[:top]:
            totals = [getattr(source, name) for name in SOURCE]
            for passage in source.passages:
                yield key, *totals, *passage_values(passage)


def _note_common(noted: Sequence[tuple[str, CommonPassage]], unit: str, common: int | None) -> None:
    """Note in one line the longest of the runs that do not count."""
    places = []
    for key, one in sorted(noted, key=lambda each: -each[1].words):
        several = f"s {one.line} to {one.end_line}" if one.end_line > one.line else f" {one.line}"
        places.append(f"{key} line{several} ({one.words:,} {unit}s)")
    messages.message(
        f"runs in more than {counted(common or DEFAULTS.common, 'document')} do not count: "
        f"{listed(places, _COMMON_SHOWN)}"
    )
