"""`lshdb serve --review`: forms that write decisions, the only ones that change a file.

A review is of one file, and only the command begins it: Datasette with the plugin has none. Its
forms must come from our own pages and carry a token that no other site knows. They write decisions
only, and no documents. A form is taken once: a key that is pressed twice decides once.
"""

import hmac
import secrets
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from lshdb.database import Database, store_of
from lshdb.errors import InputError, KeyNotFound, UsageError
from lshdb.ingest.storing_decisions import now, undo_chosen, user, word_fault
from lshdb.json_text import loads
from lshdb.model import Cluster, Decision, Verdict
from lshdb.opening import open as open_database
from lshdb.review.file_state import stat_of, state_of
from lshdb.search.decisions import Verdicts

MAX_MEMBERS = 5_000
"""Documents that one form decides about."""
_TIMEOUT = 10.0
_REMEMBERED = 1_000
"""Forms that were taken; an older one is taken again."""

Next = tuple[str, dict[str, str]]
"""The page that follows a form, and its query."""


class Forbidden(UsageError):
    """A form that is not from a page of this review."""


@dataclass(eq=False)
class Review:
    """The review of a file.

    Attributes:
        own: whether only this reviewer's decisions count as made.
        who: the reviewer; the user of the system if none is named.
        path: the file.
        token: carried by forms.

    Raises:
        UsageError: the name cannot be stored.
    """

    _path: Path
    _who: str | None
    own: bool

    def __post_init__(self) -> None:
        self.path = self._path.absolute()
        self.who = user() if self._who is None else self._who
        if wrong := word_fault("who", self.who):
            raise UsageError(wrong)
        self.token = secrets.token_urlsafe(24)
        self._one_form = threading.Lock()
        self._taken: dict[str, Next] = {}
        self._carried: tuple[Hashable, Hashable] | None = None

    def verdicts(self, database: Database) -> Verdicts:
        """The decisions that hold, of all or of this reviewer."""
        return Verdicts(database.decisions(), self.who if self.own else None)

    def check(self, posted: Mapping[str, str]) -> None:
        """Forbidden unless a form is from a page of this review."""
        if not hmac.compare_digest(posted.get("token", "").encode(), self.token.encode()):
            raise Forbidden("this form is of another review: go back and load its page again")

    def state(self) -> Hashable:
        """The state of the file, which our own decisions do not change.

        So clusters are not computed again for each decision.
        """
        carried = self._carried
        if carried is not None and carried[0] == stat_of(self.path):
            return carried[1]
        return state_of(self.path)

    def once(self, form: str, act: Callable[[], Next]) -> Next:
        """Do what a form asks for, or what is known to follow it if it was taken before."""
        if not form:
            raise UsageError("the form lacks its number: load the page again")
        with self._one_form:
            if form not in self._taken:
                self._taken[form] = act()
                if len(self._taken) > _REMEMBERED:
                    del self._taken[next(iter(self._taken))]
            return self._taken[form]

    def form(self, database: Database) -> dict[str, Any]:
        """What every form of a page has: its number, and the reviewer's last decisions to undo.

        Also the documents about which these reverse an earlier decision.
        """
        last = self.last(database)
        before = {
            key
            for one in database.decisions()
            if last and one.state == "overruled" and one.decided < last[0].decided
            for key in one.keys
        }
        return {
            "form": secrets.token_urlsafe(12),
            "last": last,
            "reverses": [key for one in last for key in one.keys if key in before],
        }

    def last(self, database: Database) -> list[Decision]:
        """The decisions that this reviewer stored last, at once."""
        own = [one for one in database.decisions() if one.who == self.who]
        decided = max((one.decided for one in own), default="")
        return [one for one in own if one.decided == decided]

    def decide(self, action: str, documents: list[tuple[str, str]], note: str = "") -> None:
        """Store the decisions of a button or key, in one transaction; those that hold stay as made.

        Args:
            action: as `verdicts_of` reads it.
            documents: the keys and digests of the documents that were shown: one that has changed
                since then is not decided.
            note: why.
        """
        asked = verdicts_of(action, documents)
        decided, why = now(), " ".join(note.split()) or None
        with self._writing() as database:
            held = self.verdicts(database).of_key
            new = [each for each in asked if held.get(each[1][0][0]) != each[0]] or asked
            database.add_decisions(
                [
                    Decision(0, verdict, keys, digests, why, self.who, decided)
                    for verdict, some in new
                    for keys, digests in [zip(*some, strict=True)]
                ],
            )

    def undo(self, which: str) -> list[Decision]:
        """Undo the decisions of this reviewer with a time, or one of anybody by number and time.

        Raises:
            KeyNotFound: they are gone.
        """
        decided, _, number = which.partition(" ")

        def chosen(made: list[Decision]) -> list[Decision]:
            return [
                one
                for one in made
                if one.decided == decided
                and (str(one.decision) == number if number else one.who == self.who)
            ]

        with self._writing() as database:
            undone = undo_chosen(store_of(database), chosen)
        if not undone:
            raise KeyNotFound("that decision no longer exists: it was undone")
        return undone

    def copies(
        self, database: Database, clusters: Iterable[Cluster]
    ) -> tuple[list[tuple[str, str]], int]:
        """The kept documents of clusters and their undecided copies, that have the same content.

        Returns:
            Keys and digests, each kept document before its copies, as many as a form takes; and how
            many of them are copies.
        """
        verdicts = self.verdicts(database)
        documents: list[tuple[str, str]] = []
        copies = 0
        for one in clusters:
            if len(documents) + 1 >= MAX_MEMBERS:
                break
            some = [
                key
                for key, same in zip(one.members, one.identical, strict=True)
                if same and key != one.keep and not verdicts.of_member(key, one.keep)
            ]
            if not some or verdicts.of_key.get(one.keep) == "drop":
                continue
            stored = as_stored(database, [one.keep, *some])
            same = [each for each in stored[1:] if stored[0] == (one.keep, each[1])]
            if same and len(documents) + len(same) < MAX_MEMBERS:
                documents += [stored[0], *same]
                copies += len(same)
        return documents, copies

    @contextmanager
    def _writing(self) -> Iterator[Database]:
        """The file, which then still counts as unchanged, unless others wrote to it meanwhile."""
        before = self.state()
        with open_database(self.path, mode="write", timeout=_TIMEOUT) as database:
            version = store_of(database).data_version()
            yield database
            alone = store_of(database).data_version() == version
        self._carried = (stat_of(self.path), before) if alone else None


