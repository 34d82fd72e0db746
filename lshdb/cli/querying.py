"""What finds similar documents and copies: query, passages, pairs, clusters, compare."""

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import Annotated, Any

import typer

from lshdb.cli import documents, messages, parameters, results, running
from lshdb.cli.files import STDOUT
from lshdb.cli.options import Base, DatabaseFile, FailIfFound, Form, Null
from lshdb.cli.tables import NONE, Extras
from lshdb.columns import PAIR_TOTALS, PASSAGE, SOURCE, passage_values
from lshdb.database import Database
from lshdb.errors import InputError, KeyNotFound, UsageError
from lshdb.exchange.results import (
    comparison_record,
    dropped_members,
    match_columns,
    match_row,
    roles,
    with_fields,
)
from lshdb.formatting import counted, listed, number, percent, shortened
from lshdb.groups import Option, regrouped
from lshdb.limits import DEFAULTS
from lshdb.model import Cluster, CommonPassage, Comparison, Document, Failure, Match
from lshdb.options import (
    ClustersOptions,
    EncodingOption,
    FieldOptions,
    PairsOptions,
    PassagePairsOptions,
    PassagesOptions,
    QueriesOptions,
    QueryManyOptions,
    QueryOptions,
    RankingOptions,
    SimilarOptions,
    StoredKey,
)
from lshdb.progress import Progress, silent
from lshdb.search.pair_sample import SEED
from lshdb.search.passages import unit_of
from lshdb.shards import opened, query_files
from lshdb.shingling.shingling import Content
from lshdb.sketching.constructions import candidate_probability
from lshdb.sources.batch import Batch
from lshdb.sources.identity import FilesRead
from lshdb.sources.paths import escaped, format_of, key_of, paths_of_key, printable_path

_Answer = tuple[str, list[Match]]
_COUNTED = 500
"""Queries between two updates of the progress bar."""
_ROWS_SHOWN = 20
"""Passages, elements and buckets that a terminal shows."""
_LINES_SHOWN = 40
"""Lines of differences."""
_LONGEST = 160
"""Characters shown of a passage, half of them from its end."""
_COMMON_SHOWN = 5
_BEGINNING = 250
"""Characters read of a document to show its first words."""


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
) -> bool:
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
    _check_one_stdin(files)
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
                shown=(*before, *filter(None, [asked.sort]), *by, "exact", "key"),
                fields=asked.fields,
                noun=("match", "matches"),
                none=f"no document with {by[0]} {minimum:g} or more",
                extras=_first_words(databases, ["key"], asked),
            )
    if several or unmatched:
        bad = f", failed {failures.count:,}" if failures.count else ""
        messages.message(f"queries {counts.queries:,}, with a match {counts.matched:,}{bad}")
    if several:
        documents.report_skipped_files(reader.skipped_files.counts())
    return bool(failures.count or (fail_if_found and counts.matched))


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


def _check_one_stdin(files: Sequence[str]) -> None:
    """UsageError if standard input would be read twice."""
    if files.count(STDOUT) > 1:
        raise UsageError("- is given twice, and standard input can be read once")


def _names_files(path: str) -> bool:
    """Whether a path stands for several files: a directory, or a pattern."""
    return os.path.isdir(path) or (glob.has_magic(path) and not os.path.lexists(path))


def _is_one(database: Database, files: Sequence[str], format: str) -> bool:
    """Whether there is one query: no file, or one that is a document as a whole."""
    if len(files) != 1:
        return not files
    (file,) = files
    if _names_files(file):
        return False
    if file != STDOUT and not os.path.exists(file):
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

    --sample prints some pairs drawn at random, the most similar first, and from how many they were
    drawn. Read those around a similarity to see whether duplicates begin there. The same seed
    gives the same pairs.

    Example: lshdb pairs -d code.db --threshold 0.9 --top 20

    Example: lshdb pairs --threshold 0.75 --max-similarity 0.85 --sample 20 --fields text
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
            shown=(*filter(None, [asked.sort]), "similarity", "exact", "a", "b"),
            fields=asked.fields,
            noun=("pair",),
            none=f"no pair with similarity {_range(minimum, asked.max_similarity)}",
            extras=_first_words([database], ["a", "b"], asked),
        )
    if found.drawn_from:
        count = min(asked.sample or 0, found.drawn_from)
        seed = SEED if asked.seed is None else asked.seed
        messages.message(
            f"{count:,} of the {counted(found.drawn_from, 'pair')} that match, drawn at random "
            f"(--seed {seed})"
        )


