"""Two documents at a terminal, and their cluster: for `lshdb review` and `lshdb compare`."""

import os
import sys
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.text import Text

from lshdb.database import Database
from lshdb.errors import warn_of_limit
from lshdb.formatting import share
from lshdb.limits import DEFAULTS
from lshdb.model import Cluster
from lshdb.search.differences import Line, shown_rows
from lshdb.search.limits import text_cut
from lshdb.sources.paths import escaped
from lshdb.web.beside import Beside, StoredContent, contents_beside, lines_of
from lshdb.web.listing import common_path

_BESIDE = 1
"""Equal lines shown on each side of a difference."""
_BEGINNING = 400
"""Characters shown of texts that are identical."""
_MEMBERS = 8
"""Members of a cluster that are listed."""
_COLOURS = {"-": "yellow", "+": "cyan"}
_MARKS = {"-": ("[-", "-]", "*"), "+": ("{+", "+}", "*")}
"""Marks of different words without colours, as in git's word diff, and of rare ones."""


def terminal() -> Console:
    """Standard output, without escape sequences if the user wants none."""
    plain = os.environ.get("NO_COLOR") or not sys.stdout.isatty()
    colours = None if plain else "auto"
    return Console(color_system=colours, highlight=False, markup=False, emoji=False)  # type: ignore[arg-type]


def show(console: Console, *lines: Text) -> None:
    """Print lines, each cut to the width of the screen."""
    for line in lines:
        console.print(line, no_wrap=True, overflow="ellipsis")


def on_one_line(text: str, style: str = "") -> Text:
    """A text on one line, without control characters."""
    return Text(escaped(text.expandtabs(4)), style)


def drawn_members(
    one: Cluster, marks: Mapping[str, str], decided: Mapping[str, str]
) -> Iterator[Text]:
    """The lines about a cluster and its members: marked ones first, then the most similar.

    Args:
        one: the cluster.
        marks: of the members that are shown side by side.
        decided: the verdicts, by key.
    """
    scores, prefix = dict(zip(one.members, one.similarities, strict=True)), common_path(one.members)
    yield on_one_line(f"{len(scores):,} documents" + (f" in {prefix}" if prefix else ""))
    for key in sorted(scores, key=lambda key: (key not in marks, -scores[key]))[:_MEMBERS]:
        score = "kept" if key == one.keep else share(scores[key])
        line = f"{marks.get(key, ' ')} {score:<7}{decided.get(key, ''):<6}{key[len(prefix) :]}"
        yield on_one_line(line, "bold" if key in marks else "")
    if len(scores) > _MEMBERS:
        yield Text(f"  and {len(scores) - _MEMBERS:,} more", style="dim")
    yield Text("")


def drawn_differences(
    console: Console, database: Database, a: StoredContent, b: StoredContent, *, identical: bool
) -> Iterator[Text]:
    """The lines that show how two documents differ: those of A begin with -, those of B with +.

    In a file that indexes rare words, those that both have are underlined in what differs, and long
    equal runs between are reversed.
    """
    if identical:
        yield Text("Identical", style="bold")
        if isinstance(a, str):
            yield from (on_one_line(f"  {line}", "dim") for line in a[:_BEGINNING].splitlines())
        return
    texts, sets = contents_beside(database, a, b, elements=sys.maxsize)
    if texts is not None:
        yield from _drawn_texts(console, texts)
    elif sets is not None:
        for sign, (_, elements) in zip("-+", sets, strict=False):
            for element in elements:
                yield on_one_line(f"{sign} {element}", f"bold {_COLOURS[sign]}")
        yield Text(f"  ... {sets[2][0]:,} in both", style="dim")
    else:
        yield Text("The database does not keep contents: how they differ is not known")


def _drawn_texts(console: Console, texts: Beside) -> Iterator[Text]:
    if texts.cut:
        warn_of_limit(text_cut(texts.cut, DEFAULTS.text_characters))
    if texts.says:
        yield Text(texts.says, style="bold")
    for row in lines_of(texts, shown_rows(texts.rows, _BESIDE), 0, len(texts.rows)):
        if row.kind == "left out":
            yield Text(f"  ... {row.skipped:,} equal", style="dim")
        elif row.kind == "same" and row.a is not None:
            yield on_one_line("  " + "".join(piece.text for piece in row.a.pieces), "dim")
        else:
            yield from _side(console, "-", row.a)
            yield from _side(console, "+", row.b)


def _side(console: Console, sign: str, given: Line | None) -> Iterator[Text]:
    """A line of one document, its changed words marked, on as many lines as it takes."""
    colour = _COLOURS[sign]
    before, behind, rare = _MARKS[sign] if console.color_system is None else ("", "", "")
    line = Text()
    for piece in given.pieces if given else ():
        text = escaped(piece.text.expandtabs(4))
        if piece.kind in ("same", "run"):
            line.append(text, "reverse" if piece.kind == "run" else "")
        elif piece.kind == "rare":
            line.append(f"{rare}{text}{rare}", f"bold underline {colour}")
        else:
            line.append(f"{before}{text}{behind}", f"black on {colour}")
    if given:
        for part in line.wrap(console, max(console.width - 2, 10), overflow="fold"):
            part.rstrip()
            yield Text.assemble((f"{sign} ", f"bold {colour}"), part)
