"""`lshdb review`: review the clusters, and decide which documents stay."""

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from lshdb.apps.compare.cli.compare import differing_lines
from lshdb.apps.review import listing, reviewing
from lshdb.apps.review.options import ClusteringOptions, Who
from lshdb.cli import messages
from lshdb.cli.options import DatabaseFile
from lshdb.database import Database
from lshdb.errors import UsageError
from lshdb.formatting import sameness, share
from lshdb.groups import Option, values_of
from lshdb.model import Cluster
from lshdb.options import ClustersOptions
from lshdb.progress import silent
from lshdb.read.paths import escaped

_ORDERS = ("size", "highest", "lowest", "informative")
_ANSWERS = {
    "k": ("keep both", "keep 0 1"),
    "d": ("keep A, drop B", "keep 0,drop 1"),
    "x": ("keep B, drop A", "keep 1,drop 0"),
    "n": ("they are not duplicates of each other", "different *"),
    "a": ("drop all that are left, but for those below the threshold", "keep 0,drop *"),
    "i": ("drop all copies that are identical to a kept document, in all clusters", "copies"),
    "s": ("ask about B another time", ""),
    "c": ("ask about the whole cluster another time", ""),
    "u": ("undo your last decision", ""),
    "q": ("end; the next run goes on here", ""),
    "?": ("this list", ""),
}
"""What answers do, and the button of the pages that does it."""
_PROMPT = "keep [k], drop B [d], different [n], skip [s], undo [u], quit [q], help [?]"
_MEMBERS = 8
"""Members of a cluster that are listed."""
_LINES = 40
"""Lines of differences that are shown."""


def review(
    *,
    file: DatabaseFile,
    options: ClusteringOptions,
    order: Annotated[
        str,
        Option(
            "Largest first, by similarity, or first what is nearest the threshold.",
            metavar="|".join(_ORDERS),
        ),
    ] = "size",
    who: Who = None,
) -> None:
    """Review the clusters at a terminal, and decide which documents stay.

    Shows the kept document of each cluster beside each of the others, with what differs, and
    asks: k (both stay), d (the shown one goes), n (they are not duplicates), s (later), u (undo),
    q (quit); ? lists the others. Decided pairs are not shown again, so that the next run goes on
    where this one ended.

    Each decision is stored at once, as by lshdb decide. Nothing is removed before lshdb remove
    --decided. Answers may also come from a pipe, one a line.

    Example: lshdb review -d code.db --threshold 0.9
    """
    if order not in _ORDERS:
        raise UsageError(f"--order {order} is not {', '.join(_ORDERS)}")
    with file.open("write") as database:
        # Without decisions, so that clusters keep their places from one run to the next.
        request = ClustersOptions(**values_of(options), ignore_decisions=True)
        survey = listing.survey_clusters(database, request, silent)
        if not survey.items:
            messages.message("no two documents are similar: nothing to review")
            return
        work = _Questions(
            database, survey, listing.Filters(sort=order), reviewing.Review(database.path, who)
        )
        try:
            work.run()
        finally:
            messages.message(work.progress())
            if dropped := len(database.remove_decided(dry_run=True)):
                messages.message(
                    f"to be dropped: {dropped:,}; lshdb remove --decided "
                    f"-d {shlex.quote(str(file.db))} removes them, and lists them with --dry-run"
                )


