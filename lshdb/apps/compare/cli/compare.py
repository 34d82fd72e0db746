"""`lshdb compare`: show why two documents are similar, or why not."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb import errors
from lshdb.apps.compare.compare import compare as compare_sides
from lshdb.apps.compare.model import Comparison
from lshdb.apps.compare.temporary import temporary_database
from lshdb.cli import documents, messages, options, results
from lshdb.database import Database, store_of
from lshdb.formatting import number, sameness, shortened
from lshdb.groups import Option
from lshdb.limits import DEFAULTS
from lshdb.options import TextOptions
from lshdb.read.paths import STDIN, escaped, is_always_path

if TYPE_CHECKING:
    from rich.text import Text

    from lshdb.apps.compare.beside import StoredContent
    from lshdb.apps.compare.differences import Line
    from lshdb.read.batch import Batch

_NAMED = "A stored document, by its key or a path from here; a file; or - for standard input."
_ROWS_SHOWN = 20
"""Passages, elements and buckets that a terminal shows."""
_LINES_SHOWN = 40
"""Lines of differences."""
_BESIDE = 1
"""Equal lines shown on each side of a difference."""
_BEGINNING = 400
"""Characters shown of a text that both documents have."""
_LONGEST_LINE = 1_000
"""Characters shown of a line that differs."""
_BREAKS = re.compile(r"\s*[\n\r]\s*")
"""The end of a line within a sentence."""
_MOVED = {"-": "moved to", "+": "moved from"}
_COLOURS = {"-": "yellow", "+": "cyan"}
_MARKS = {"-": ("[-", "-]"), "+": ("{+", "+}")}
_LONGEST = 160
"""Characters shown of a passage, half of them from its end."""


def compare(
    *,
    a: Annotated[str, typer.Argument(metavar="A", help=_NAMED)],
    b: Annotated[str, typer.Argument(metavar="B", help=_NAMED)],
    as_keys: options.AsKeys = False,
    file: options.DatabaseFile,
    buckets: Annotated[
        bool, Option("Show sizes, the estimate and shared buckets, as a pipe has them.")
    ] = False,
    reading: TextOptions,
    form: options.Form,
) -> None:
    """Show why two documents are similar, or why not.

    On a terminal: the Jaccard similarity and containment (the share of one's shingles that the
    other holds), what differs, and the passages (for sets: the elements) that both share. With
    --buckets also the sizes of both sets, the estimate with its standard error, whether a query
    for one finds the other, and the buckets that both are in. The file of a stored document is read
    if the name is ./NAME or absolute.

    Two files need no database: without one, the default settings are used.

    Of two programs, in a database of programs, also the names that differ in step: wherever both
    have the same code, one always stands for the other.

    A pipe has all values, but not what differs. A "rename" line has a name in A, the name in B, and
    how often it stands there; a "passage" line has the start and end in A and in
    B, in characters from 0, the text, and its first line in A and in B; an "element" line has an
    element of a set; a "bucket" line has the number of a band and the key of the bucket that both
    are in.

    Example: lshdb compare -d code.db src/main.py src/old.py
    """
    if a == b == STDIN and not as_keys:
        raise errors.UsageError("standard input can be read once: give - for one document only")
    names = [] if as_keys else [a, b]
    files = [name for name in names if name == STDIN or os.path.exists(name)]
    form.check(file.db, *files)
    alone = len(files) == 2 and not file.is_there
    if alone:
        messages.message(
            f"there is no {file.db}: compared as in a database with the default settings"
        )
    with temporary_database() if alone else file.reading() as database:
        sides = (_side(database, name, reading, as_keys=as_keys) for name in (a, b))
        compared = compare_sides(store_of(database), *sides)
        record = compared.record() | {"agreeing_bands": len(compared.shared_buckets)}
        facts = _facts(compared)
        drawn = form.is_text and sys.stdout.isatty()
        buckets = buckets or not drawn
        results.write_record(record, form, facts if buckets else _summary(compared, facts))
        if drawn:
            print()
            _print_differences(database, compared)
        if form.is_text:
            _print_shared(compared, form, buckets=buckets)


def _summary(compared: Comparison, facts: Mapping[str, object]) -> dict[str, object]:
    """The values that say how similar two documents are, without what is of the index."""
    names = ["similarity", "identical", "same_text", "a", "b", "a_in_b", "b_in_a", "left_out"]
    if compared.similarity is None:
        names.insert(1, "estimate")
    if not compared.candidates:
        names.append("candidates")
    return {name: facts[name] for name in names}


def _print_shared(compared: Comparison, form: options.Form, *, buckets: bool) -> None:
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
    drawn = sys.stdout.isatty()
    renames = [] if drawn else compared.renames  # a terminal has them with the differences
    if drawn and compared.same_text:
        passages = []  # all of both
    for what, columns, rows in (
        ("passage", names, passages),
        ("element", ["shared elements"], elements),
        ("rename", ["a", "b", "times"], [*map(attrgetter("a", "b", "times"), renames)]),
        ("bucket", band, [*map(attrgetter(*band), compared.shared_buckets)]),
    ):
        if what == "bucket" and not buckets:
            continue
        shown_rows = rows[:_ROWS_SHOWN] if drawn else rows
        if shown_rows:
            kinds = {"": str, **dict.fromkeys(columns, object)}
            named = ((what, *row) for row in shown_rows)
            shown = columns if drawn else ()
            results.write_results(kinds, named, form, shown=shown)
        if more := len(rows) - len(shown_rows):
            messages.message(f"{more:,} more {what}s that both share; --json has all")


def _print_differences(database: Database, compared: Comparison) -> None:
    """Show how two documents differ."""
    from rich.console import Console

    contents = compared.a_content, compared.b_content
    word = sameness(compared.identical, compared.same_text)
    lines = differing_lines(database, *contents, same=word)
    console = Console(highlight=False)
    for line in islice(lines, _LINES_SHOWN):
        console.print(line)
    if next(lines, None) is not None:
        messages.message("more differences: lshdb serve shows them all")


def differing_lines(
    database: Database, a: "StoredContent", b: "StoredContent", *, same: str
) -> Iterator["Text"]:
    """The lines that show how two documents differ: those of A begin with -, those of B with +.

    Or what is `same` in both, such as `same text`, and the beginning of it.

    What differs is in [-...-] and {+...+}, as in git's word diff. In a file that indexes rare
    words, those that both have are between asterisks there, and long equal runs are reversed.
    """
    from rich.text import Text

    from lshdb.apps.compare import (  # 10 ms with differences, which a pipe does not need
        beside,
        differences,
    )
    from lshdb.apps.compare.compare import text_cut

    def equal(line: str) -> Text:
        return Text(escaped(f"  {line.expandtabs(4)}"), "dim", no_wrap=True, overflow="ellipsis")

    if same:
        yield Text(same.capitalize(), "bold")
        if isinstance(a, str):
            yield from map(equal, a[:_BEGINNING].splitlines())
        return
    texts, sets = beside.contents_beside(database, a, b, elements=sys.maxsize)
    if sets is not None:
        for sign, (_, elements) in zip("-+", sets, strict=False):
            for element in elements:
                yield Text(escaped(f"{sign} {element}"), _COLOURS[sign])
        yield Text(f"  ... {sets[2][0]:,} in both", "dim")
        return
    if texts is None:
        yield Text("The database does not keep contents: how they differ is not known")
        return
    if texts.cut:
        errors.warn_of_limit(text_cut(texts.cut, DEFAULTS.text_characters))
    if texts.says:
        yield Text(texts.says, "bold")
    if texts.renamed:
        yield Text(escaped(texts.renamed), "bold")
    shown = differences.shown_rows(texts.rows, _BESIDE)
    for row in beside.lines_of(texts, shown, 0, len(texts.rows)):
        if row.kind == "left out":
            yield Text(f"  ... {row.skipped:,} equal", "dim")
        elif row.kind == "same" and (line := row.a or row.b):
            yield equal(_BREAKS.sub(" ", "".join(piece.text for piece in line.pieces)))
        else:
            sides = ("-", row.a, row.a_elsewhere), ("+", row.b, row.b_elsewhere)
            for sign, line, elsewhere in sides:
                if line:
                    yield _changed_line(sign, line, elsewhere)


def _changed_line(sign: str, line: "Line", elsewhere: tuple[int, int] | None) -> "Text":
    """A line with what differs in it marked; at its end the line of the other document that has
    what moved.
    """
    from rich.text import Text

    colour = _COLOURS[sign]
    marked = Text.assemble((f"{sign} ", f"bold {colour}"), overflow="fold")
    for piece in line.pieces:
        text = escaped(_BREAKS.sub(" ", piece.text).expandtabs(4))
        if piece.kind in ("same", "run", "renamed"):
            marked.append(text, {"run": "reverse", "renamed": "underline"}.get(piece.kind, ""))
        elif piece.kind == "rare":
            marked.append(f"*{text}*", f"bold underline {colour}")
        else:
            start, end = _MARKS[sign]
            marked.append(f"{start}{text}{end}", f"black on {colour}")
    marked.truncate(_LONGEST_LINE, overflow="ellipsis")
    if elsewhere:
        marked.append(f" ({_MOVED[sign]} line {elsewhere[1]:,})", "dim")
    return marked


def _side(database: Database, name: str, reading: TextOptions, *, as_keys: bool) -> "str | Batch":
    """The stored key, or the document of the file, that a name on the command line means."""
    is_file = not as_keys and (name == STDIN or os.path.exists(name))
    if not (is_file and (name == STDIN or is_always_path(name))):
        [key] = documents.stored_keys(database, [name], as_keys=as_keys)
        if as_keys or key in database:
            return key
        if not is_file:
            raise errors.KeyNotFound(f"{key}: no document has this key, and there is no such file")
    session = documents.session_for(database.settings.shingling, reading)
    return documents.document_of_file(session, name)


def _facts(compared: Comparison) -> dict[str, object]:
    """The values printed for any two documents, the most important first."""
    return {
        "similarity": number(compared.similarity) or "not known: contents are not kept",
        "identical": compared.identical or None,
        "same_text": (compared.same_text and not compared.identical) or None,
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
        "candidates": compared.candidates or "no: a query for one does not find the other",
        "candidate_probability": number(compared.candidate_probability),
        "left_out": ", ".join(compared.base) or None,
    }
