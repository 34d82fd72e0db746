"""`lshdb passages`: find the passages that a text shares with documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lshdb import formatting, groups, model
from lshdb.apps.passages.cli.base_texts import base_texts
from lshdb.apps.passages.model import PAIR_TOTALS, PASSAGE, SOURCE, CommonPassage, passage_values
from lshdb.apps.passages.options import Base, PassagePairsOptions, PassagesOptions, TextFieldOptions
from lshdb.cli import documents, messages, results
from lshdb.cli.options import DatabaseFile, FailIfFound, Form
from lshdb.database import Database
from lshdb.errors import UsageError
from lshdb.options import GroupBy, QueriesOptions, StoredKey
from lshdb.sketch.settings import unit_of

if TYPE_CHECKING:
    from lshdb.read.session import Session

_TextQuery = tuple[str, str | None, bool]
"""The key of a text, the text, None for a stored one, and whether it is all of a file."""
_ADVICE = "a stored document goes with --key KEY"
_COMMON_SHOWN = 5
_OF_PASSAGE = ("passage_words", "line", "stored_line", "text")
"""Columns of a passage that a line ends with."""


class TextChoice(groups.Options):
    """Which texts other than those of files, and whether pairs of them have a line a passage."""

    key: StoredKey = None
    everything: Annotated[
        bool, groups.Option("All pairs of stored documents that share a passage.", flags=("--all",))
    ] = False
    each: Annotated[
        bool,
        groups.Option("With --all, print a line a passage.", flags=("--passages",)),
    ] = False

    def __post_init__(self) -> None:
        if self.each and not self.everything:
            raise UsageError("--passages is for --all; one text has a line a passage")

    def check(self, files: Sequence[str], group_by: GroupBy) -> None:
        """UsageError unless there is one kind of texts, and folders only of all pairs."""
        if sum((bool(files), self.key is not None, self.everything)) != 1:
            raise UsageError("give one of FILE..., -, --key KEY and --all")
        if group_by is not None and not self.everything:
            raise UsageError("--group-by is for --all")


def passages(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Texts, tables whose rows are texts, directories, or - for standard input.",
        ),
    ] = None,
    file: DatabaseFile,
    texts: TextChoice,
    options: PassagePairsOptions,
    base: Base = None,
    fail_if_found: FailIfFound = False,
    fields: TextFieldOptions,
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
    texts.check(files, options.group_by)
    documents.check_single_stdin(files)
    form.check(file.db, *files, *(base or ()))
    with file.reading(form, temporary=options.group_by is not None) as database:
        if base:
            texts_to_ignore = base_texts(base, database.settings.shingling)
            options = groups.replaced(options, base=tuple(texts_to_ignore.values()))
        if texts.everything:
            failed, count = 0, _write_pairs(database, options, form, each=texts.each)
        else:
            session = documents.queries_session(
                database, QueriesOptions(**groups.values_of(fields))
            )
            several = bool(files) and session.may_be_several(files, _ADVICE)
            queries = _text_queries(session, files) if files else [(texts.key, None, False)]
            count = _write_sources(database, queries, options, form, several=several)
            if several:
                documents.report_skipped_files(session.counts.skipped.counts())
            failed = session.counts.failures.count
    return bool(failed or (fail_if_found and count))


def _write_pairs(
    database: Database, options: PassagePairsOptions, form: Form, *, each: bool
) -> int:
    """Write the pairs of documents, or each of their passages; return how many rows."""
    pairs = database.passage_pairs(options)
    rows: Iterable[Sequence[Any]]
    if each or options.reworded:
        types, rows, noun = pairs.columns, islice(pairs.rows(), options.top), "passage"
        sides = ("a", "b") if options.group_by is None else ("file", "stored_file")
        shown = [*_scores(options), "words", *sides, *_OF_PASSAGE]
    else:
        types, rows, noun = PAIR_TOTALS, pairs.totals(), "pair"
        shown = [*_scores(options), "a_coverage", "b_coverage", "words", "a", "b"]
    count = results.write_results(
        types,
        rows,
        form,
        shown=shown,
        noun=(noun,),
        none="no passage that two documents share",
    )
    _note_common(pairs.common, database, options)
    return count


def _write_sources(
    database: Database,
    queries: Iterable[_TextQuery],
    options: PassagePairsOptions,
    form: Form,
    *,
    several: bool,
) -> int:
    """Write the passages that stored documents share with each text; return how many."""
    common: list[tuple[str, CommonPassage]] = []
    coverage = [] if options.reworded else ["coverage"]
    lead = ["query"] if several else []
    count = results.write_results(
        {"query": str, **SOURCE, **PASSAGE},
        _rows(database, queries, options, common),
        form,
        shown=[*lead, *_scores(options), *coverage, "key", *_OF_PASSAGE],
        noun=("passage",),
        none="no passage of a stored document",
    )
    _note_common(common, database, options)
    return count


def _scores(options: PassagePairsOptions) -> list[str]:
    """The columns by which rows are ranked, which a line begins with."""
    sort = options.weighted.sort
    return [*([sort] if sort else []), *(["score", "kind"] if options.reworded else [])]


def _text_queries(session: "Session", files: Sequence[str]) -> Iterator[_TextQuery]:
    """The texts of files, one by one; what gives none is reported."""
    for batch in session.batches(files):
        of_files = {key for key, _ in batch.states}
        for document in batch.items():
            if isinstance(document, model.Failure):
                session.counts.failures(document)
            elif isinstance(document.content, str):
                yield document.key, document.content, document.key in of_files


def _rows(
    database: Database,
    queries: Iterable[_TextQuery],
    options: PassagePairsOptions,
    common: list[tuple[str, CommonPassage]],
) -> Iterator[tuple[object, ...]]:
    """The passages of each query; the document of a file is not its own source.

    Common runs are appended to `common`, with the key of their query.
    """
    top = options.top
    for key, text, is_file in queries:
        # One more, as a file is left out of its own sources.
        search = options if top is None or not is_file else replace(options, top=top + 1)
        stored_key = key if text is None else None
        sources = database.passages(PassagesOptions(text, search=search, key=stored_key))
        common += [(key, run) for run in sources.common]
        if not sources.words:
            shortest = f"{sources.shortest} {sources.unit}s"
            messages.message(f"{key}: shorter than {shortest}: no passage can be found")
        others = [source for source in sources if not is_file or source.key != key]
        for source in others[:top]:
            totals = [getattr(source, name) for name in SOURCE]
            for passage in source.passages:
                yield key, *totals, *passage_values(passage)


def _note_common(
    runs: Sequence[tuple[str, CommonPassage]],
    database: Database,
    options: PassagePairsOptions,
) -> None:
    """Note in one line the longest of the runs that do not count, if there are any."""
    if not runs:
        return
    unit, max_documents = unit_of(database.settings.shingling), options.copied.runs.common
    shown = [run.at(key, unit) for key, run in sorted(runs, key=lambda row: -row[1].words)]
    most = formatting.counted(max_documents, "document")
    messages.message(
        f"runs in more than {most} do not count: {formatting.listed(shown, _COMMON_SHOWN)}"
    )
