"""The query command."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli.conditions import ANY, Condition
from lshdb.cli.documents import content_of_file, reader_for
from lshdb.cli.files import STDOUT
from lshdb.cli.messages import message, tell_recall
from lshdb.cli.options import (
    DATABASE,
    TEXT,
    DatabaseFile,
    Encoding,
    Estimate,
    Form,
    StoredKey,
    Threshold,
)
from lshdb.cli.results import columns_of, write_results

if TYPE_CHECKING:
    from lshdb.database import Database
    from lshdb.model import Content


def query(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE | -",
            help="A file, which is one document as a whole; - is standard input.",
        ),
    ] = None,
    at: DatabaseFile = DATABASE,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The document itself, instead of FILE.")
    ] = None,
    key: StoredKey = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of matches, the best. [default: all]")
    ] = None,
    threshold: Threshold = None,
    estimate: Estimate = False,
    exhaustive: Annotated[
        bool,
        typer.Option(
            "--exhaustive", help="Slower: compare with all documents, not only those in a bucket."
        ),
    ] = False,
    containment: Annotated[
        bool,
        typer.Option(
            "--containment",
            help="Rank by the share of the document's shingles that a stored one holds, and mean "
            "that share with --threshold: to find a quotation in a longer text.",
        ),
    ] = False,
    encoding: Encoding = None,
    condition: Condition = ANY,
    form: Form = TEXT,
) -> None:
    """Find the stored documents similar to a document.

    Similarities are exact where the database keeps contents, else estimates. For a database of
    sets the document is a JSON array, or an object with the array as "set". A stored document is
    not among its own matches.

    A match is a line: its similarity, whether that is exact or an estimate, or the documents
    identical (the same content, byte by byte), its key; with --containment the line begins with
    the containment.

    The index finds by Jaccard similarity. A document k times as long as the query that holds the
    share c of its shingles has similarity c / (1 + k - c), which is low for a large k: the
    probability of finding such documents is printed on standard error. --exhaustive finds them all.

    With --top, only some documents of a bucket of more than 2,000 are compared; a warning says when
    a match may have been missed.

    --where is an expression of the columns of the table documents: key, metadata (a JSON
    object), content, shingles, doc_id. It is judged before the best are chosen; a bucket is then
    read whole, also with --top.

    A pattern in quotes, --db "shards/*.db", asks all files of one collection as if it were one.

    Example: lshdb query -d code.db suspicious.py --top 5

    Example: lshdb query page.txt --where "metadata ->> '$.lang' = ?" -p en
    """
    import lshdb
    from lshdb.model import Match
    from lshdb.shards import matching, query_files

    if sum(given is not None for given in (file, text, key)) != 1:
        raise lshdb.UsageError("give one of FILE, -, --text TEXT and --key KEY")
    paths = matching(at.db)
    form.check(*paths, *([file] if file is not None else []))
    with replace(at, db=paths[0]).reading() as database:
        content = None if key is not None else _content(database, file, text, encoding)
        least = database.settings.threshold if threshold is None else threshold
        ask = database.query
        if len(paths) > 1:
            ask = partial(query_files, paths, timeout=at.timeout)
        matches = ask(
            content,
            key=key,
            top=top,
            threshold=threshold,
            estimate=estimate,
            exhaustive=exhaustive,
            containment=containment,
            **condition.given(),
        )
        if containment and not exhaustive:
            _tell_what_is_found(database, least)
        elif least < database.settings.threshold and not exhaustive:
            tell_recall(database.settings, least, "; --exhaustive finds all")
    columns = columns_of(Match)
    if not containment:
        del columns["containment"]
    by = ["containment", "similarity"] if containment else ["similarity"]
    write_results(
        columns,
        map(attrgetter(*columns), matches),
        form,
        shown=(*by, "exact", "key"),
        counted=("match", "matches"),
        none=f"no document with {by[0]} {least:g} or more",
    )


def _content(
    database: Database, file: str | None, text: str | None, encoding: str | None
) -> Content:
    from lshdb.errors import InputError
    from lshdb.sources.paths import format_of

    if text is not None:
        try:
            return reader_for(database).content_of(text)
        except InputError as error:
            raise InputError(f"--text: {error}") from error
    assert file is not None
    if file != STDOUT and not os.path.exists(file):
        raise InputError(f"{file}: no such file; a text itself goes with --text, a key with --key")
    of_sets = database.settings.shingling.of_sets
    whole = ("text", "json") if of_sets else ("text",)  # a set is a JSON array
    if file != STDOUT and (format := format_of(file)) not in whole:
        raise InputError(
            f"{file}: a table of documents by its name (.{format}), and query takes one document; "
            "standard input is read as one, whatever it is: lshdb query - < FILE"
        )
    return content_of_file(database, file, encoding)


def _tell_what_is_found(database: Database, containment: float) -> None:
    """How probable it is to find documents of several lengths that hold this share of a query."""
    from lshdb.sketching.constructions import candidate_probability

    construction = database.settings.construction
    found = [
        candidate_probability(containment / (1 + times - containment), construction)
        for times in (1, 2, 5, 10)
    ]
    message(
        f"a document that holds {containment:g} of the query's shingles is found with probability "
        f"{found[0]:.1%} if it is as long as the query, {found[1]:.1%} if 2 times, {found[2]:.1%} "
        f"if 5 times, {found[3]:.1%} if 10 times as long; --exhaustive finds all"
    )
