"""The commands about what documents share: compare, passages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lshdb.cli import documents, messages, options, parameters, results, running
from lshdb.cli.files import STDOUT
from lshdb.errors import InputError, KeyNotFound, UsageError
from lshdb.exchange.results import PAIR_TOTALS, PASSAGE, WEIGHTED
from lshdb.formatting import counted, listed, number, shortened
from lshdb.groups import Option, regrouped
from lshdb.options import (
    EncodingOption,
    FieldOptions,
    PassagePairsOptions,
    PassagesOptions,
    QueriesOptions,
    StoredKey,
)
from lshdb.sources.paths import key_of

if TYPE_CHECKING:
    from lshdb.database import Database
    from lshdb.model import CommonPassage, Comparison, Document

_ROWS_SHOWN = 20
"""Passages, elements and buckets that a terminal shows."""
_LINES_SHOWN = 40
"""Lines of differences."""
_LONGEST = 160
"""Characters shown of a passage, half of them from its end."""


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            autocompletion=parameters.completed_keys,
            help="The key of a stored document, a file, or -.",
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B",
            autocompletion=parameters.completed_keys,
            help="The same; - is standard input.",
        ),
    ],
    at: options.DatabaseFile,
    reading: EncodingOption,
    form: options.Form,
) -> None:
    """Show why two documents are similar, or why not.

    First the Jaccard similarity and containment (the share of one's shingles that the other
    holds), the sizes of both sets, the estimate with its standard error, and whether a query for
    one finds the other. Then the passages (for sets: the elements) that both share, and the
    buckets; on a terminal, how both differ, too. A name that is both a key and a file is the key;
    write ./NAME for the file.

    Two files need no database: without one, the default settings are used.

    In a pipe, a "passage" line has the start and end in A and in B, in characters from 0, the
    text, and its first line in A and in B; an "element" line has an element of a set; a "bucket"
    line has the number of a band and the key of the bucket that both are in.

    Example: lshdb compare -d code.db src/main.py src/old.py
    """
    if a == b == "-":
        raise UsageError("standard input can be read once: give - for one document only")
    files = [name for name in (a, b) if name == STDOUT or os.path.exists(name)]
    form.check(at.db, *files)
    with _database(at, len(files) == 2) as database:
        compared = database.compare(
            _document(database, a, reading), _document(database, b, reading)
        )
        results.write_record(_record(compared), form, _facts(compared))
        if form.is_text:
            _print_shared(compared, form)
            if results.on_terminal():
                _draw(database, compared)


def _print_shared(compared: Comparison, form: options.Form) -> None:
    """Print the passages or elements and the buckets that two documents share."""
    text = _text(compared.a_content)
    passages = [
        (*astuple(p)[:4], shortened(text[p.a_start : p.a_end], _LONGEST), p.a_line, p.b_line)
        for p in compared.passages or ()
    ]
    names = ["a_start", "a_end", "b_start", "b_end", "text", "a_line", "b_line"]
    _print("passage", names, passages, form)
    elements = [(element,) for element in compared.shared_elements or ()]
    _print("element", ["shared elements"], elements, form)
    buckets = [astuple(bucket) for bucket in compared.shared_buckets]
    _print("bucket", ["band_no", "bucket_key"], buckets, form)


def _draw(database: Database, compared: Comparison) -> None:
    """Show how two documents differ."""
    from lshdb.cli.drawing import drawn_differences, show, terminal

    console = terminal()
    contents = compared.a_content, compared.b_content
    lines = drawn_differences(console, database, *contents, identical=compared.identical)
    show(console, *islice(lines, _LINES_SHOWN))
    if next(lines, None) is not None:
        messages.message("more differences: lshdb serve shows them all")


@contextmanager
def _database(at: options.DatabaseFile, of_files: bool) -> Iterator[Database]:
    """The database; for two files without one, an empty one that is deleted at the end."""
    import lshdb

    if at.is_there or not of_files:
        with at.reading() as database:
            yield database
        return
    with TemporaryDirectory() as place, lshdb.open(Path(place) / "compare.db") as database:
        messages.message(
            f"there is no {at.db}: compared as in a database with the default settings"
        )
        yield database


def _document(database: Database, name: str, reading: EncodingOption) -> str | Document:
    """The stored key, or the document of the file, that a name on the command line means."""
    from lshdb.model import Document
    from lshdb.sources.paths import printable_path

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


def _record(compared: Comparison) -> dict[str, Any]:
    """All but the contents, with the texts of passages."""
    text = _text(compared.a_content)
    record = asdict(compared)
    del record["a_content"], record["b_content"]
    for passage in record["passages"] or ():
        passage["text"] = text[passage["a_start"] : passage["a_end"]]
    return record | {"agreeing_bands": len(compared.shared_buckets)}


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


def _print(
    what: str, names: Sequence[str], rows: Sequence[Sequence[Any]], form: options.Form
) -> None:
    """Print a table of some rows on a terminal, in a pipe lines that begin with what they are."""
    if not rows:
        return
    shown = rows[:_ROWS_SHOWN] if results.on_terminal() else rows
    columns = {"": str, **dict.fromkeys(names, object)}
    named = ((what, *row) for row in shown)
    results.write_results(columns, named, form, shown=names if results.on_terminal() else ())
    if len(rows) > len(shown):
        messages.message(f"{len(rows) - len(shown):,} more {what}s that both share; --json has all")


def _text(content: object) -> str:
    return content if isinstance(content, str) else ""


_COMMON_SHOWN = 5
_SOURCE = ("key", "coverage", "stored_coverage", "words", *WEIGHTED)
"""The fields of a source that each of its passages is printed with."""

Base = Annotated[
    Sequence[str] | None,
    Option("Ignore passages of this text, which anyone may copy; repeatable.", metavar="FILE"),
]


def passages(
    *,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE | -",
            help="A text, or a table or JSON lines whose rows are texts; - is standard input.",
        ),
    ] = None,
    at: options.DatabaseFile,
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
    fail_if_found: options.FailIfFound = False,
    fields: FieldOptions,
    form: options.Form,
) -> None:
    """Find which passages of a text are in stored documents, and where.

    The index of passages finds every run of words that both have, from the length with which it
    was made: lshdb init --passages 8, or lshdb reindex --passages 8. Case and punctuation do not
    matter. With char shingles it finds runs of characters, with code shingles of a program's
    tokens. A stored document is not its own source, nor is that of a file, even if the file has
    changed since.

    A passage is a line: the share of the text that its document has, the document's key, the
    number of words, its line in the text and in the document, and its text. The document that
    has most of the text comes first.

    With --reworded it finds stretches of some 50 words that share rare words, in whatever order,
    in a file that was made with lshdb init --reworded. A line begins with the score of the passage,
    and whether it is copied or reworded; the document with the highest score comes first.

    With --all a pair is a line: the share of the first document that is in shared passages, that
    of the second, how many words, and both keys; the larger share first. --passages prints each
    passage, with --top or --sort those of the best pairs first.

    Example: lshdb passages essay.txt -d essays.db --base task.txt
    """
    if sum((file is not None, key is not None, everything)) != 1:
        raise UsageError("give one of FILE, -, --key KEY and --all")
    if each and not everything:
        raise UsageError("--passages is for --all; one text has a line a passage")
    if asked.group_by is not None and not everything:
        raise UsageError("--group-by is for --all")
    if file not in (None, STDOUT) and not os.path.isfile(str(file)):
        raise InputError(f"{file}: no such file; a stored document goes with --key KEY")
    failures = documents.Failures()
    with at.reading(form, temporary=asked.group_by is not None) as database:
        texts = tuple(str(documents.content_of_file(database, name)) for name in base or ())
        asked = replace(asked, base=texts, progress=messages.shows_progress())
        shown: tuple[str, ...] = ("passage_words", "line", "stored_line", "text")
        noun = "passage"
        rows: Iterable[Sequence[Any]]
        noted: list[tuple[str, CommonPassage]] = []
        if everything:
            pairs = database.passage_pairs(asked)
            noted = pairs.common
            if each or asked.reworded:
                columns, rows = pairs.columns, islice(pairs.rows(), asked.top)
                of = ("a", "b") if asked.group_by is None else ("file", "stored_file")
                shown = ("words", *of, *shown)
            else:
                columns, rows, noun = PAIR_TOTALS, pairs.totals(), "pair"
                shown = ("a_coverage", "b_coverage", "words", "a", "b")
            none = "no passage that two documents share"
        else:
            columns = {"query": str, "key": str, "coverage": float, "stored_coverage": float}
            columns = {**columns, "words": int, **WEIGHTED, **PASSAGE}
            several = file is not None and documents.is_table(file)
            own = None if file in (None, STDOUT) or several else key_of(str(file))
            queries = _queries(database, file, key, fields, failures)
            rows = _rows(database, queries, asked, own, noted)
            shown = (*(["query"] if several else []), "coverage", "key", *shown)
            if asked.reworded:
                shown = tuple(name for name in shown if name != "coverage")
            none = "no passage of a stored document"
        if asked.reworded:
            shown = "score", "kind", *shown
        if asked.sort and shown[0] != "query":
            shown = (asked.sort, *shown)
        count = results.write_results(columns, rows, form, shown=shown, noun=(noun,), none=none)
        if noted:
            from lshdb.search.passages import unit_of

            _note_common(noted, unit_of(database.settings), asked.common)
    if failures.count or (fail_if_found and count):
        raise typer.Exit(running.FAILED)


def _queries(
    database: Database,
    file: str | None,
    key: str | None,
    fields: FieldOptions,
    failures: documents.Failures,
) -> Iterator[tuple[str, str | None]]:
    """The queries: the key of each text, and the text; None for a stored one."""
    if key is not None:
        yield key, None
        return
    from lshdb.model import Failure

    assert file is not None
    for document in documents.queries_reader(database, regrouped(fields, QueriesOptions)).read(
        [file]
    ):
        if isinstance(document, Failure):
            failures.report(document)
        elif isinstance(document.content, str):
            yield document.key, document.content


def _rows(
    database: Database,
    queries: Iterable[tuple[str, str | None]],
    asked: PassagePairsOptions,
    own: str | None,
    noted: list[tuple[str, CommonPassage]],
) -> Iterator[tuple[object, ...]]:
    """The passages of each query; a file with the key `own` is not its own source.

    Common runs are noted, with the key of their query.
    """
    top = asked.top
    if own is not None and top is not None:
        asked = replace(asked, top=top + 1)
    for key, text in queries:
        result = database.passages(
            regrouped(asked, PassagesOptions, text=text, key=key if text is None else None)
        )
        noted += [(key, one) for one in result.common]
        if not result.words:
            shortest = f"{result.shortest} {result.unit}s"
            messages.message(f"{key}: shorter than {shortest}: no passage can be found")
        for source in [one for one in result if one.key != own][:top]:
            totals = (key, *(getattr(source, name) for name in _SOURCE))
            for passage in source.passages:
                yield totals + astuple(passage)


def _note_common(noted: Sequence[tuple[str, CommonPassage]], unit: str, common: int | None) -> None:
    """Note in one line the longest of the runs that do not count."""
    from lshdb.limits import DEFAULTS

    places = []
    for key, one in sorted(noted, key=lambda each: -each[1].words):
        several = f"s {one.line} to {one.end_line}" if one.end_line > one.line else f" {one.line}"
        places.append(f"{key} line{several} ({one.words:,} {unit}s)")
    messages.message(
        f"runs in more than {counted(common or DEFAULTS.common, 'document')} do not count: "
        f"{listed(places, _COMMON_SHOWN)}"
    )
