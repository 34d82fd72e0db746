"""The commands that find similar documents: query, pairs, clusters."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass, replace
from typing import Annotated, Any

import typer

from lshdb.cli import documents, messages, results, running
from lshdb.cli.files import STDOUT
from lshdb.cli.options import DatabaseFile, FailIfFound, Form, Null
from lshdb.database import Database
from lshdb.errors import InputError, UsageError
from lshdb.exchange.results import columns_of, match_columns, match_row, with_fields
from lshdb.formatting import counted, percent
from lshdb.groups import Option, regrouped
from lshdb.model import Match
from lshdb.options import (
    ClustersOptions,
    PairsOptions,
    QueriesOptions,
    QueryManyOptions,
    QueryOptions,
    RankingOptions,
    StoredKey,
    WeightedOptions,
)
from lshdb.progress import Progress, silent
from lshdb.search.passages import unit_of
from lshdb.shards import opened, query_files
from lshdb.shingling.shingling import Content
from lshdb.sketching.constructions import candidate_probability
from lshdb.sources.batch import Batch
from lshdb.sources.paths import escaped, format_of, key_of

_Answer = tuple[str, list[Match]]
_COUNTED = 500
"""Queries between two updates of the progress bar."""


def query(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Texts, tables, directories, or - for standard input.",
        ),
    ] = None,
    at: DatabaseFile,
    text: Annotated[str | None, Option("The text itself, instead of FILE.", metavar="TEXT")] = None,
    key: StoredKey = None,
    asked: RankingOptions,
    unmatched: Annotated[
        bool,
        Option("Print the queries without a match."),
    ] = False,
    fail_if_found: FailIfFound = False,
    reading: QueriesOptions,
    form: Form,
) -> None:
    """Find the stored documents similar to a text, or to each row of a table.

    A match is a line: the similarity, then exact, estimate or identical (the same content byte by
    byte), then the key. With several queries it begins with the key of the query. A document is
    not among its own matches, nor is that of a file, even if the file has changed since. -d
    "shards/*.db" asks all files of a collection.

    Example: lshdb query -d code.db suspicious.py --top 5

    Example: lshdb query -d train.db test.parquet --fail-if-found

    Example: lshdb query page.txt --where "metadata ->> '$.lang' = ?" -p en
    """
    files = files or []
    if sum(bool(given) for given in (files, text is not None, key is not None)) != 1:
        raise UsageError("give one of FILE..., -, --text TEXT and --key KEY")
    if unmatched and not files:
        raise UsageError("--unmatched is for FILE...")
    if files.count(STDOUT) > 1:
        raise UsageError("- is given twice, and standard input can be read once")
    failures = documents.Failures()
    counts = _Counts(asked.top)
    with opened(at.db, at.timeout) as databases, ExitStack() as stack:
        form.check(*(one.path for one in databases), *files)
        database = databases[0]
        if files and asked.top is not None:
            asked = replace(asked, top=asked.top + 1)  # one more, as a file is left out
        several = not _is_one(database, files, reading.format)
        if several:
            from lshdb.ingest.queries import answer_many

            reader = documents.queries_reader(database, reading)
            counts.progress = stack.enter_context(
                reader.shown(messages.shows_progress(), "query", files)
            )
            answers = answer_many(
                [one.store for one in databases],
                counts.files_noted(reader.batches(files)),
                regrouped(asked, QueryManyOptions),
                on_failure=failures.report,
            )
        else:
            content = None if key is not None else _content(database, files, text, reading)
            one = regrouped(asked, QueryOptions, content=content, key=key)
            name = "".join(files)
            if name not in ("", STDOUT):
                counts.files.add(name := key_of(name))
            answers = iter([(name, query_files(databases, one))])
        answers = counts.of_others(answers)
        minimum = database.settings.threshold if asked.threshold is None else asked.threshold
        if asked.containment and not asked.exhaustive:
            _note_containment_recall(database, minimum)
        elif not asked.exhaustive:
            messages.note_recall(database.settings, minimum, "; --exhaustive finds all")
        if unmatched:
            results.write_results(
                {"query": str},
                ((one,) for one, matches in answers if not matches),
                form,
                noun=("query", "queries"),
                none="every query has a match",
            )
        else:
            own = match_columns(containment=asked.containment)
            before = ["query"] if several else []
            by = ["containment", "similarity"] if asked.containment else ["similarity"]
            results.write_results(
                with_fields(dict.fromkeys(before, str) | own, asked.fields),
                (
                    (*[name][: len(before)], *match_row(match, own))
                    for name, matches in answers
                    for match in matches
                ),
                form,
                shown=(*before, *_sorted_by(asked), *by, "exact", "key"),
                fields=asked.fields,
                noun=("match", "matches"),
                none=f"no document with {by[0]} {minimum:g} or more",
            )
    if several or unmatched:
        bad = f", failed {failures.count:,}" if failures.count else ""
        messages.message(f"queries {counts.queries:,}, with a match {counts.matched:,}{bad}")
    if several:
        documents.report_skipped_files(reader.skipped_files.counts())
    if failures.count or (fail_if_found and counts.matched):
        raise typer.Exit(running.FAILED)


@dataclass(eq=False)
class _Counts:
    """How many queries there were, and how many had a match other than their own file."""

    top: int | None

    def __post_init__(self) -> None:
        self.queries = self.matched = 0
        self.files: set[str] = set()
        self.progress: Progress = silent

    def files_noted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches; the keys of text files among them are remembered."""
        for batch in batches:
            self.files.update(key for key, _ in batch.states)
            yield batch

    def of_others(self, answers: Iterable[_Answer]) -> Iterator[_Answer]:
        """The answers as they come, without a file as a match of itself."""
        for name, matches in answers:
            others = [one for one in matches if one.key != name or name not in self.files]
            self.queries += 1
            self.matched += bool(others)
            if not self.queries % _COUNTED:
                self.progress(self.queries, None, "queries")
            yield name, others[: self.top]


