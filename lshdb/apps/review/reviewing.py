"""Reviews: the forms of `lshdb serve --review` and keys of `lshdb review` that write decisions.

A review is of one file. Only these commands begin a review: Datasette with the plugin has none.
Forms must come from our own pages and carry a token that no other site knows. They write decisions,
and change no documents. A form counts once: a key that is pressed twice decides once.
"""

import hmac
import secrets
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast, get_args

from lshdb import errors
from lshdb.apps.review import file_state, listing, storing_decisions
from lshdb.apps.review.decisions import Decision
from lshdb.apps.review.statements import DATA_VERSION
from lshdb.database import Database, store_of
from lshdb.database import open as open_database
from lshdb.json_text import loads
from lshdb.model import Cluster, Verdict

MAX_MEMBERS = 5_000
"""Maximum number of documents that a form decides about."""
_TIMEOUT = 10.0

Next = tuple[str, dict[str, str]]
"""The page that follows a form, and its query."""


class Forbidden(errors.UsageError):
    """A form that is not from a page of this review."""


@dataclass(frozen=True, slots=True)
class Press:
    """What one press of a button or key decided, or one command.

    Attributes:
        decisions: all of them, by the same reviewer at the same time.
        dropped, kept, different: the keys of their documents, by verdict.
    """

    decisions: list[Decision]
    dropped: list[str]
    kept: list[str]
    different: list[str]


class Review:
    """The review of a file.

    Attributes:
        who: the reviewer; by default the user of the system.
        path: the file.
        token: what each form of the review carries.

    Raises:
        UsageError: the name cannot be stored.
    """

    def __init__(self, path: Path, who: str | None) -> None:
        self.path = path.absolute()
        self.who = storing_decisions.user() if who is None else who
        if wrong := storing_decisions.word_fault("who", self.who):
            raise errors.UsageError(wrong)
        self.token = secrets.token_urlsafe(24)
        self._form_lock = threading.Lock()
        self._next_pages: dict[str, Next] = {}
        self._carried: tuple[Hashable, Hashable] | None = None

    def check(self, posted: Mapping[str, str]) -> None:
        """Forbidden unless a form is from a page of this review."""
        if not hmac.compare_digest(posted.get("token", "").encode(), self.token.encode()):
            raise Forbidden("this form is of another review: go back and load its page again")

    def state(self) -> Hashable:
        """The state of the file; the decisions of this review do not change it.

        So clusters are not computed again after each decision.
        """
        carried = self._carried
        if carried is not None and carried[0] == file_state.stat_of(self.path):
            return carried[1]
        return file_state.state_of(self.path)

    def once(self, form: str, act: Callable[[], Next]) -> Next:
        """Do what a form asks for, unless it was done before; return the page that follows it."""
        if not form:
            raise errors.UsageError("the form lacks its number: load the page again")
        with self._form_lock:
            if form not in self._next_pages:
                self._next_pages[form] = act()
            return self._next_pages[form]

    def form(self, database: Database) -> dict[str, Any]:
        """The values that every form of a page needs.

        They are its number, the reviewer's last press, which a button undoes, and the keys of
        documents about which it reverses an earlier decision.
        """
        decisions = database.decisions()
        last = self.last(decisions)
        decided_before = {
            key
            for decision in decisions
            if last and decision.state == "overruled"
            if decision.decided < last.decisions[0].decided
            for key in decision.keys
        }
        return {
            "form": secrets.token_urlsafe(12),
            "last": last,
            "reverses": [
                key
                for decision in (last.decisions if last else ())
                for key in decision.keys
                if key in decided_before
            ],
        }

    def last(self, decisions: Iterable[Decision]) -> Press | None:
        """What this reviewer decided last; None if nothing is decided."""
        theirs = [decision for decision in decisions if decision.who == self.who]
        decided = max((decision.decided for decision in theirs), default="")
        pressed = presses(decision for decision in theirs if decision.decided == decided)
        return next(iter(pressed), None)

    def decide(self, action: str, documents: list[tuple[str, str]], note: str = "") -> None:
        """Store the decisions of a button or key in one transaction, without those that hold now.

        Args:
            action: the button's or key's action, for `verdicts_of`.
            documents: the keys and digests of the documents that were shown. A document that has
                changed since then is not decided.
            note: the reviewer's reason.
        """
        verdicts = verdicts_of(action, documents)
        decided, why = storing_decisions.now(), " ".join(note.split()) or None
        with self._writing() as database:
            held = listing.held_decisions(database).of_key
            new = [
                (verdict, group) for verdict, group in verdicts if held.get(group[0][0]) != verdict
            ]
            database.add_decisions(
                [
                    Decision(0, verdict, keys, digests, why, self.who, decided)
                    for verdict, group in new or verdicts
                    for keys, digests in [zip(*group, strict=True)]
                ],
            )

    def undo(self, which: str) -> list[Decision]:
        """Undo decisions.

        Args:
            which: a time, a blank and a number of a decision, for all of its reviewer then.

        Raises:
            KeyNotFound: they are gone.
        """
        decided, _, number = which.partition(" ")

        def chosen(decisions: list[Decision]) -> list[Decision]:
            then = [decision for decision in decisions if decision.decided == decided]
            named = {decision.who for decision in then if str(decision.decision) == number}
            return [decision for decision in then if decision.who in named]

        with self._writing() as database:
            undone = storing_decisions.undo_chosen(store_of(database), chosen)
        if not undone:
            raise errors.KeyNotFound("that decision no longer exists: it was undone")
        return undone

    def copies(
        self, database: Database, clusters: Iterable[Cluster]
    ) -> tuple[list[tuple[str, str]], str, int]:
        """The kept documents of clusters, with their undecided copies of the same content.

        Returns:
            Keys and digests, each kept document before its copies, up to MAX_MEMBERS; the action
            that drops the copies; and how many these are.
        """
        verdicts = listing.held_decisions(database)
        documents: list[tuple[str, str]] = []
        kept: list[str] = []
        for cluster in clusters:
            if len(documents) + 1 >= MAX_MEMBERS:
                break
            identical_keys = [
                key
                for key, is_identical in zip(cluster.members, cluster.identical, strict=True)
                if is_identical
                and key != cluster.keep
                and not verdicts.of_member(key, cluster.keep)
            ]
            if not identical_keys or verdicts.of_key.get(cluster.keep) == "drop":
                continue
            stored = as_stored(database, [cluster.keep, *identical_keys])
            unchanged_copies = [
                document for document in stored[1:] if stored[0] == (cluster.keep, document[1])
            ]
            if unchanged_copies and len(documents) + len(unchanged_copies) < MAX_MEMBERS:
                kept.append(str(len(documents)))
                documents += [stored[0], *unchanged_copies]
        return documents, f"keep {' '.join(kept)},drop *", len(documents) - len(kept)

    @contextmanager
    def _writing(self) -> Iterator[Database]:
        """The file, open for writing; its state stays the same unless others wrote meanwhile."""
        before = self.state()
        with open_database(self.path, mode="write", timeout=_TIMEOUT) as database:
            version = store_of(database).number(DATA_VERSION)
            yield database
            is_unchanged = store_of(database).number(DATA_VERSION) == version
        self._carried = (file_state.stat_of(self.path), before) if is_unchanged else None


