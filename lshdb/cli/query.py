"""`lshdb query`: find documents similar to a text, or to rows of a table."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb import errors, groups, offers, progress
from lshdb.cli import documents, messages, results
from lshdb.cli.options import DatabaseFile, FailIfFound, Form
from lshdb.database import Database, store_of
from lshdb.model import Match
from lshdb.options import QueriesOptions, QueryManyOptions, QueryOptions, RankingOptions, StoredKey
from lshdb.read.paths import STDIN, key_of
from lshdb.search import result_tables
from lshdb.search.query import search
from lshdb.text import shingling

if TYPE_CHECKING:
    from lshdb.read.batch import Batch
    from lshdb.read.session import Session

_Answer = tuple[str, list[Match]]
_ADVICE = "a text itself goes with --text, a key with --key"
_COUNTED = 500
"""Queries between two updates of the progress bar."""


class QueryChoice(groups.Options):
    """The one query, if no files are."""

    text: Annotated[
        str | None, groups.Option("The text itself, instead of FILE.", metavar="TEXT")
    ] = None
    key: StoredKey = None

    def check(self, files: Sequence[str], *, unmatched: bool) -> None:
        """UsageError unless there is one kind of query, and files if `unmatched` is given."""
        kinds = bool(files), self.text is not None, self.key is not None
        if sum(kinds) != 1:
            raise errors.UsageError("give one of FILE..., -, --text TEXT and --key KEY")
        if unmatched and not files:
            raise errors.UsageError("--unmatched is for FILE...")

    def content(self, of_sets: shingling.OfSets) -> shingling.Content | None:
        """The text or set that is given; None without one."""
        if self.text is None or not of_sets:
            return self.text
        from lshdb.read.records import RecordOptions

        try:
            return RecordOptions(of_sets).content_of(self.text)
        except errors.InputError as error:
            raise errors.InputError(f"--text: {error}") from error


def query(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Texts, tables, directories, or - for standard input.",
        ),
    ] = None,
    file: DatabaseFile,
    choice: QueryChoice,
    options: RankingOptions,
    unmatched: Annotated[bool, groups.Option("Print the queries without a match.")] = False,
    fail_if_found: FailIfFound = False,
    reading: QueriesOptions,
    form: Form,
) -> bool:
    """Find the stored documents similar to a text, or to each row of a table.

    A match is a line: the similarity, then exact, estimate, identical (the same bytes) or same
    text, then the key. With several queries it begins with the key of the query. A document is
    not among its own matches, nor is that of a file, even if the file has changed since.

    Example: lshdb query -d code.db suspicious.py --top 5

    Example: lshdb query -d train.db test.parquet --fail-if-found

    Example: lshdb query page.txt --where "metadata ->> '$.lang' = ?" -p en
    """
    files = files or []
    choice.check(files, unmatched=unmatched)
    documents.check_single_stdin(files)
    counts = _QueryCounts(options.similar.top)
    form.check(file.db, *files)
    with file.open("read") as database, ExitStack() as stack:
        several, session = False, None
        if files:
            session = documents.queries_session(database, reading)
            if several := session.may_be_several(files, _ADVICE):
                shown = session.shown(messages.shows_progress(), "query", files)
                counts.progress = stack.enter_context(shown)
            answers = counts.answers(database, session, files, options, several=several)
        else:  # imports nothing that reads files
            content = choice.content(database.settings.shingling.of_sets)
            single = QueryOptions(content, ranking=options, key=choice.key)
            answers = iter([("", search(store_of(database), options, single))])
        answers = stack.enter_context(closing(counts.of_others(answers)))
        first = [*islice(answers, 1)]  # a search that is refused is refused here, without a note
        minimum = _note_recall(database, options)
        answers = chain(first, answers)
        if unmatched:
            keys = ((key,) for key, matches in answers if not matches)
            none, noun = "every query has a match", ("query", "queries")
            results.write_results({"query": str}, keys, form, noun=noun, none=none)
        else:
            _write_matches(answers, database, options, form, minimum=minimum, several=several)
    failed = session.counts.failures.count if session else 0
    if several or unmatched:
        bad = f", failed {failed:,}" if failed else ""
        messages.message(f"queries {counts.queries:,}, with a match {counts.matched:,}{bad}")
    if session and several:
        documents.report_skipped_files(session.counts.skipped.counts())
    return bool(failed or (fail_if_found and counts.matched))


class _QueryCounts:
    """How many queries there were, and how many had a match other than their own file."""

    def __init__(self, top: int | None) -> None:
        self.top = top
        self.queries = self.matched = 0
        self.files: set[str] = set()
        self.progress: progress.Progress = progress.silent

    def answers(
        self,
        database: Database,
        session: "Session",
        files: Sequence[str],
        options: RankingOptions,
        *,
        several: bool,
    ) -> Iterator[_Answer]:
        """The matches of the documents of files, whose keys are remembered."""
        if self.top is not None:
            # One more, as a file is left out of its own matches.
            options = groups.replaced(options, top=self.top + 1)
        store = store_of(database)
        if not several:
            document = documents.document_of_file(session, files[0])
            name = files[0]
            if name != STDIN:
                name = key_of(name, store.root)
                self.files.add(name)
            return iter([(name, search(store, options, document))])
        from lshdb.write.queries import answer_many  # 15 ms, which one file does not need

        batches = self._noted(session.batches(files))
        documents_read = session.options.whole_documents(batches, database.path.parent)
        many, on_failure = QueryManyOptions(ranking=options), session.counts.failures
        return answer_many(store, documents_read, many, on_failure=on_failure)

    def _noted(self, batches: "Iterable[Batch]") -> "Iterator[Batch]":
        for batch in batches:
            self.files.update(key for key, _ in batch.states)
            yield batch

    def of_others(self, answers: Iterable[_Answer]) -> Generator[_Answer]:
        """The answers as they come, without a file as a match of itself."""
        for name, matches in answers:
            others = [match for match in matches if match.key != name or name not in self.files]
            self.queries += 1
            self.matched += bool(others)
            if not self.queries % _COUNTED:
                self.progress(self.queries, None, "queries")
            yield name, others[: self.top]


def _write_matches(
    answers: Iterable[_Answer],
    database: Database,
    options: RankingOptions,
    form: Form,
    *,
    minimum: float,
    several: bool,
) -> None:
    """Write a row for each match, which begins with the key of its query if there are several."""
    lead = ["query"] if several else []
    columns = result_tables.match_columns(options, *lead)
    scores = ["containment", "similarity"] if options.containment else ["similarity"]
    results.write_results(
        columns,
        (
            (*[key][: len(lead)], *row)
            for key, matches in answers
            for row in result_tables.Matches(matches, columns).rows()
        ),
        form,
        shown=(*lead, *filter(None, [options.weighted.sort]), *scores, "exact", "key"),
        fields=options.similar.fields,
        noun=("match", "matches"),
        none=f"no document with {scores[0]} {minimum:g} or more",
        store=store_of(database),
    )


def _note_recall(database: Database, options: RankingOptions) -> float:
    """Note what the index finds at the minimum similarity or containment; return this minimum."""
    settings, threshold = database.settings, options.similar.threshold
    if not (options.exhaustive or options.containment):
        return messages.noted_minimum(settings, threshold, "; --exhaustive finds all")
    minimum = threshold or settings.threshold
    if not options.exhaustive:
        note = offers.offered(offers.OF_OPTIONS, "containment")
        messages.message(note(settings, minimum))
    return minimum
