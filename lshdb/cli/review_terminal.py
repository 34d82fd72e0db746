"""A review at a terminal: shows two documents of a cluster, and takes a key that decides."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, Literal

import typer
from rich.console import Console
from rich.text import Text

from lshdb.cli.messages import message
from lshdb.cli.options import DatabaseFile
from lshdb.cli.parameters import DATABASE
from lshdb.database import Database
from lshdb.errors import KeyNotFound, warn_of_limit
from lshdb.formatting import share
from lshdb.ingest.deciding import now
from lshdb.limits import DEFAULTS
from lshdb.model import Cluster, Content, Decision
from lshdb.search.decisions import Verdicts
from lshdb.search.differences import Piece, differences, near_differences, same_words
from lshdb.search.limits import text_cut
from lshdb.shingling.content import from_stored
from lshdb.sources.paths import escaped
from lshdb.store import statements as sql
from lshdb.web.listing import common_path

_ACTIONS: Final = {
    "k": ("keep", "both stay"),
    "d": ("drop", "the shown one goes, the kept one stays"),
    "x": ("exchange", "the shown one stays, the kept one goes"),
    "n": ("different", "they are not duplicates of each other"),
    "a": ("all", "all that are left go, but for those below the threshold"),
    "s": ("skip", "ask about the shown one another time"),
    "c": ("cluster", "ask about the whole cluster another time"),
    "m": ("more", "show more of the differences"),
    "u": ("undo", "take the last step back"),
    "q": ("quit", "end; the next run goes on here"),
    "?": ("help", "this list"),
}
_KEYS: Final = {key: name for key, (name, _) in _ACTIONS.items()} | {
    name: name for name, _ in _ACTIONS.values()
}
_PROMPT: Final = "keep [k], drop [d], not duplicates [n], skip [s], undo [u], quit [q], ? "
_MEMBERS: Final = 8
"""Members of a cluster that are listed."""
_BESIDE: Final = 1
"""Equal lines shown on each side of a difference."""
_BEGINNING: Final = 400
"""Characters shown of texts that are identical."""
_LINES: Final = 24
"""Lines of a screen whose height is not known."""
_MIN_LINES: Final = 8


@dataclass(frozen=True, slots=True)
class _Shown:
    """The two documents that are on the screen.

    Attributes:
        kept, other: their keys.
        digests: of their contents, by their keys: decisions are about these.
        contents: by their keys; None if not kept.
    """

    kept: str
    other: str
    digests: dict[str, str]
    contents: dict[str, Content | None]


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of this run, which can be undone.

    Attributes:
        place: of the cluster.
        decided: the time of the decisions, None if nothing was decided.
        skipped: the key of the document that was skipped, or the place of the cluster.
    """

    place: int
    decided: str | None = None
    skipped: str | int | None = None