def as_stored(database: Database, keys: Iterable[str]) -> list[tuple[str, str]]:
    """The keys and present digests of documents, without those that are gone."""
    keys = list(keys)
    known = store_of(database).known(keys)
    return [(key, known[key].digest.hex()) for key in keys if key in known]


def presses(decisions: Iterable[Decision]) -> list[Press]:
    """What each press decided, in the order of their first decisions."""
    by_press: dict[tuple[str, str], list[Decision]] = {}
    for decision in decisions:
        by_press.setdefault((decision.who, decision.decided), []).append(decision)

    def keys(pressed: list[Decision], verdict: str) -> list[str]:
        named = (decision.keys for decision in pressed if decision.verdict == verdict)
        return list(dict.fromkeys(chain.from_iterable(named)))

    return [
        Press(pressed, *(keys(pressed, verdict) for verdict in ("drop", "keep", "different")))
        for pressed in by_press.values()
    ]


def documents_of(field: str) -> list[tuple[str, str]]:
    """The keys and digests in a field of a form.

    Raises:
        InputError: the field does not hold any.
        UsageError: it holds more than MAX_MEMBERS.
    """
    try:
        documents = [(key, digest) for key, digest in loads(field.encode())]
    except (RecursionError, TypeError, ValueError):
        documents = []
    if not documents or not all(
        isinstance(text, str) for document in documents for text in document
    ):
        raise errors.InputError("the form lacks its documents: load the page again")
    if len(documents) > MAX_MEMBERS:
        raise errors.UsageError(f"a form decides about 1 to {MAX_MEMBERS:,} documents")
    return documents


def verdicts_of(
    action: str, documents: list[tuple[str, str]]
) -> list[tuple[Verdict, list[tuple[str, str]]]]:
    """The verdicts of a button about the documents of its form, each with its documents.

    `keep 3,drop 1 2` keeps document 3 and drops 1 and 2; `keep 3,drop *` drops all that are not
    named before. `different *` marks all as different, `different 0 1,different 2 5` two pairs.

    Raises:
        UsageError: the action is none of these, or names a document that the form does not have.
    """
    remaining = {str(number): document for number, document in enumerate(documents)}
    verdicts: list[tuple[Verdict, list[tuple[str, str]]]] = []
    for clause in action.split(","):
        verdict, *names = clause.split(" ")
        names = [*remaining] if names == ["*"] else names
        of_pair = verdict == "different"
        wrong = verdict not in get_args(Verdict) or len(names) < 1 + of_pair
        if wrong or len({*names} & remaining.keys()) < len(names):
            raise errors.UsageError(f"{action!r:.50} is not a decision about the form's documents")
        chosen = [remaining[name] if of_pair else remaining.pop(name) for name in names]
        groups = [chosen] if of_pair else [[document] for document in chosen]
        verdicts += [(cast(Verdict, verdict), group) for group in groups]
    return verdicts
