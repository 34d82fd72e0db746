"""The compare command."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from lshdb.cli.messages import message, tell
from lshdb.cli.options import (
    DEFAULT_PATH,
    DEFAULT_TIMEOUT,
    AsJson,
    DatabasePath,
    Timeout,
    completed_keys,
)
from lshdb.cli.results import Cell, facts, json_line, on_terminal, table
from lshdb.sources.paths import escaped

if TYPE_CHECKING:
    from lshdb.database import Database
    from lshdb.model import Comparison, Document, Passage

_PASSAGES_SHOWN: Final = 20
_ELEMENTS_SHOWN: Final = 100
_CONTEXT: Final = 30
"""Characters shown before and behind a passage."""
_LONGEST: Final = 160
"""Characters shown of a passage, half of them of its end."""


def compare(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            autocompletion=completed_keys,
            help="The key of a stored document, a file, or -.",
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B", autocompletion=completed_keys, help="Likewise; - is standard input."
        ),
    ],
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Tell why two documents are similar, or why not.

    First the Jaccard similarity and containment (the share of one's shingles that the other
    holds), the sizes of both sets, the estimate with its standard error, and whether the index
    brings the two together. Then the passages (of sets: the elements) that both share, and the
    buckets. A name that is both a key and a file is the key; write ./NAME for the file.

    In a pipe, a line "passage" has the start and end in A and in B, counted in characters from 0,
    and the text; a line "element" has an element of a set; a line "bucket" has the number of a
    band and the key of the bucket that both are in.

    Example: lshdb compare -d code.db src/main.py src/old.py
    """
    import lshdb

    if a == b == "-":
        raise lshdb.UsageError("standard input can be read once: give - for one document only")
    existed = db.exists()
    with lshdb.open(db, mode="read" if existed else "create", timeout=timeout) as database:
        if not existed:
            message(f"{db} did not exist; it is made, and is empty")
        compared = database.compare(_document(database, a), _document(database, b))
    if as_json:
        _print_json(compared)
        return
    facts(_facts(compared))
    if compared.passages:
        if on_terminal():
            _show_passages(compared, compared.passages)
        else:
            _print_passages(compared, compared.passages)
    elif compared.shared_elements:
        _print_elements(compared)
    buckets = [(bucket.band_no, bucket.bucket_key) for bucket in compared.shared_buckets]
    if buckets and on_terminal():
        table(("band_no", "bucket_key"), buckets)
    else:
        table((), (("bucket", *bucket) for bucket in buckets))


def _document(database: Database, name: str) -> str | Document:
    """The stored key, or the document of the file, that a name on the command line means."""
    from lshdb.errors import KeyNotFound
    from lshdb.model import Document
    from lshdb.sources.paths import STDIN, printable_path
    from lshdb.sources.readers import Reader

    key = printable_path(name)
    if name != STDIN:
        if key in database:
            return key
        if not os.path.exists(name):
            raise KeyNotFound(f"{key}: no document has this key, and there is no such file")
    stdin = sys.stdin.buffer if sys.stdin else None
    reader = Reader(of_sets=database.settings.shingling.of_sets, stdin=stdin)
    content = reader.read_one(name)
    if reader.replaced:
        tell(f"{key} is not UTF-8; bad bytes are replaced")
    return Document(key, content)


def _facts(compared: Comparison) -> dict[str, Cell]:
    """What is told of any two documents, the most important first."""
    known = compared.similarity is not None
    found: dict[str, Cell] = {
        "similarity": _share(compared.similarity) if known else "not known: contents are not kept",
        "a": compared.a,
        "b": compared.b,
    }
    if known:
        found |= {
            "a_in_b": _share(compared.a_in_b),
            "b_in_a": _share(compared.b_in_a),
            "a_shingles": compared.a_shingles,
            "b_shingles": compared.b_shingles,
            "shared": compared.shared,
            "union": compared.union,
        }
    return {
        **found,
        "estimate": f"{_share(compared.estimate)} +- {_share(compared.standard_error)}",
        "agreeing_lanes": f"{compared.agreeing_lanes} of {compared.lanes}",
        "agreeing_bands": f"{len(compared.shared_buckets)} of {compared.bands}",
        "candidates": "yes"
        if compared.candidates
        else "no: a query for one does not find the other",
        "candidate_probability": _share(compared.candidate_probability),
    }


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _print_json(compared: Comparison) -> None:
    passages = None
    if compared.passages is not None:
        passages = [
            {
                "a": [passage.a_start, passage.a_end],
                "b": [passage.b_start, passage.b_end],
                "shingles": passage.shingles,
                "text": _text(compared.a_content)[passage.a_start : passage.a_end],
            }
            for passage in compared.passages
        ]
    json_line(
        {
            "similarity": compared.similarity,
            "a": compared.a,
            "b": compared.b,
            "a_in_b": compared.a_in_b,
            "b_in_a": compared.b_in_a,
            "a_shingles": compared.a_shingles,
            "b_shingles": compared.b_shingles,
            "shared": compared.shared,
            "union": compared.union,
            "estimate": compared.estimate,
            "standard_error": compared.standard_error,
            "agreeing_lanes": compared.agreeing_lanes,
            "lanes": compared.lanes,
            "agreeing_bands": len(compared.shared_buckets),
            "bands": compared.bands,
            "candidates": compared.candidates,
            "candidate_probability": compared.candidate_probability,
            "passages": passages,
            "shared_elements": compared.shared_elements,
            "shared_buckets": [asdict(bucket) for bucket in compared.shared_buckets],
        }
    )


def _print_passages(compared: Comparison, passages: tuple[Passage, ...]) -> None:
    text = _text(compared.a_content)
    table(
        (),
        (
            ("passage", p.a_start, p.a_end, p.b_start, p.b_end, _cut(text[p.a_start : p.a_end]))
            for p in passages
        ),
    )


def _print_elements(compared: Comparison) -> None:
    elements = compared.shared_elements or ()
    shown = elements[:_ELEMENTS_SHOWN] if on_terminal() else elements
    if on_terminal():
        table(("shared elements",), [(element,) for element in shown])
    else:
        table((), (("element", element) for element in shown))
    _tell_rest(len(elements) - len(shown), "elements")


def _show_passages(compared: Comparison, passages: tuple[Passage, ...]) -> None:
    """Print the longest passages with what stands around them in A and in B."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    longest = sorted(passages, key=lambda p: -p.shingles)[:_PASSAGES_SHOWN]
    for passage in sorted(longest, key=lambda p: p.a_start):
        console.print()
        for name, content, start, end in (
            ("a", compared.a_content, passage.a_start, passage.a_end),
            ("b", compared.b_content, passage.b_start, passage.b_end),
        ):
            text = _text(content)
            line = Text(f"{name} {start:,}-{end:,}: ", style="bold")
            line.append(_on_one_line(text[max(start - _CONTEXT, 0) : start]), style="not bold dim")
            line.append(_on_one_line(_cut(text[start:end])), style="not bold black on green")
            line.append(_on_one_line(text[end : end + _CONTEXT]), style="not bold dim")
            console.print(line)
    console.print()
    _tell_rest(len(passages) - len(longest), "passages")


def _tell_rest(count: int, what: str) -> None:
    if count > 0:
        message(f"{count:,} more {what} that both share; --json tells all")


def _text(content: object) -> str:
    return content if isinstance(content, str) else ""


def _cut(text: str) -> str:
    """A passage without its middle, if it is long."""
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]} \N{HORIZONTAL ELLIPSIS} {text[-half:]}"


def _on_one_line(text: str) -> str:
    return escaped(re.sub(r"\s+", " ", text))
