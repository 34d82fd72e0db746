"""The query command."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli.options import DEFAULT_PATH, AsJson, DatabasePath, reported_errors
from lshdb.cli.output import json_line, message, on_terminal, rows

if TYPE_CHECKING:
    from lshdb.database import Database
    from lshdb.model import Content


def query(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE | -", help="The document; - is standard input.")
    ] = None,
    db: DatabasePath = DEFAULT_PATH,
    text: Annotated[str | None, typer.Option(help="The document itself.")] = None,
    key: Annotated[str | None, typer.Option(help="A stored document, by its key.")] = None,
    top: Annotated[int | None, typer.Option(min=1, help="At most so many, the best.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="The least similarity. [default: the database's]")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Rank by the signatures' estimate: no verification.")
    ] = False,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Compare with every signature, not by buckets.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the stored documents similar to a document.

    Similarities are exact where the database keeps contents, else estimates. For a database of
    sets the document is a JSON array, or an object with the array as "set".

    Example: lshdb query -d code.db suspicious.py --top 5
    """
    import lshdb
    from lshdb.errors import UsageError

    with reported_errors():
        if sum(given is not None for given in (file, text, key)) != 1:
            raise UsageError("give one of FILE, -, --text and --key")
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
                _warn(database, least)
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
        message(f"no document at {least:g} or above")
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
    from lshdb.readers import Reader, read_file

    of_sets = database.settings.shingling.of_sets
    reader = Reader(of_sets=of_sets)
    name = "--text" if file is None else file
    if text is None:
        text = reader.text_of(sys.stdin.buffer.read() if file == "-" else read_file(file or ""))
        if reader.replaced:
            message(f"{name} is not UTF-8; bad bytes are replaced")
    if not of_sets:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            f'{name}: not JSON; for sets give an array, or an object with "set"'
        ) from None
    return reader.set_of(value.get("set") if isinstance(value, dict) else value, "set")


def _warn(database: Database, threshold: float) -> None:
    from lshdb.scurve import candidate_probability

    settings = database.settings
    recall = candidate_probability(threshold, settings.construction)
    message(
        f"the index is made for {settings.threshold:g}: at {threshold:g} it finds about "
        f"{recall:.1%} of the documents; --exhaustive finds all"
    )