def _first_words(
    databases: Sequence[Database], keys: Sequence[str], asked: SimilarOptions
) -> Extras:
    """How a terminal shows documents by their titles or first words, beside the columns `keys`.

    The user's own fields take their place; folders have no words.
    """
    if asked.fields or getattr(asked, "group_by", None) is not None:
        return NONE

    def words_of(some: Sequence[str]) -> Mapping[str, str]:
        words: dict[str, str] = {}
        for database in databases:
            words = database.store.beginnings(some, _BEGINNING) | words
        return words

    return Extras(keys, words_of)


def _range(minimum: float, maximum: float | None) -> str:
    """The similarities that are wanted, in words."""
    return f"{minimum:g} or more" if maximum is None else f"{minimum:g} to {maximum:g}"


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
    that deleting them would free, both paths, and the files that were not read, such as pictures
    and hidden files: they have no counterpart. If a directory is not there, "of files read".

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
                FolderPair,
                folder_pairs(database.store, asked),
                form,
                shown=("a_share", "b_share", "files", "bytes", "a", "b", "unread"),
                noun=("pair of directories", "pairs of directories"),
                none="no two directories have half of the files of one in common",
            )
            return
        found = database.clusters(asked)
        if drop_list:
            _write_dropped(found, minimum, form, null)
            return
        results.write_results(
            found.columns,
            found.rows(),
            form,
            shown=("cluster", "similarity", "exact", "role", "key"),
            fields=asked.fields,
            noun=("document in clusters", "documents in clusters"),
            none="no document that matches"
            if asked.min_size == 1
            else f"no two documents with similarity {minimum:g} or more",
            extras=_first_words([database], ["key"], asked),
        )


def _write_dropped(clusters: Iterable[Cluster], threshold: float, form: Form, null: bool) -> None:
    """Write the keys of members to drop; if lines are keys, only those that fit on a line."""
    below = unprintable = same = 0

    def dropped() -> Iterator[tuple[str]]:
        nonlocal below, unprintable, same
        for one in clusters:
            below += roles(one, threshold).count("below")
            keys = dropped_members(one, threshold)
            kept_files = FilesRead()
            for key in {*one.members}.difference(keys):
                for path in paths_of_key(key):
                    kept_files.earlier(path)
            for key in keys:
                paths = paths_of_key(key)
                if any(kept_files.earlier(path, remember=False) for path in paths):
                    same += 1
                elif form.is_text and not null and escaped(key) != key:
                    unprintable += 1
                else:
                    yield (key,)

    if null:
        results.print_names(results.paths_of_keys(key for (key,) in dropped()), null=True)
    else:
        results.write_results({"key": str}, dropped(), form, noun=("key",), none="none to drop")
    if same:
        messages.message(f"not listed, as their files are those of kept documents: {same:,}")
    if below:
        messages.message(f'"below", so not listed: {below:,}; with --star there are none')
    if unprintable:
        raise running.failed(
            f"keys with control characters, such as newlines, are not listed: {unprintable:,}; "
            "give -0"
        )


def _minimum(database: Database, threshold: float | None) -> float:
    """The threshold; a note says what the index finds if it is below the database's."""
    minimum = database.settings.threshold if threshold is None else threshold
    messages.note_recall(database.settings, minimum)
    return minimum


def _compared_document(called: str) -> Any:
    """The argument of one of two documents that are compared."""
    return typer.Argument(
        metavar=called,
        autocompletion=parameters.completed_keys,
        help="The key of a stored document, a file, or - for standard input.",
    )