class Review:
    """One run through the clusters."""

    def __init__(
        self, database: Database, clusters: list[Cluster], threshold: float, who: str
    ) -> None:
        self._database = database
        self._clusters = clusters
        self._threshold = threshold
        self._who = who
        self._console = _console()
        self._keys = _keys(self._console)
        self._steps: list[_Step] = []
        self._skipped: set[str | int | None] = set()
        self._decided: set[int] = set()
        self._version: object = None
        self._read_decisions()

    def run(self) -> None:
        """Ask about one pair after another, until the user ends it or all are decided."""
        place = 0
        while True:
            pair = None
            while place < len(self._clusters) and (pair := self._open_pair(place)) is None:
                place += 1
            if pair is None:
                if not self._steps:
                    self._say("no cluster is left to decide")
                    return
                self._say("that was the last cluster")
                lines: Iterator[Text] = iter(())
                shown = None
            else:
                shown = self._shown(place, *pair)
                if shown is None:
                    continue
                members = min(len(self._clusters[place].members), _MEMBERS)
                lines = self._print_some(self._differences(shown), beside=members)
            action = self._asked(lines, at_end=shown is None)
            if action in (None, "quit"):
                return
            if action == "undo":
                place = self._undo(place)
            elif shown is not None:
                self._act(str(action), place, shown)

    def report(self, at: DatabaseFile) -> None:
        """Print the progress, and how to remove documents."""
        steps = sum(step.decided is not None for step in self._steps)
        message(f"decided in this run: {steps:,}; {self._progress()}")
        dropped = sum(verdict == "drop" for verdict in self._verdicts.of_key.values())
        if dropped:
            named = "" if at.db == DATABASE else f" -d {shlex.quote(str(at.db))}"
            message(
                f"to be dropped: {dropped:,}; lshdb remove --decided{named} removes them, and "
                "lists them with --dry-run"
            )

    # which pair is next

    def _read_decisions(self, place: int | None = None) -> None:
        """Read all decisions, and which clusters are decided.

        Args:
            place: of the cluster of our own last step; the only one that has changed, unless
                others have written to the file.
        """
        version, before = self._database.data_version(), self._version
        self._version = version
        self._verdicts = Verdicts(self._database.decisions())
        for each in range(len(self._clusters)) if place is None or version != before else [place]:
            self._decided.discard(each)
            if self._verdicts.of_cluster(self._clusters[each]):
                self._decided.add(each)

    def _progress(self) -> str:
        return f"{len(self._decided):,} of {len(self._clusters):,} clusters decided"

    def _open_pair(self, place: int) -> tuple[str, str] | None:
        """The next two undecided documents of a cluster, the kept one first."""
        if self._database.data_version() != self._version:
            self._read_decisions()
        if place in self._decided or place in self._skipped:
            return None
        one, verdicts = self._clusters[place], self._verdicts
        nearest = sorted(zip(one.members, one.similarities, strict=True), key=lambda each: -each[1])
        asked = [key for key, _ in nearest if key not in self._skipped]
        left = [key for key in asked if verdicts.of_key.get(key) != "drop"]
        left.sort(key=lambda key: (verdicts.of_key.get(key) != "keep", key != one.keep))
        undecided = [key for key in asked if key not in verdicts.of_key]
        for kept in left:
            for other in undecided:
                if other != kept and not verdicts.apart(kept, other):
                    return kept, other
        return None

    # what the keys do

    def _act(self, action: str, place: int, shown: _Shown) -> None:
        one = self._clusters[place]
        if action in ("skip", "cluster"):
            skipped = shown.other if action == "skip" else place
            self._skipped.add(skipped)
            self._steps.append(_Step(place, skipped=skipped))
        elif action == "different":
            self._decide(place, shown, [("different", [shown.kept, shown.other])])
        elif action == "exchange":
            self._decide(place, shown, [("keep", [shown.other]), ("drop", [shown.kept])])
        else:
            wanted = "keep" if action == "keep" else "drop"
            others = self._left(one, shown) if action == "all" else [shown.other]
            kept = [] if self._verdicts.of_key.get(shown.kept) == "keep" else [shown.kept]
            made = [("keep", [key]) for key in kept] + [(wanted, [key]) for key in others]
            self._decide(place, shown, made)

    def _left(self, one: Cluster, shown: _Shown) -> list[str]:
        """The other undecided members that are similar to the kept one."""
        left = [shown.other]
        if shown.kept == one.keep:  # similarities are to that one
            for key, score in zip(one.members, one.similarities, strict=True):
                is_open = key not in self._verdicts.of_key and key not in (shown.kept, shown.other)
                if is_open and score >= self._threshold:
                    left += [] if self._verdicts.apart(shown.kept, key) else [key]
        return left

    def _decide(self, place: int, shown: _Shown, verdicts: Sequence[tuple[str, list[str]]]) -> None:
        """Store decisions, in one transaction."""
        decided = now()
        made = []
        for verdict, keys in verdicts:
            keys = sorted(keys)
            digests = tuple(shown.digests[key] for key in keys if key in shown.digests)
            made.append(
                Decision(0, verdict, tuple(keys), digests, None, self._who, decided)  # type: ignore[arg-type]
            )
        try:
            self._database.add_decisions(made)
        except KeyNotFound as error:
            self._say(f"{error}; nothing is decided")
            return
        self._steps.append(_Step(place, decided))
        self._read_decisions(place)
        stale = {one.state for one in self._of_time(decided)} & {"changed", "missing"}
        if stale:
            self._say("a document has changed since it was shown: it is asked about again")

    def _of_time(self, decided: str) -> list[Decision]:
        """The decisions of one of our steps."""
        return [
            one
            for one in self._database.decisions()
            if one.decided == decided and one.who == self._who
        ]

    def _undo(self, place: int) -> int:
        """Undo the last step; return the place of its cluster."""
        if not self._steps:
            self._say("nothing was done in this run; lshdb decide --undo undoes earlier decisions")
            return place
        step = self._steps.pop()
        if step.decided is None:
            self._skipped.discard(step.skipped)
        else:
            taken = 0
            for one in self._of_time(step.decided):
                try:
                    self._database.undo_decision(one.decision, one.decided)
                except KeyNotFound:  # somebody else was faster
                    continue
                taken += 1
            self._read_decisions(step.place)
            self._say(f"undone: {taken:,}")
        return step.place

    # what is on the screen

    def _shown(self, place: int, kept: str, other: str) -> _Shown | None:
        """Print a cluster, and which two of its documents are shown; None if one is gone."""
        shown = _Shown(kept, other, {}, {})
        for key in (kept, other):
            try:
                shown.digests[key], shown.contents[key] = self._document(key)
            except KeyNotFound as error:
                self._say(f"{error}; it is passed over")
                self._skipped.add(key)
                return None
        one = self._clusters[place]
        self._console.rule(
            f"Cluster {place + 1:,} of {len(self._clusters):,}, {self._progress()}", align="left"
        )
        self._print_members(one, kept, other)
        return shown

    def _document(self, key: str) -> tuple[str, Content | None]:
        """The digest and the content of a document, from the same moment."""
        rows = list(self._database.sql(sql.DIGEST_AND_CONTENT, [key]))
        if not rows:
            raise KeyNotFound(f"{key!r:.100} no longer exists")
        digest, stored = rows[0]
        known = isinstance(stored, str)
        return digest, from_stored(stored, self._database.settings.shingling) if known else None

    def _print_members(self, one: Cluster, kept: str, other: str) -> None:
        """List some members of a cluster, the kept one first, with their similarities to it."""
        prefix = common_path(one.members)
        where = f" in {prefix}" if prefix else ""
        self._print(Text(_line(f"{len(one.members):,} documents{where}")))
        scores = dict(zip(one.members, one.similarities, strict=True))
        ordered = sorted(one.members, key=lambda key: (key != one.keep, -scores[key]))
        first = [key for key in ordered if key in (kept, other)]
        room = [key for key in ordered if key not in first][: _MEMBERS - len(first)]
        listed = [key for key in ordered if key in {*first, *room}]
        for key in listed:
            mark = {kept: "-", other: "+"}.get(key, " ")
            score = "kept" if key == one.keep else share(scores[key])
            decided = self._verdicts.of_key.get(key, "")
            line = Text(f"{mark} {score:<7}{decided:<6}", style="bold" if mark != " " else "")
            line.append(_line(key.removeprefix(prefix)))
            self._print(line, cropped=True)
        if len(ordered) > len(listed):
            self._print(Text(f"  and {len(ordered) - len(listed):,} more", style="dim"))
        self._print(Text())

    def _differences(self, shown: _Shown) -> Iterator[Text]:
        """The lines that show how two documents differ."""
        a, b = shown.contents[shown.kept], shown.contents[shown.other]
        if len(set(shown.digests.values())) == 1:
            yield Text("Identical", style="bold")
            for text in a[:_BEGINNING].splitlines() if isinstance(a, str) else []:
                yield from self._wrapped(" ", Text(_line(text), style="dim"))
        elif isinstance(a, str) and isinstance(b, str):
            most = DEFAULTS.text_characters
            if (longest := max(len(a), len(b))) > most:
                warn_of_limit(text_cut(longest - most, most))
            if same_words(a, b):
                yield Text("The same words; case, punctuation or blanks differ", style="bold")
            found = differences(a[:most], b[:most])
            done = -1
            for place in near_differences(found.rows, _BESIDE):
                if place > done + 1:
                    yield Text(f"  ... {place - done - 1:,} equal", style="dim")
                done = place
                row = found.rows[place]
                one, other = found.pieces(row)
                if row.same:
                    line = Text("  " + _line("".join(piece.text for piece in one)), style="dim")
                    line.truncate(self._console.width, overflow="ellipsis")
                    yield line
                else:
                    yield from self._side("-", one if row.a is not None else None)
                    yield from self._side("+", other if row.b is not None else None)
            if done + 1 < len(found.rows):
                yield Text(f"  ... {len(found.rows) - done - 1:,} equal", style="dim")
        elif isinstance(a, tuple) and isinstance(b, tuple):
            held, its = set(a), set(b)
            for sign, elements, others in (("-", a, its), ("+", b, held)):
                for element in elements:
                    if element not in others:
                        yield Text(f"{sign} {_line(str(element))}", style=_LINE[sign])
            yield Text(f"  ... {len(held & its):,} in both", style="dim")
        else:
            yield Text("The database does not keep contents: how they differ is not known")

    def _side(self, sign: str, pieces: Sequence[Piece] | None) -> Iterator[Text]:
        """A line of one document, its changed words marked, on as many lines as it takes."""
        if pieces is None:
            return
        plain = self._console.color_system is None
        before, behind = _PLAIN_MARKS[sign]
        line = Text()
        for piece in pieces:
            text = _line(piece.text)
            if piece.kind == "same":
                line.append(text)
            else:
                line.append(f"{before}{text}{behind}" if plain else text, style=_WORDS[sign])
        yield from self._wrapped(sign, line)

    def _wrapped(self, sign: str, line: Text) -> Iterator[Text]:
        """A text on as many lines as it takes, each behind the sign."""
        for part in line.wrap(self._console, max(self._console.width - 2, 10), overflow="fold"):
            part.rstrip()
            yield Text.assemble((f"{sign} ", _LINE.get(sign, "")), part)

    def _print_some(self, lines: Iterator[Text], beside: int = 0) -> Iterator[Text]:
        """Print as many lines as fit on the screen; return the others."""
        height = self._console.height if self._console.is_terminal else _LINES
        room = max(height - beside - 6, _MIN_LINES)
        for line in islice(lines, room):
            self._print(line)
        following = next(lines, None)
        if following is None:
            return lines
        self._say("more [m]")
        return chain([following], lines)

    def _asked(self, lines: Iterator[Text], *, at_end: bool) -> str | None:
        """The next action that a key asks for; None at the end of input."""
        prompt = "undo [u], quit [q] " if at_end else _PROMPT
        while True:
            self._console.print(prompt, style="bold", end="", markup=False)
            self._console.file.flush()
            key = next(self._keys, None)
            self._say("q" if key is None else _line(key[:20]))
            if key is None:
                return None
            action = _KEYS.get(key)
            if action == "more":
                lines = self._print_some(lines)
            elif action == "help" or action is None:
                for each, (name, what) in _ACTIONS.items():
                    self._say(f"{each}  {name:<10}{what}")
            elif not at_end or action in ("undo", "quit"):
                return action

    def _say(self, text: str) -> None:
        self._print(Text(_line(text)))

    def _print(self, line: Text, *, cropped: bool = False) -> None:
        if cropped:
            line.truncate(self._console.width, overflow="ellipsis")
        self._console.print(line, soft_wrap=True)


