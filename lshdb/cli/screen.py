"""Two documents on the screen of a terminal, with their cluster: for compare and review."""

import itertools
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from lshdb.database import Database
from lshdb.errors import warn_of_limit
from lshdb.formatting import share
from lshdb.limits import DEFAULTS
from lshdb.model import Cluster
from lshdb.review import beside, listing, reviewing
from lshdb.search import differences
from lshdb.search.cut_notes import text_cut
from lshdb.sources.paths import escaped

_KEYS = {
    "k": ("keep both", "keep 0 1"),
    "d": ("keep A, drop B", "keep 0,drop 1"),
    "x": ("keep B, drop A", "keep 1,drop 0"),
    "n": ("they are not duplicates of each other", "different *"),
    "a": ("drop all that are left, but for those below the threshold", "keep 0,drop *"),
    "i": ("drop all copies that are identical to a kept document, in all clusters", "copies"),
    "s": ("ask about B another time", ""),
    "c": ("ask about the whole cluster another time", ""),
    "m": ("show more of the differences", ""),
    "u": ("undo your last decision", ""),
    "q": ("end; the next run goes on here", ""),
    "?": ("this list", ""),
}
"""What keys do, and the button of the pages that does it."""
_PROMPT = "keep [k], drop B [d], different [n], skip [s], undo [u], quit [q], ? "
_BESIDE = 1
"""Equal lines shown on each side of a difference."""
_BEGINNING = 400
"""Characters shown of texts that are identical."""
_MEMBERS = 8
"""Members of a cluster that are listed."""
_BREAKS = re.compile(r"\s*[\n\r]\s*")
"""The end of a line within a sentence."""
_MOVED = {"-": "moved to", "+": "moved from"}
_COLOURS = {"-": "yellow", "+": "cyan"}
_MARKS = {"-": ("[-", "-]", "*"), "+": ("{+", "+}", "*")}
"""Marks of different words without colours, as in git's word diff, and of rare ones."""