def _is_one(database: Database, files: Sequence[str], format: str) -> bool:
    """Whether there is one query: no file, or one that is a document as a whole."""
    if len(files) != 1:
        return not files
    (file,) = files
    if file == STDOUT:
        return not documents.is_table(file, format)
    if os.path.isdir(file) or (glob.has_magic(file) and not os.path.lexists(file)):
        return False
    if not os.path.exists(file):
        raise InputError(f"{file}: no such file; a text itself goes with --text, a key with --key")
    # A set is a JSON array.
    is_set = database.settings.shingling.of_sets and format == "auto" and format_of(file) == "json"
    return is_set or not documents.is_table(file, format)


def _content(
    database: Database, files: Sequence[str], text: str | None, reading: QueriesOptions
) -> Content:
    if text is None:
        return documents.content_of_file(database, files[0], reading)
    try:
        return documents.reader_for(database).content_of(text)
    except InputError as error:
        raise InputError(f"--text: {error}") from error


def _note_containment_recall(database: Database, containment: float) -> None:
    """Note which documents that hold this share of a query are found, or how probably."""
    if run := database.settings.passages:
        unit = unit_of(database.settings)
        messages.message(
            f"documents that hold {run} or more {unit}s of the query in a row are found, however "
            "long they are; --exhaustive also finds those that hold only shorter pieces"
        )
        return
    shares = [containment / (1 + times - containment) for times in (1, 2, 5)]
    found = [candidate_probability(one, database.settings.construction) for one in shares]
    messages.message(
        f"a document that holds {containment:g} of the query's shingles is found with probability "
        f"{', '.join(map(percent, found))} if it is 1, 2, 5 times as long as the query; "
        "--exhaustive finds all"
    )


def pairs(
    *,
    at: DatabaseFile,
    asked: PairsOptions,
    into_table: Annotated[
        bool, Option("Write them to the table similar_pairs of the file, for plain SQL.")
    ] = False,
    form: Form,
) -> None:
    """Find all pairs of similar documents.

    Similarities are exact where the database keeps contents, else estimates. Each pair comes
    once, in the order of addition, as soon as it is found; Ctrl-C or a closed pipe ends it. With
    --top the most similar ones come when all are found. Pairs marked different are left out.

    A line has the similarity of a pair, then exact, estimate or identical, then both keys. With
    --where both must match.

    Example: lshdb pairs -d code.db --threshold 0.9 --top 20
    """
    if into_table:
        if not form.is_text:
            raise UsageError("give one of --into-table, --json, --csv and --output")
        with at.open("write") as database:
            _minimum(database, asked.threshold)
            count = database.store_pairs(asked)
            messages.message(f"{at.db}: table similar_pairs: {counted(count, 'pair')}")
        return
    with at.reading(form, temporary=asked.group_by is not None) as database:
        minimum = _minimum(database, asked.threshold)
        found = database.pairs(asked)
        results.write_results(
            found.columns,
            found.rows(),
            form,
            shown=(*_sorted_by(asked), "similarity", "exact", "a", "b"),
            fields=asked.fields,
            noun=("pair",),
            none=f"no pair with similarity {minimum:g} or more",
        )