_LINE: Final = {"-": "bold yellow", "+": "bold cyan"}
_WORDS: Final = {"-": "black on yellow", "+": "black on cyan"}
_PLAIN_MARKS: Final = {"-": ("[-", "-]"), "+": ("{+", "+}")}
"""Marks of different words without colours, as in git's word diff."""


def _console() -> Console:
    """A console without escape sequences if the user wants none."""
    plain = os.environ.get("NO_COLOR") or not sys.stdout.isatty()
    colours: Literal["auto"] | None = None if plain else "auto"
    return Console(color_system=colours, highlight=False, markup=False, emoji=False)


def _keys(console: Console) -> Iterator[str]:
    """The keys that are pressed, or the lines of a pipe; ends where there is no more input."""
    if sys.stdin is None:
        return
    if not sys.stdin.isatty():
        for line in sys.stdin:
            yield line.strip()
        return
    while True:
        try:
            pressed = typer.getchar()
        except EOFError:
            return
        if pressed.startswith("\x03"):
            raise KeyboardInterrupt
        # A key that sends several characters, such as an arrow, is not ours; nor is pasted text:
        # a key answers what is on the screen.
        if pressed.strip():
            yield pressed if len(pressed) == 1 else repr(pressed)
        else:
            console.print()


def _line(text: str) -> str:
    """A text on one line, without control characters."""
    return escaped(text.expandtabs(4))
