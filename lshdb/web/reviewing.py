"""`lshdb serve --review`: forms that write decisions, the only ones that change a file.

A review is of one file, and only the command begins it: Datasette with the plugin has none. Its
forms must come from our own pages and carry a token that no other site knows. They write decisions
only, and no documents.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lshdb.database import Database, open_database
from lshdb.errors import InputError, KeyNotFound, UsageError
from lshdb.ingest.deciding import now
from lshdb.json_text import loads
from lshdb.model import Decision, Verdict
from lshdb.web.results import stat_of, state_of

MAX_MEMBERS: Final = 5_000
"""Documents that one form decides about."""
_TIMEOUT: Final = 10.0
_SCRIPT: Final = (Path(__file__).parent / "static" / "keys.js").read_text("utf-8")


class Forbidden(UsageError):
    """A form that is not from a page of this review."""


class Review:
    """The review of a file.

    Attributes:
        path: the file.
        token: carried by forms.
        script: lets keys press buttons; pages work without it.
        script_hash: of the script, for the rules of browsers.
    """

    def __init__(self, path: Path, who: str) -> None:
        self.path = path.absolute()
        self.token = secrets.token_urlsafe(24)
        self.script = _SCRIPT
        digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
        self.script_hash = f"sha256-{digest}"
        self._who = who
        self._lock = threading.Lock()
        self._carried: tuple[Hashable, Hashable] | None = None

    def check(self, posted: Mapping[str, str]) -> None:
        """Forbidden unless a form is from a page of this review."""
        if not hmac.compare_digest(posted.get("token", "").encode(), self.token.encode()):
            raise Forbidden("this form is of another review: go back and load its page again")

    def state(self) -> Hashable:
        """The state of the file, which our own decisions do not change.

        So clusters are not computed again for each decision.
        """
        with self._lock:
            carried = self._carried
        if carried is not None and carried[0] == stat_of(self.path):
            return carried[1]
        return state_of(self.path)

    def decide(self, posted: Mapping[str, str]) -> str:
        """Store the decisions of a form, in one transaction; return their time, which names them.

        The form has the keys and digests of the documents that its page showed: one that has
        changed since then is not decided.
        """
        documents = _documents(posted.get("documents", ""))
        decided = now()
        made = [
            Decision(
                0,
                verdict,
                tuple(key for key, _ in some),
                tuple(digest for _, digest in some),
                " ".join(posted.get("note", "").split()) or None,
                self._who,
                decided,
            )
            for verdict, some in _asked(posted.get("action", ""), documents)
        ]
        with self._writing() as database:
            database.add_decisions(made)
        return decided

    def undo(self, decided: str) -> list[Decision]:
        """Undo the decisions of this reviewer with this time; KeyNotFound if they are gone."""
        with self._writing() as database:
            made = [
                one
                for one in database.decisions()
                if one.decided == decided and one.who == self._who
            ]
            if not made:
                raise KeyNotFound("that decision no longer exists: it was undone")
            for one in made:
                database.undo_decision(one.decision, decided)
        return made

    @contextmanager
    def _writing(self) -> Iterator[Database]:
        """The file, which then still counts as unchanged, unless others wrote to it meanwhile."""
        before = self.state()
        with open_database(self.path, mode="write", timeout=_TIMEOUT) as database:
            version = database.data_version()
            yield database
            alone = database.data_version() == version
        with self._lock:
            self._carried = (stat_of(self.path), before) if alone else None


def _documents(field: str) -> list[tuple[str, str]]:
    try:
        found = [(key, digest) for key, digest in loads(field.encode())]
    except (RecursionError, TypeError, ValueError):
        raise InputError("the form lacks its documents: load the page again") from None
    if not 1 <= len(found) <= MAX_MEMBERS:
        raise UsageError(f"a form decides about 1 to {MAX_MEMBERS:,} documents")
    return found


def _asked(
    action: str, documents: list[tuple[str, str]]
) -> list[tuple[Verdict, list[tuple[str, str]]]]:
    """The verdicts of a button: `keep 3`, `drop 3`, `only 3`, `both` or `different`.

    `only 3 1 2` keeps document 3 and drops 1 and 2; `only 3` drops all others.
    """
    if action == "different":
        return [("different", documents)]
    if action == "both" and len(documents) == 2:
        return [("keep", [each]) for each in documents]
    name, *numbers = action.split(" ")
    if (
        name not in ("keep", "drop", "only")
        or not all(number.isascii() and number.isdigit() for number in numbers)
        or not 1 <= len(numbers) <= (len(documents) if name == "only" else 1)
    ):
        raise UsageError(f"{action!r:.50} is not a decision")
    place, *places = map(int, numbers)
    if max(place, *places, 0) >= len(documents):
        raise UsageError(f"the form has no document {max(place, *places, 0)}")
    if name == "only":
        others = places or range(len(documents))
        return [
            ("keep", [documents[place]]),
            *(("drop", [documents[each]]) for each in others if each != place),
        ]
    return [("keep" if name == "keep" else "drop", [documents[place]])]


_reviews: Final[dict[Path, Review]] = {}


def begin(path: Path, who: str) -> None:
    """Begin the review of a file."""
    _reviews[path.absolute()] = Review(path, who)


def review_of(path: Path) -> Review | None:
    """The review of a file, if there is one."""
    return _reviews.get(path.absolute())