def clusters(
    *,
    at: DatabaseFile,
    asked: ClustersOptions,
    drop_list: Annotated[
        bool,
        Option("Print only the keys of what can go."),
    ] = False,
    folders: Annotated[
        bool, Option("Print the pairs of directories that share files, the largest first.")
    ] = False,
    null: Null = False,
    form: Form,
) -> None:
    """Group similar documents, and show which one of each group to keep.

    A cluster is all documents that similar pairs connect. Members that are less similar to the kept
    one than the threshold are marked "below"; with --star there are none. A line has the number of
    the cluster, the similarity to the kept one, the role (keep, member or below, or the decision),
    and the key.

    With --folders a line is two directories, by the keys as paths: the shares of the files below
    each that are in clusters with some of the other, how many these are of the first, the bytes
    that deleting them would free, and both paths.

    Example: lshdb clusters --star --drop-list -0 | lshdb remove --from - -0
    """
    if null and not (drop_list and form.is_text):
        raise UsageError("--null is for --drop-list as text")
    if drop_list + folders + bool(asked.fields) > 1:
        raise UsageError("give one of --drop-list, --folders and --fields")
    if folders and asked.group_by is not None:
        raise UsageError("give one of --folders and --group-by")
    with at.reading(form, temporary=asked.group_by is not None) as database:
        minimum = _minimum(database, asked.threshold)
        if folders:
            from lshdb.search.folders import FolderPair, folder_pairs  # a query needs no pairs

            results.write_results(
                columns_of(FolderPair),
                map(astuple, folder_pairs(database.store, asked)),
                form,
                shown=("a_share", "b_share", "files", "bytes", "a", "b"),
                noun=("pair of directories", "pairs of directories"),
                none="no two directories have half of the files of one in common",
            )
            return
        found = database.clusters(asked)
        if drop_list:
            _write_dropped(found.columns, found.rows(), form, null)
            return
        results.write_results(
            found.columns,
            found.rows(),
            form,
            shown=("cluster", "similarity", "exact", "role", "key"),
            fields=asked.fields,
            noun=("document in clusters", "documents in clusters"),
            none=f"no two documents with similarity {minimum:g} or more",
        )


def _write_dropped(
    columns: Iterable[str], rows: Iterable[Sequence[Any]], form: Form, null: bool
) -> None:
    """Write the keys of members to drop; if lines are keys, only those that fit on a line."""
    names = list(columns)
    role, key = names.index("role"), names.index("key")
    below = unprintable = 0

    def dropped() -> Iterator[tuple[str]]:
        nonlocal below, unprintable
        for row in rows:
            below += row[role] == "below"
            if row[role] not in ("member", "drop"):
                continue
            if form.is_text and not null and escaped(row[key]) != row[key]:
                unprintable += 1
            else:
                yield (row[key],)

    if null:
        results.print_names((one for (one,) in dropped()), null=True)
    else:
        results.write_results({"key": str}, dropped(), form, noun=("key",), none="none to drop")
    if below:
        messages.message(f'"below", so not listed: {below:,}; with --star there are none')
    if unprintable:
        raise running.failed(
            f"keys with control characters, such as newlines, are not listed: {unprintable:,}; "
            "give -0"
        )


def _sorted_by(asked: WeightedOptions) -> tuple[str, ...]:
    """The columns that text begins with: that of the order."""
    return () if asked.sort is None else (asked.sort,)


def _minimum(database: Database, threshold: float | None) -> float:
    """The threshold; a note says what the index finds if it is below the database's."""
    minimum = database.settings.threshold if threshold is None else threshold
    messages.note_recall(database.settings, minimum)
    return minimum
