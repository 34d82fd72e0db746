"""The query command."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli.options import DEFAULT_PATH, AsJson, DatabasePath, key_given
from lshdb.cli.output import json_line, message, on_terminal, rows
from lshdb.cli.telling import tell_recall

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
    db: DatabasePath = DEFAULT_PATH,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The document itself, instead of FILE.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            parser=key_given,
            help="A stored document, by its key; it is not among its own matches.",
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="At most so many, the best. [default: all]")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="The least similarity. [default: the database's]")
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Faster: the similarity that signatures tell, without contents."
        ),
    ] = False,
    exhaustive: Annotated[
        bool,
        typer.Option(
            "--exhaustive", help="Slower: compare with all documents, not only those in a bucket."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the stored documents similar to a document.

    Similarities are exact where the database keeps contents, else estimates. For a database of
    sets the document is a JSON array, or an object with the array as "set".

    A match is a line: its similarity, whether that is exact or an estimate, its key.

    Example: lshdb query -d code.db suspicious.py --top 5
    """
    import lshdb

    if sum(given is not None for given in (file, text, key)) != 1:
        raise lshdb.UsageError("give one of FILE, -, --text TEXT and --key KEY")
    existed = db.exists()
    with lshdb.open(db, mode="read" if existed else "create") as database:
        if not existed:
            message(f"{db} did not exist; it is made, and is empty")
        content = None if key is not None else _content(database, file, text)
        least = database.settings.threshold if threshold is None else threshold
        matches = database.query(
            content,
            key=key,
            top=top,
            threshold=threshold,
            estimate=estimate,
            exhaustive=exhaustive,
        )
        if least < database.settings.threshold and not exhaustive:
            tell_recall(database.settings, least, "; --exhaustive finds all")
    if as_json:
        for match in matches:
            json_line(
                {
                    "key": match.key,
                    "similarity": match.similarity,
                    "exact": match.exact,
                    "estimate": match.estimate,
                    "bands": match.bands,
                }
            )
        return
    if not matches:
        message(f"no document with similarity {least:g} or more")
        return
    kind = "similarity" if matches[0].exact else "estimate"
    if on_terminal():
        rows((kind, "key"), [(f"{m.similarity:.4f}", m.key) for m in matches])
    else:
        rows(
            ("similarity", "kind", "key"),
            [(f"{m.similarity:.6f}", "exact" if m.exact else "estimate", m.key) for m in matches],
        )


def _content(database: Database, file: str | None, text: str | None) -> Content:
    from lshdb.errors import InputError
    from lshdb.readers import STDIN, Reader

    stdin = sys.stdin.buffer if sys.stdin else None
    reader = Reader(of_sets=database.settings.shingling.of_sets, stdin=stdin)
    if text is not None:
        try:
            return reader.content_of(text)
        except InputError as error:
            raise InputError(f"--text: {error}") from error
    assert file is not None
    if file != STDIN and not os.path.exists(file):
        raise InputError(f"{file}: no such file; a text itself goes with --text, a key with --key")
    content = reader.read_one(file)
    if reader.replaced:
        message(f"{file} is not UTF-8; bad bytes are replaced")
    return content