def compare(
    *,
    a: Annotated[str, _compared_document("A")],
    b: Annotated[str, _compared_document("B")],
    at: DatabaseFile,
    buckets: Annotated[
        bool, Option("Show sizes, the estimate and shared buckets, as a pipe has them.")
    ] = False,
    reading: EncodingOption,
    form: Form,
) -> None:
    """Show why two documents are similar, or why not.

    On a terminal: the Jaccard similarity and containment (the share of one's shingles that the
    other holds), what differs, and the passages (for sets: the elements) that both share. With
    --buckets also the sizes of both sets, the estimate with its standard error, whether a query
    for one finds the other, and the buckets that both are in. A name that is both a key and a file
    is the key; write ./NAME for the file.

    Two files need no database: without one, the default settings are used.

    A pipe has all values, but not what differs. A "passage" line has the start and end in A and in
    B, in characters from 0, the text, and its first line in A and in B; an "element" line has an
    element of a set; a "bucket" line has the number of a band and the key of the bucket that both
    are in.

    Example: lshdb compare -d code.db src/main.py src/old.py
    """
    if a == b == "-":
        raise UsageError("standard input can be read once: give - for one document only")
    files = [name for name in (a, b) if name == STDOUT or os.path.exists(name)]
    form.check(at.db, *files)
    alone = len(files) == 2 and not at.is_there
    if alone:
        messages.message(
            f"there is no {at.db}: compared as in a database with the default settings"
        )
    with documents.temporary_database() if alone else at.reading() as database:
        compared = database.compare(
            _document(database, a, reading), _document(database, b, reading)
        )
        record = comparison_record(compared) | {"agreeing_bands": len(compared.shared_buckets)}
        facts = _facts(compared)
        if not form.is_text or not results.on_terminal():
            results.write_record(record, form, facts)
            if form.is_text:
                _print_shared(compared, form, buckets=True)
            return
        summary = _summary(compared, facts)
        results.write_record(record, form, summary)
        print()
        _draw(database, compared)
        if buckets:
            print()
            rest = {name: value for name, value in facts.items() if name not in summary}
            results.write_record(record, form, rest)
        _print_shared(compared, form, buckets=buckets)


def _summary(compared: Comparison, facts: Mapping[str, object]) -> dict[str, object]:
    """The values that say how similar two documents are, without what is of the index."""
    names = ["similarity", "identical", "a", "b", "a_in_b", "b_in_a", "left_out"]
    if compared.similarity is None:
        names.insert(1, "estimate")
    if not compared.candidates:
        names.append("candidates")
    return {name: facts[name] for name in names}


def _print_shared(compared: Comparison, form: Form, *, buckets: bool) -> None:
    """Print the passages or elements that two documents share, and perhaps the buckets.

    On a terminal these are tables of some of them, in a pipe lines that begin with what they are.
    """
    text = str(compared.a_content)
    names = ["a_start", "a_end", "b_start", "b_end", "text", "a_line", "b_line"]
    passages = [
        tuple({**asdict(passage), "text": shortened(shared, _LONGEST)}[name] for name in names)
        for passage in compared.passages or ()
        for shared in [text[passage.a_start : passage.a_end]]
    ]
    band = ["band_no", "bucket_key"]
    elements = [(element,) for element in compared.shared_elements or ()]
    drawn = results.on_terminal()
    if drawn and compared.identical:
        passages = []  # all of both
    for what, columns, rows in (
        ("passage", names, passages),
        ("element", ["shared elements"], elements),
        ("bucket", band, [*map(attrgetter(*band), compared.shared_buckets)]),
    ):
        if what == "bucket" and not buckets:
            continue
        some = rows[:_ROWS_SHOWN] if drawn else rows
        if some:
            kinds = {"": str, **dict.fromkeys(columns, object)}
            named = ((what, *row) for row in some)
            shown = columns if drawn else ()
            results.write_results(kinds, named, form, shown=shown, extras=Extras(below="text"))
        if more := len(rows) - len(some):
            messages.message(f"{more:,} more {what}s that both share; --json has all")