@dataclass(eq=False)
class ReviewScreen:
    """One run through the clusters of a review, in the order of a list of pages."""

    database: Database
    survey: listing.Survey[Cluster]
    filters: listing.Filters
    review: reviewing.Review

    def __post_init__(self) -> None:
        self._look()
        self._console = terminal()
        self._pressed = _pressed()
        self._skipped: set[str] = set()

    def run(self) -> None:
        """Ask about one pair after another, until the user ends it or all are decided."""
        key = ""
        while key != "q":
            self._look()
            open_pairs = ((cluster, self._open_pair(cluster)) for cluster in self._listed.items)
            no_pair: tuple[Cluster, tuple[str, ...]] = self.survey.items[0], ()
            cluster, pair = next((row for row in open_pairs if row[1]), no_pair)
            if not pair:
                self._say("no cluster is left to decide")
                if not key:
                    return
            documents = reviewing.as_stored(self.database, pair)
            if missing := set(pair).difference(dict(documents)):
                self._say(f"{min(missing)!r:.100} no longer exists; it is skipped")
                self._skipped |= missing
                continue
            key = self._answer(self._drawn(cluster, dict(documents)) if pair else iter(()))
            if key == "u":
                last = self.review.last(self.database.decisions())
                for decision in self.review.undo(last.decisions[0].decided) if last else ():
                    self._say(f"undone: {decision.verdict} {', '.join(decision.keys)}")
                if not last:
                    self._say("there is nothing to undo")
            elif key in "sc":
                self._skipped.update(pair[1:] if key == "s" else cluster.members)
            elif action := _KEYS[key][1]:
                if key == "i":
                    documents, copies = self.review.copies(self.database, self.survey.items)
                    self._say(f"{copies:,} identical copies are dropped")
                elif key == "a" and pair[:1] == (cluster.keep,):
                    members = self._listed.described(cluster)["members"]
                    left = (member["key"] for member in members if member["left"])
                    others = [key for key in left if key not in pair]
                    documents += reviewing.as_stored(self.database, others)
                if documents:
                    self.review.decide(action, documents)

    def _look(self) -> None:
        """See what is decided now."""
        verdicts = self.review.verdicts(self.database)
        self._listed = listing.Listing(self.survey, verdicts, self.filters)

    def progress(self) -> str:
        """How many clusters are decided, in words."""
        counts = self._listed.counts
        done = f"{counts['decided']:,} of {counts['count']:,} clusters decided"
        if learned := self._listed.learned:
            similarity = share(learned["similarity"])
            agreed = f"{learned['duplicates']} of {learned['answers']}"
            done += f"; at {similarity} and above you agreed in {agreed}"
        return done

    def _open_pair(self, cluster: Cluster) -> tuple[str, ...]:
        """The next two undecided documents of a cluster, the kept one first."""
        verdicts, members = self._listed.verdicts, self._listed.described(cluster)["members"]
        keys = [member["key"] for member in members if member["key"] not in self._skipped]
        keys.sort(key=lambda key: verdicts.of_key.get(key) != "keep")
        return next(verdicts.open_pairs(keys), ())

    def _drawn(self, cluster: Cluster, digests: Mapping[str, str]) -> Iterator[Text]:
        """Show a cluster; return the lines that show how two of its documents differ."""
        a, b = (self.database.get(key).content for key in digests)
        every = self._listed.items
        number = f"Cluster {every.index(cluster) + 1:,} of {len(every):,}"
        self._console.rule(f"{number}, {self.progress()}", align="left")
        marks = dict(zip(digests, ("A -", "B +"), strict=True))
        show(self._console, *drawn_members(self._listed.described(cluster), marks))
        same = len(set(digests.values())) == 1
        return drawn_differences(self._console, self.database, a, b, identical=same)

    def _answer(self, lines: Iterator[Text]) -> str:
        """Print lines, as many at once as half of the screen has, and take a key."""
        room = max(self._console.height // 2, len(_KEYS))
        while True:
            shown = list(itertools.islice(lines, room))
            show(self._console, *shown)
            if len(shown) == room:
                self._say("more [m]")
            self._console.print(_PROMPT, style="bold", end="")
            self._console.file.flush()
            key = next(self._pressed, "q")
            self._say(key[:20])
            if key in _KEYS.keys() - {"m", "?"}:
                return key
            if key != "m":
                names = (Text(f"{name}  {what}") for name, (what, _) in _KEYS.items())
                lines = itertools.chain(names, lines)

    def _say(self, text: str) -> None:
        self._console.print(escaped(text), soft_wrap=True)


def _pressed() -> Iterator[str]:
    """The keys that are pressed, or the lines of a pipe; ends where there is no more input."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield from map(str.strip, sys.stdin or ())
        return
    with suppress(EOFError):
        while pressed := typer.getchar():
            # A key that sends several characters, such as an arrow, is not ours; nor is pasted
            # text: a key answers what is on the screen.
            yield pressed if len(pressed) == 1 else repr(pressed)


def terminal() -> Console:
    """Standard output, without escape sequences if the user wants none."""
    colours = None if os.environ.get("NO_COLOR") else "auto"
    return Console(color_system=colours, highlight=False, markup=False, emoji=False)  # type: ignore[arg-type]


def show(console: Console, *lines: Text) -> None:
    """Print lines, each cut to the width of the screen."""
    for line in lines:
        console.print(line, no_wrap=True, overflow="ellipsis")


def single_line(text: str, style: str = "") -> Text:
    """A text on one line, without control characters."""
    return Text(escaped(text.expandtabs(4)), style)


def drawn_members(cluster: Mapping[str, Any], marks: Mapping[str, str]) -> Iterator[Text]:
    """The lines about a cluster and its members: marked ones first, then the most similar.

    Args:
        cluster: the cluster, as of Listing.described.
        marks: of the members that are shown side by side.
    """
    members, prefix = cluster["members"], cluster["prefix"]
    yield single_line(f"{len(members):,} documents" + (f" in {prefix}" if prefix else ""))
    for member in sorted(members, key=lambda member: member["key"] not in marks)[:_MEMBERS]:
        key = member["key"]
        score = "kept" if key == cluster["keep"] else share(member["similarity"])
        line = (
            f"{marks.get(key, ''):<3} {score:<7}{member['decided'] or '':<5} {key[len(prefix) :]}"
        )
        yield single_line(line, "bold" if key in marks else "")
    if len(members) > _MEMBERS:
        yield Text(f"    and {len(members) - _MEMBERS:,} more", style="dim")
    yield Text("")


def drawn_differences(
    console: Console,
    database: Database,
    a: beside.StoredContent,
    b: beside.StoredContent,
    *,
    identical: bool,
) -> Iterator[Text]:
    """The lines that show how two documents differ: those of A begin with -, those of B with +.

    In a file that indexes rare words, those that both have are underlined in what differs, and long
    equal runs between are reversed.
    """
    if identical:
        yield Text("Identical", style="bold")
        if isinstance(a, str):
            yield from (single_line(f"  {line}", "dim") for line in a[:_BEGINNING].splitlines())
        return
    texts, sets = beside.contents_beside(database, a, b, elements=sys.maxsize)
    if texts is not None:
        yield from _drawn_texts(console, texts)
    elif sets is not None:
        for sign, (_, elements) in zip("-+", sets, strict=False):
            for element in elements:
                yield single_line(f"{sign} {element}", f"bold {_COLOURS[sign]}")
        yield Text(f"  ... {sets[2][0]:,} in both", style="dim")
    else:
        yield Text("The database does not keep contents: how they differ is not known")


def _drawn_texts(console: Console, texts: beside.Beside) -> Iterator[Text]:
    if texts.cut:
        warn_of_limit(text_cut(texts.cut, DEFAULTS.text_characters))
    if texts.says:
        yield Text(texts.says, style="bold")
    for row in beside.lines_of(
        texts, differences.shown_rows(texts.rows, _BESIDE), 0, len(texts.rows)
    ):
        if row.kind == "left out":
            yield Text(f"  ... {row.skipped:,} equal", style="dim")
        elif row.kind == "same":
            line = row.a or row.b
            text = "".join(piece.text for piece in line.pieces) if line else ""
            yield single_line(f"  {_BREAKS.sub(' ', text)}", "dim")
        else:
            yield from _side(console, "-", row.a, row.a_elsewhere)
            yield from _side(console, "+", row.b, row.b_elsewhere)


def _side(
    console: Console, sign: str, given: differences.Line | None, elsewhere: tuple[int, int] | None
) -> Iterator[Text]:
    """A line of one document, its changed words marked, on as many lines as it takes; at its end
    the line of the other document that has what moved.
    """
    colour = _COLOURS[sign]
    before, behind, rare = _MARKS[sign] if console.color_system is None else ("", "", "")
    line = Text()
    for piece in given.pieces if given else ():
        text = escaped(_BREAKS.sub(" ", piece.text).expandtabs(4))
        if piece.kind in ("same", "run", "renamed"):
            line.append(text, {"run": "reverse", "renamed": "underline"}.get(piece.kind, ""))
        elif piece.kind == "rare":
            line.append(f"{rare}{text}{rare}", f"bold underline {colour}")
        else:
            line.append(f"{before}{text}{behind}", f"black on {colour}")
    if elsewhere:
        line.append(f" ({_MOVED[sign]} line {elsewhere[1]:,})", "dim")
    if given:
        for part in line.wrap(console, max(console.width - 2, 10), overflow="fold"):
            part.rstrip()
            yield Text.assemble((f"{sign} ", f"bold {colour}"), part)
