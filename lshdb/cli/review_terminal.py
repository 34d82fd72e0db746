"""A review at a terminal: shows two documents of a cluster, and takes a key that decides."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice

import typer
from rich.text import Text

from lshdb.cli.drawing import drawn_differences, on_one_line, show, terminal
from lshdb.database import Database
from lshdb.errors import KeyNotFound
from lshdb.formatting import share
from lshdb.model import Cluster
from lshdb.sources.paths import escaped
from lshdb.web import listing, reviewing

_ACTIONS = {
    "k": "keep both",
    "d": "drop the shown one, keep the kept one",
    "x": "keep the shown one, drop the kept one",
    "n": "they are not duplicates of each other",
    "a": "drop all that are left, but for those below the threshold",
    "i": "drop all copies that are identical to a kept document, in all clusters",
    "s": "ask about the shown one another time",
    "c": "ask about the whole cluster another time",
    "m": "show more of the differences",
    "u": "undo your last decision",
    "q": "end; the next run goes on here",
    "?": "this list",
}
_BUTTONS = {"k": "both", "d": "only 0 1", "x": "only 1 0", "n": "different", "a": "only 0"}
"""What keys mean, as the pages say it of the kept document, the shown one and all that are left."""
_PROMPT = "keep [k], drop [d], not duplicates [n], skip [s], undo [u], quit [q], ? "
_MEMBERS = 8
"""Members of a cluster that are listed."""
_MIN_LINES = 8
"""Minimum lines of the screen for differences."""


@dataclass(eq=False)
class Session:
    """One run through the clusters."""

    database: Database
    clusters: list[Cluster]
    threshold: float
    who: str
    own: bool = False

    def __post_init__(self) -> None:
        self._review = reviewing.Review(self.database.path, self.who, self.own)
        self._console = terminal()
        self._pressed = _pressed()
        self._skipped: set[str] = set()
        self._verdicts = self._review.verdicts(self.database)

    def run(self) -> None:
        """Ask about one pair after another, until the user ends it or all are decided."""
        action = ""
        while action != "q":
            self._verdicts = self._review.verdicts(self.database)
            numbered = enumerate(map(self._open_pair, self.clusters))
            index, pair = next((each for each in numbered if each[1]), (0, None))
            if pair is None:
                self._say("no cluster is left to decide")
                if not action:
                    return
                if (action := self._asked(iter(()), 0)) == "u":
                    self._undo()
                continue
            known = self.database.store.known(pair)
            if missing := [key for key in pair if key not in known]:
                self._say(f"{missing[0]!r:.100} no longer exists; it is skipped")
                self._skipped.update(missing)
                continue
            digests = {key: known[key].digest.hex() for key in pair}
            one = self.clusters[index]
            room = max(self._console.height - min(len(one.members), _MEMBERS) - 6, _MIN_LINES)
            action = self._asked(self._drawn(index, digests), room)
            if action in "sc":
                self._skipped.update(pair[1:] if action == "s" else one.members)
            elif action == "u":
                self._undo()
            elif action == "i":
                self._drop_copies()
            elif action in _BUTTONS:
                self._decide(action, one, digests)

    def progress(self) -> str:
        """How many clusters are decided, in words."""
        decided = sum(map(self._verdicts.of_cluster, self.clusters))
        done = f"{decided:,} of {len(self.clusters):,} clusters decided"
        if found := listing.learned(self.clusters, self._verdicts):
            at = share(found["similarity"])
            done += f"; at {at} and above you agreed in {found['duplicates']} of {found['answers']}"
        return done

    def _open_pair(self, one: Cluster) -> tuple[str, str] | None:
        """The next two undecided documents of a cluster, the kept one first."""
        of_key = self._verdicts.of_key
        scored = sorted(zip(one.similarities, one.members, strict=True), key=lambda each: -each[0])
        asked = [key for _, key in scored if key not in self._skipped]
        left = [key for key in asked if of_key.get(key) != "drop"]
        left.sort(key=lambda key: (of_key.get(key) != "keep", key != one.keep))
        undecided = [key for key in asked if key not in of_key]
        pairs = ((kept, other) for kept in left for other in undecided if other != kept)
        return next((pair for pair in pairs if not self._verdicts.apart(*pair)), None)

    def _decide(self, action: str, one: Cluster, digests: Mapping[str, str]) -> None:
        """Store what a key says about the two that are shown, or all that are left."""
        documents = dict(digests)
        if action == "a" and next(iter(digests)) == one.keep:
            members = listing.described(one, self._verdicts, self.threshold)["members"]
            left = [each["key"] for each in members if each["left"]]
            for key, found in self.database.store.known(left).items():
                documents.setdefault(key, found.digest.hex())
        self._review.decide(_BUTTONS[action], list(documents.items()))
        now = self.database.store.known(list(digests))
        if any(key not in now or now[key].digest.hex() != digests[key] for key in digests):
            self._say("a document has changed since it was shown: it is asked about again")

    def _drop_copies(self) -> None:
        documents, kept = reviewing.copies_of(self.database, self.clusters, self._verdicts)
        self._say(f"{len(documents) - len(kept):,} identical copies are to be dropped")
        if kept:
            self._review.decide(" ".join(["copies", *map(str, kept)]), documents)

    def _undo(self) -> None:
        last = self._review.form(self.database)["last"]
        try:
            undone = self._review.undo(last[0].decided) if last else []
        except KeyNotFound:  # somebody else was faster
            undone = []
        for one in undone:
            self._say(f"undone: {one.verdict} {', '.join(one.keys)}")
        if not undone:
            self._say("there is nothing to undo")

    def _drawn(self, index: int, digests: Mapping[str, str]) -> Iterator[Text]:
        """Show a cluster; return the lines that show how two of its documents differ."""
        a, b = (self.database.get(key).content for key in digests)
        one = listing.described(self.clusters[index], self._verdicts, self.threshold)
        self._console.rule(
            f"Cluster {index + 1:,} of {len(self.clusters):,}, {self.progress()}", align="left"
        )
        prefix, count = one["prefix"], one["documents"]
        self._say(f"{count:,} documents" + (f" in {prefix}" if prefix else ""))
        marks = dict(zip(digests, "-+", strict=True))
        members = sorted(one["members"], key=lambda member: member["key"] not in marks)
        for member in members[:_MEMBERS]:
            key = member["key"]
            score = "kept" if key == one["keep"] else share(member["similarity"])
            decided = self._verdicts.of_key.get(key, "")
            line = f"{marks.get(key, ' ')} {score:<7}{decided:<6}{key.removeprefix(prefix)}"
            show(self._console, on_one_line(line, "bold" if key in marks else ""))
        if count > _MEMBERS:
            self._console.print(f"  and {count - _MEMBERS:,} more", style="dim")
        self._console.print()
        identical = len(set(digests.values())) == 1
        programs = self.database.settings.shingling.of_programs
        return drawn_differences(self._console, a, b, identical=identical, programs=programs)

    def _asked(self, lines: Iterator[Text], room: int) -> str:
        """Print lines, as many at once as there is room for, and take a key: the next action."""
        action = "m"
        while action in "m?":
            if action == "?":
                for each in _ACTIONS.items():
                    self._say("  ".join(each))
            else:
                for line in islice(lines, room):
                    show(self._console, line)
                if following := list(islice(lines, 1)):
                    lines = chain(following, lines)
                    self._say("more [m]")
            self._console.print(_PROMPT, style="bold", end="")
            self._console.file.flush()
            pressed = next(self._pressed, "q")
            self._say(pressed[:20])
            action = pressed if pressed in _ACTIONS else "?"
        return action

    def _say(self, text: str) -> None:
        self._console.print(escaped(text), soft_wrap=True)


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