@dataclass(eq=False)
class _Questions:
    """One run through the clusters of a review, in the order of a list of pages."""

    database: Database
    survey: listing.Survey[Cluster]
    filters: listing.Filters
    review: reviewing.Review

    def __post_init__(self) -> None:
        self._look()
        self._console = Console(highlight=False)
        self._skipped: set[str] = set()

    def run(self) -> None:
        """Ask about one pair after another, until the user ends it or all are decided."""
        answer = ""
        while answer != "q":
            self._look()
            cluster, pair = next(self._open_pairs(), (self.survey.items[0], ()))
            documents = reviewing.as_stored(self.database, pair)
            if missing := set(pair).difference(dict(documents)):
                self._say(f"{min(missing)!r:.100} no longer exists; it is skipped")
                self._skipped |= missing
                continue
            if pair:
                self._show(cluster, documents)
            else:
                self._say("no cluster is left to decide")
                if not answer:
                    return
            answer = _asked()
            if answer == "?":
                for name, (does, _) in _ANSWERS.items():
                    self._say(f"{name}  {does}")
            elif answer == "u":
                self._undo()
            elif answer in "sc":
                self._skipped.update(pair[1:] if answer == "s" else cluster.members)
            elif action := _ANSWERS[answer][1]:
                if answer == "i":
                    documents, action, copies = self.review.copies(self.database, self.survey.items)
                    self._say(f"{copies:,} identical copies are dropped")
                elif answer == "a" and pair[:1] == (cluster.keep,):
                    members = self._listed.described(cluster)["members"]
                    left = (member["key"] for member in members if member["left"])
                    others = [key for key in left if key not in pair]
                    documents += reviewing.as_stored(self.database, others)
                if documents:
                    self.review.decide(action, documents)

    def _undo(self) -> None:
        last = self.review.last(self.database.decisions())
        if not last:
            self._say("there is nothing to undo")
            return
        first = last.decisions[0]
        for decision in self.review.undo(f"{first.decided} {first.decision}"):
            self._say(f"undone: {decision.verdict} {', '.join(decision.keys)}")

    def _look(self) -> None:
        """See what is decided now."""
        verdicts = listing.held_decisions(self.database)
        self._listed = listing.Listing(self.survey, verdicts, self.filters)

    def progress(self) -> str:
        """How many clusters are decided, in words."""
        counts = self._listed.counts
        return f"{counts['decided']:,} of {counts['count']:,} clusters decided"

    def _open_pairs(self) -> Iterator[tuple[Cluster, tuple[str, ...]]]:
        """The next two undecided documents of each cluster, the kept one first."""
        verdicts = self._listed.verdicts
        for cluster in self._listed.items:
            members = self._listed.described(cluster)["members"]
            keys = [member["key"] for member in members if member["key"] not in self._skipped]
            keys.sort(key=lambda key: verdicts.of_key.get(key) != "keep")
            yield from ((cluster, pair) for pair in islice(verdicts.open_pairs(keys), 1))

    def _show(self, cluster: Cluster, documents: list[tuple[str, str]]) -> None:
        """Show a cluster, and how two of its documents differ.

        Args:
            cluster: the cluster.
            documents: the keys of the two documents, A first, with their digests.
        """
        described = self._listed.described(cluster)
        members, prefix = described["members"], described["prefix"]
        marks = dict(zip(dict(documents), ("A -", "B +"), strict=True))
        every = self._listed.items
        number = f"Cluster {every.index(cluster) + 1:,} of {len(every):,}"
        self._console.rule(f"{number}, {self.progress()}", align="left")
        self._say(f"{len(members):,} documents" + (f" in {prefix}" if prefix else ""))
        members.sort(key=lambda member: member["key"] not in marks)
        for member in members[:_MEMBERS]:
            key, decided = member["key"], member["decided"] or ""
            same = sameness(member["identical"], member["same_text"])
            score = "kept" if key == cluster.keep else same or share(member["similarity"])
            self._say(f"{marks.get(key, ''):<3} {score:<10}{decided:<5} {key[len(prefix) :]}")
        if len(members) > _MEMBERS:
            self._say(f"    and {len(members) - _MEMBERS:,} more")
        self._say("")
        a, b = (self.database.get(key).content for key in marks)
        is_same = len({digest for _, digest in documents}) == 1
        are_identical = all(member["identical"] for member in members if member["key"] in marks)
        same = sameness(are_identical and is_same, is_same)
        lines = differing_lines(self.database, a, b, same=same)
        for line in islice(lines, _LINES):
            self._say(line)
        if next(lines, None) is not None:
            self._say("more differences: lshdb serve shows them all")

    def _say(self, text: str | Text) -> None:
        """Print a line, which only a terminal breaks."""
        line = Text(escaped(text)) if isinstance(text, str) else text
        self._console.print(line, soft_wrap=not self._console.is_terminal)


def _asked() -> str:
    """The answer of the user; the end of the input is that of the review."""

    def known(text: str) -> str:
        if text.strip() not in _ANSWERS:
            raise typer.BadParameter(f"{text[:20]!r} is not an answer; ? lists them")
        return text.strip()

    if sys.stdin is None:
        return "q"
    try:
        answer: str = typer.prompt(_PROMPT, value_proc=known)
    except typer.Abort as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            print(flush=True)
            raise KeyboardInterrupt from None
        print("q", flush=True)
        return "q"
    if not sys.stdin.isatty():
        print(answer)  # as a terminal shows what is typed
    return answer