def as_stored(database: Database, keys: Iterable[str]) -> list[tuple[str, str]]:
    """The keys and digests of documents as they are now, without those that are gone."""
    keys = list(keys)
    known = store_of(database).known(keys)
    return [(key, known[key].digest.hex()) for key in keys if key in known]


def documents_of(field: str) -> list[tuple[str, str]]:
    """The keys and digests in a field of a form."""
    try:
        found = [(key, digest) for key, digest in loads(field.encode())]
    except (RecursionError, TypeError, ValueError):
        found = []
    if not found or not all(isinstance(each, str) for both in found for each in both):
        raise InputError("the form lacks its documents: load the page again")
    if len(found) > MAX_MEMBERS:
        raise UsageError(f"a form decides about 1 to {MAX_MEMBERS:,} documents")
    return found


def verdicts_of(
    action: str, documents: list[tuple[str, str]]
) -> list[tuple[Verdict, list[tuple[str, str]]]]:
    """The verdicts of a button about the documents of its form.

    `keep 3,drop 1 2` keeps document 3 and drops 1 and 2; `keep 3,drop *` drops all that are not
    named before. `different *` marks all as different, `different 0 1,different 2 5` two pairs.
    `copies` keeps the first document of each content, and drops the others.
    """
    if action == "copies":
        kept = {digest: key for key, digest in reversed(documents)}
        return [("keep" if kept[each[1]] == each[0] else "drop", [each]) for each in documents]
    left = {str(number): each for number, each in enumerate(documents)}
    made: list[tuple[Verdict, list[tuple[str, str]]]] = []
    for clause in action.split(","):
        verdict, *names = clause.split(" ")
        names = [*left] if names == ["*"] else names
        of_pair = verdict == "different"
        wrong = verdict not in get_args(Verdict) or len(names) < 1 + of_pair
        if wrong or len({*names} & left.keys()) < len(names):
            raise UsageError(f"{action!r:.50} is not a decision about the form's documents")
        some = [left[name] if of_pair else left.pop(name) for name in names]
        groups = [some] if of_pair else [[each] for each in some]
        made += [(cast(Verdict, verdict), group) for group in groups]
    return made