def _draw(database: Database, compared: Comparison) -> None:
    """Show how two documents differ."""
    from lshdb.cli.screen import drawn_differences, show, terminal

    console = terminal()
    contents = compared.a_content, compared.b_content
    lines = drawn_differences(console, database, *contents, identical=compared.identical)
    show(console, *islice(lines, _LINES_SHOWN))
    if next(lines, None) is not None:
        messages.message("more differences: lshdb serve shows them all")


def _document(database: Database, name: str, reading: EncodingOption) -> str | Document:
    """The stored key, or the document of the file, that a name on the command line means."""
    key = printable_path(name)
    if name != STDOUT:
        if key in database:
            return key
        if not os.path.exists(name):
            try:
                database.get(key)
            except KeyNotFound as error:
                reason = f"{key}: no document has this key, and there is no such file"
                raise KeyNotFound(reason, error.nearest) from None
    return Document(key, documents.content_of_file(database, name, reading))


def _facts(compared: Comparison) -> dict[str, object]:
    """The values printed for any two documents, the most important first."""
    unknown = "not known: contents are not kept"
    lost = "no: a query for one does not find the other"
    return {
        "similarity": number(compared.similarity) or unknown,
        "identical": compared.identical or None,
        "a": compared.a,
        "b": compared.b,
        "a_in_b": number(compared.a_in_b),
        "b_in_a": number(compared.b_in_a),
        "a_shingles": compared.a_shingles,
        "b_shingles": compared.b_shingles,
        "shared": compared.shared,
        "union": compared.union,
        "estimate": f"{number(compared.estimate)} +- {number(compared.standard_error)}",
        "agreeing_lanes": f"{compared.agreeing_lanes} of {compared.lanes}",
        "agreeing_bands": f"{len(compared.shared_buckets)} of {compared.bands}",
        "candidates": compared.candidates or lost,
        "candidate_probability": number(compared.candidate_probability),
        "left_out": ", ".join(compared.base) or None,
    }


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
    """Find which passages of a text are in stored documents, and where.

    The index of passages finds every run of words that both have, from the length with which it
    was made: lshdb init --passages 8, or lshdb reindex --passages 8. Case and punctuation do not
    matter. With char shingles it finds runs of characters, with code shingles of a program's
    tokens. A stored document is not its own source, nor is that of a file, even if the file has
    changed since.

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
    failures = documents.Failures()
    with at.reading(form, temporary=asked.group_by is not None) as database:
        texts = tuple(str(documents.content_of_file(database, name)) for name in base or ())
        asked = replace(asked, base=texts, progress=messages.shows_progress())
        lead = [*filter(None, [asked.sort]), *(["score", "kind"] if asked.reworded else [])]
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
            reader = documents.queries_reader(database, regrouped(fields, QueriesOptions))
            queries: Iterable[_TextQuery] = [(key, None, False)]
            if files:
                queries = _text_queries(reader.batches(files), failures)
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
            _note_common(noted, unit_of(database.settings), asked.common)
        if several:
            documents.report_skipped_files(reader.skipped_files.counts())
    return bool(failures.count or (fail_if_found and count))


def _are_several(files: Sequence[str]) -> bool:
    """Whether files may have several texts: the rows of passages then begin with their keys."""
    _check_one_stdin(files)
    many_files = len(files) > 1 or any(map(_names_files, files))
    if files and not many_files and files[0] != STDOUT and not os.path.exists(files[0]):
        raise InputError(f"{files[0]}: no such file; a stored document goes with --key KEY")
    return many_files or any(map(documents.is_table, files))


_TextQuery = tuple[str, str | None, bool]
"""The key of a text, the text, None for a stored one, and whether it is all of a file."""


def _text_queries(batches: Iterable[Batch], failures: documents.Failures) -> Iterator[_TextQuery]:
    """The texts of files, one by one; what gives none is reported."""
    for batch in batches:
        of_files = {key for key, _ in batch.states}
        for document in batch.items():
            if isinstance(document, Failure):
                failures.report(document)
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
            regrouped(one_more, PassagesOptions, text=text, key=key if text is None else None)
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
