"""A review at a terminal: shows two documents of a cluster, and takes a key that decides."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Final, NamedTuple

import typer
from rich.text import Text

from lshdb.cli.drawing import drawn_differences, on_one_line, show, terminal
from lshdb.database import Database
from lshdb.errors import KeyNotFound
from lshdb.formatting import share
from lshdb.ingest.deciding import add_decisions, now, undo_decision
from lshdb.model import Cluster, Content, Decision, Verdict
from lshdb.search.decisions import Verdicts
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
_PROMPT: Final = "keep [k], drop [d], not duplicates [n], skip [s], undo [u], quit [q], ? "
_LAST_PROMPT: Final = "undo [u], quit [q] "
_SKIPPING: Final = "sc"
_MEMBERS: Final = 8
"""Members of a cluster that are listed."""
_MIN_LINES: Final = 8


class _Document(NamedTuple):
    """A document on the screen; decisions are about its digest, content may be unknown."""

    key: str
    digest: str
    content: Content | None


class _Step(NamedTuple):
    """A step of this run, which can be undone: it decided something, or skipped something.

    Attributes:
        cluster: its index.
        decided: the time of the decisions, None if nothing was decided.
        skipped: what was skipped before.
    """

    cluster: int
    decided: str | None
    skipped: frozenset[str | int]


class Review:
    """One run through the clusters."""

    def __init__(
        self, database: Database, clusters: list[Cluster], threshold: float, who: str
    ) -> None:
        self._database = database
        self._clusters = clusters
        self._threshold = threshold
        self._who = who
        self._console = terminal()
        self._pressed = _pressed()
        self._steps: list[_Step] = []
        self._skipped: frozenset[str | int] = frozenset()
        """Keys of documents, and indices of clusters."""
        self._room = _MIN_LINES
        """Lines of the screen for differences."""

    def run(self) -> None:
        """Ask about one pair after another, until the user ends it or all are decided."""
        index = 0
        action = ""
        while action != "q":
            self._verdicts = Verdicts(self._database.decisions())
            pair = None
            while index < len(self._clusters) and (pair := self._open_pair(index)) is None:
                index += 1
            if pair is None:
                if not self._steps:
                    self._say("no cluster is left to decide")
                    break
                self._say("that was the last cluster")
                action = self._asked(_LAST_PROMPT, iter(()))
            elif (shown := self._documents(pair)) is not None:
                action = self._asked(_PROMPT, self._drawn(index, shown))
                self._act(action, index, shown)
            if action == "u":
                index = self._undo(index)

    def summary(self) -> str:
        """What was decided, in words."""
        self._verdicts = Verdicts(self._database.decisions())
        steps = sum(step.decided is not None for step in self._steps)
        return f"decided in this run: {steps:,}; {self._progress()}"

    def _progress(self) -> str:
        decided = sum(map(self._verdicts.of_cluster, self._clusters))
        return f"{decided:,} of {len(self._clusters):,} clusters decided"

    def _open_pair(self, index: int) -> tuple[str, str] | None:
        """The next two undecided documents of a cluster, the kept one first."""
        if index in self._skipped:
            return None
        one, verdicts = self._clusters[index], self._verdicts
        asked = [key for key in _nearest(one) if key not in self._skipped]
        left = [key for key in asked if verdicts.of_key.get(key) != "drop"]
        left.sort(key=lambda key: (verdicts.of_key.get(key) != "keep", key != one.keep))
        undecided = [key for key in asked if key not in verdicts.of_key]
        pairs = ((kept, other) for kept in left for other in undecided if other != kept)
        return next((pair for pair in pairs if not verdicts.apart(*pair)), None)

    def _documents(self, pair: Sequence[str]) -> list[_Document] | None:
        """The documents as they are now; None, with a message, if one is gone."""
        found = []
        for key in pair:
            row = next(iter(self._database.sql(sql.DIGEST_AND_CONTENT, [key])), None)
            if row is None:
                self._say(f"{key!r:.100} no longer exists; it is skipped")
                self._skipped |= {key}
                return None
            digest, stored = row
            known = isinstance(stored, str)
            content = from_stored(stored, self._database.settings.shingling) if known else None
            found.append(_Document(key, digest, content))
        return found

    # what the keys do

    def _act(self, action: str, index: int, shown: Sequence[_Document]) -> None:
        kept, other = (each.key for each in shown)
        if action in _SKIPPING:
            self._steps.append(_Step(index, None, self._skipped))
            self._skipped |= {other if action == "s" else index}
        elif action == "n":
            self._decide(index, shown, [("different", (kept, other))])
        elif action == "x":
            self._decide(index, shown, [("keep", (other,)), ("drop", (kept,))])
        elif action in "kda":
            others = self._left(index, kept, other) if action == "a" else [other]
            verdict: Verdict = "keep" if action == "k" else "drop"
            verdicts = [(verdict, (key,)) for key in others]
            self._decide(index, shown, [("keep", (kept,)), *verdicts])

    def _left(self, index: int, kept: str, other: str) -> list[str]:
        """The other document, and those undecided members that are similar to the kept one."""
        one, verdicts = self._clusters[index], self._verdicts
        return [other] + [
            key
            for key, score in zip(one.members, one.similarities, strict=True)
            if kept == one.keep  # similarities are to that one
            and score >= self._threshold
            and key not in (kept, other, *verdicts.of_key)
            and not verdicts.apart(kept, key)
        ]

    def _decide(
        self,
        index: int,
        shown: Sequence[_Document],
        verdicts: Iterable[tuple[Verdict, tuple[str, ...]]],
    ) -> None:
        """Store verdicts on documents, in one transaction, as a step."""
        decided = now()
        known = {each.key: each.digest for each in shown}
        made = []
        for verdict, keys in verdicts:
            if verdict != self._verdicts.of_key.get(keys[0]):
                digests = tuple(known[key] for key in keys if key in known)
                made.append(Decision(0, verdict, keys, digests, None, self._who, decided))
        try:
            add_decisions(self._database, made)
        except KeyNotFound as error:
            self._say(f"{error}; nothing is decided")
            return
        self._steps.append(_Step(index, decided, self._skipped))
        if {one.state for one in self._made(decided)} & {"changed", "missing"}:
            self._say("a document has changed since it was shown: it is asked about again")

    def _made(self, decided: str | None) -> list[Decision]:
        """The decisions of one of our steps."""
        known = self._database.decisions()
        return [one for one in known if (one.decided, one.who) == (decided, self._who)]

    def _undo(self, index: int) -> int:
        """Undo the last step; return the index of its cluster."""
        if not self._steps:
            self._say("nothing was done in this run; lshdb decide --undo undoes earlier decisions")
            return index
        step = self._steps.pop()
        self._skipped = step.skipped
        if step.decided is not None:
            taken = 0
            for one in self._made(step.decided):
                with suppress(KeyNotFound):  # somebody else was faster
                    undo_decision(self._database, one.decision, one.decided)
                    taken += 1
            self._say(f"undone: {taken:,}")
        return step.cluster

    # what is on the screen

    def _drawn(self, index: int, shown: Sequence[_Document]) -> Iterator[Text]:
        """The lines that show a cluster, and how two of its documents differ."""
        one = self._clusters[index]
        self._console.rule(
            f"Cluster {index + 1:,} of {len(self._clusters):,}, {self._progress()}", align="left"
        )
        prefix = common_path(one.members)
        self._say(f"{len(one.members):,} documents" + (f" in {prefix}" if prefix else ""))
        scores = dict(zip(one.members, one.similarities, strict=True))
        marks = dict(zip((each.key for each in shown), "-+", strict=True))
        listed = sorted(_nearest(one), key=lambda key: (key not in marks, key != one.keep))
        for key in listed[:_MEMBERS]:
            score = "kept" if key == one.keep else share(scores[key])
            decided = self._verdicts.of_key.get(key, "")
            line = f"{marks.get(key, ' ')} {score:<7}{decided:<6}{key.removeprefix(prefix)}"
            show(self._console, on_one_line(line, "bold" if key in marks else ""))
        if len(listed) > _MEMBERS:
            self._console.print(f"  and {len(listed) - _MEMBERS:,} more", style="dim")
        self._console.print()
        self._room = max(self._console.height - min(len(listed), _MEMBERS) - 6, _MIN_LINES)
        kept, other = shown
        return drawn_differences(
            self._console, kept.content, other.content, identical=kept.digest == other.digest
        )

    def _asked(self, prompt: str, lines: Iterator[Text]) -> str:
        """Print lines as far as the screen reaches, and take a key: the next action."""
        lines = self._print_some(lines)
        while True:
            self._console.print(prompt, style="bold", end="")
            self._console.file.flush()
            key = next(self._pressed, "q")
            self._say(key[:20])
            action = next(
                (each for each, (name, _) in _ACTIONS.items() if key in (each, name)), "?"
            )
            if action == "m":
                lines = self._print_some(lines)
            elif action == "?":
                for each, (name, what) in _ACTIONS.items():
                    self._say(f"{each}  {name:<10}{what}")
            elif f"[{action}]" in prompt or prompt == _PROMPT:
                return action

    def _print_some(self, lines: Iterator[Text]) -> Iterator[Text]:
        """Print as many lines as fit on the screen; return the others."""
        for line in islice(lines, self._room):
            show(self._console, line)
        following = next(lines, None)
        if following is None:
            return lines
        self._say("more [m]")
        return chain([following], lines)

    def _say(self, text: str) -> None:
        self._console.print(escaped(text), soft_wrap=True)


def _nearest(one: Cluster) -> list[str]:
    """The members, by their similarity to the kept one."""
    scored = zip(one.members, one.similarities, strict=True)
    return [key for key, _ in sorted(scored, key=lambda each: -each[1])]


def _pressed() -> Iterator[str]:
    """The keys that are pressed, or the lines of a pipe; ends where there is no more input."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield from map(str.strip, sys.stdin or ())
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
        yield pressed if len(pressed) == 1 else repr(pressed)
