"""Storing decisions about documents, and removing documents that are to be dropped.

Decisions are a log: a later one about the same content may overrule an earlier one, which holds
again if the later one is undone.
"""

import getpass
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, BinaryIO, cast, get_args

from lshdb.errors import InputError, KeyNotFound, UsageError
from lshdb.groups import takes
from lshdb.ingest.add import removed
from lshdb.json_text import loads
from lshdb.keys import key_arguments, key_fault
from lshdb.model import Decision, Failure, Verdict
from lshdb.options import RemoveOptions
from lshdb.search.decisions import read_decisions
from lshdb.shingling.content import DIGEST_BYTES
from lshdb.sources.readers import Reader
from lshdb.store.store import Opened, Store

_LONGEST_NAME = 1_000
"""Maximum characters of a reviewer's name."""
_LONGEST_NOTE = 100_000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
_STRANGE = re.compile("[\ud800-\udfff\0]")
_DIGEST = re.compile(f"[0-9a-f]{{{2 * DIGEST_BYTES}}}")


def decide(
    store: Store, verdict: Verdict, ids: Sequence[object], note: str | None, who: str | None
) -> list[Decision]:
    """Store a decision about stored documents; see Database.decide."""
    keys = key_arguments("key", ids)
    if not keys:
        raise UsageError(f"{verdict}: give keys")
    own, who = tuple(sorted(set(keys))), user() if who is None else who
    groups = [own] if verdict == "different" else [(key,) for key in own]
    decided = now()  # of all, which are undone together
    made = [Decision(0, verdict, group, (), note, who, decided) for group in groups]
    if wrong := _fault(made[0]):
        raise UsageError(wrong)
    with store.writing():
        return _insert(store, _with_digests(store, made))


@takes()
def add_decisions(database: Opened, decisions: Iterable[Decision]) -> int:
    """Store decisions that were made elsewhere, such as in a copy of the file.

    Decisions that the file already has are left out; their documents need not exist. A decision
    without digests gets those that the documents have now. All get new numbers; of two
    decisions about one content, the one with the later time holds.

    Returns:
        How many are new.

    Raises:
        InputError: one is not a decision; nothing is written.
        KeyNotFound: one has no digests, and a document does not exist; nothing is written.
    """
    store = database.store
    given = [checked(one) for one in decisions]
    with store.writing():
        seen = {_identity(one) for one in read_decisions(store)}
        new = {_identity(one): one for one in reversed(_with_digests(store, given))}
        return len(_insert(store, [new[one] for one in reversed(new) if one not in seen]))


@takes()
def undo_decision(
    database: Opened, decision: int | None = None, decided: str | None = None
) -> Decision:
    """Undo a decision, so that the one before it holds again.

    Args:
        decision: its number; None for the last one.
        decided: its time, so that a newer decision with the same number is not undone.

    Returns:
        The decision.

    Raises:
        KeyNotFound: the decision does not exist.
    """

    def chosen(made: list[Decision]) -> list[Decision]:
        return [
            one
            for one in made
            if decision in (None, one.decision) and decided in (None, one.decided)
        ][-1:]

    if undone := undo_chosen(database, chosen):
        return undone[0]
    which = "" if decision is None else f" {decision}"
    raise KeyNotFound(f"there is no decision{which} to undo")


@takes()
def undo_last_decisions(database: Opened) -> list[Decision]:
    """Undo all decisions of the last command, or key or button of a review.

    These are those that the same reviewer made at the same time as the last one. Decisions that
    were read from elsewhere with their times are as they were made there.

    Returns:
        The decisions.

    Raises:
        KeyNotFound: there is none.

    >>> import lshdb
    >>> with lshdb.open("poems.db") as db:
    ...     report = db.add_many([("a", "The owl and the pussycat"), ("b", "The duck")])
    ...     made = db.decide("drop", ["a", "b"])
    ...     [each.decision for each in lshdb.undo_last_decisions(db)]
    [1, 2]
    """

    def chosen(made: list[Decision]) -> list[Decision]:
        last = [(each.who, each.decided) for each in made[-1:]]
        return [each for each in made if (each.who, each.decided) in last]

    if undone := undo_chosen(database, chosen):
        return undone
    raise KeyNotFound("there is no decision to undo")


def undo_chosen(
    database: Opened, chosen: Callable[[list[Decision]], list[Decision]]
) -> list[Decision]:
    """Undo those of all decisions that a function returns, in one transaction."""
    store = database.store
    with store.writing():
        undone = chosen(read_decisions(store))
        for one in undone:
            store.delete_decision(one.decision)
    return undone


@takes()
def remove_decided(database: Opened, *, dry_run: bool = False) -> list[str]:
    """Remove the documents that the decisions mark as `drop`.

    The decisions stay: a document that comes back with the same content is marked again, and
    `sync` leaves out its file. Files are not deleted: `dropped_files` lists them.

    Args:
        dry_run: remove nothing.

    Returns:
        The keys of the documents, in the order of their bytes.
    """
    return removed(database.store, RemoveOptions(decided=True, dry_run=dry_run))


def checked(one: Decision) -> Decision:
    """The decision as it is stored, its keys in order; InputError if it is invalid."""
    if not isinstance(one, Decision):
        raise InputError(f"{one!r:.100} is not a Decision")
    if wrong := _fault(one):
        raise InputError(wrong)
    seconds, _, fraction = one.decided.removesuffix("Z").partition(".")
    order = sorted(range(len(one.keys)), key=one.keys.__getitem__)
    keys, digests = ([of[i] for i in order] if of else [] for of in (one.keys, one.digests))
    decided = f"{seconds}.{fraction:0<6}Z"
    return replace(one, keys=tuple(keys), digests=tuple(digests), decided=decided)


def _fault(one: Decision) -> str | None:
    """What is wrong with a decision; None if nothing is."""
    keys, digests, decided = one.keys, one.digests, one.decided
    if one.verdict not in get_args(Verdict):
        return f"verdict {one.verdict!r:.100} is not {', '.join(get_args(Verdict))}"
    if not isinstance(keys, tuple) or not all(
        isinstance(key, str) and key_fault(key) is None for key in keys
    ):
        return f"the keys of a decision are not keys: {list(keys)!r:.200}"
    several = one.verdict == "different"
    if len(set(keys)) < len(keys) or (len(keys) < 2 if several else len(keys) != 1):
        wanted = "two different keys or more" if several else "one key"
        return f"{one.verdict} takes {wanted}, not {list(keys)!r:.200}"
    whole = isinstance(digests, tuple) and all(
        isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in digests
    )
    if not whole or len(digests) not in (0, len(keys)):
        return f"digests are {2 * DIGEST_BYTES} hexadecimal digits, one for each key"
    if not isinstance(decided, str) or not _TIME.fullmatch(decided):
        return f"{decided!r:.100} is not a time such as 2026-01-31T23:59:59.5Z"
    wrong = word_fault("who", one.who, _LONGEST_NAME)
    if wrong is None and one.note not in (None, ""):
        wrong = word_fault("note", one.note, _LONGEST_NOTE)
    return wrong


def word_fault(name: str, text: object, longest: int = _LONGEST_NAME) -> str | None:
    """What is wrong with a name, or a text of another length; None if it can be stored."""
    if not isinstance(text, str) or not text.strip() or len(text) > longest:
        return f"{name} {text!r:.100} is not a text of 1 to {longest:,} characters"
    strange = _STRANGE.search(text)
    return f"{name} {text!r:.100} has characters that cannot be stored" if strange else None


def _with_digests(store: Store, decisions: Sequence[Decision]) -> list[Decision]:
    """The decisions, with the present digests of documents where one has none.

    Raises:
        KeyNotFound: a document does not exist.
    """
    wanted = sorted({key for one in decisions if not one.digests for key in one.keys})
    known = store.known(wanted)
    for key in wanted:
        if key not in known:
            raise store.not_found(key)
    return [
        replace(one, digests=one.digests or tuple(known[key].digest.hex() for key in one.keys))
        for one in decisions
    ]


def _insert(store: Store, decisions: Iterable[Decision]) -> list[Decision]:
    """Insert decisions under the next numbers."""
    numbers = count(store.last_decision() + 1)
    made = [replace(one, decision=next(numbers), state="holds") for one in decisions]
    store.insert_decisions(
        (one.decision, one.verdict, key, bytes.fromhex(digest), one.note, one.who, one.decided)
        for one in made
        for key, digest in zip(one.keys, one.digests, strict=True)
    )
    return made


def _identity(one: Decision) -> tuple[object, ...]:
    return one.verdict, one.keys, one.digests, one.note, one.who, one.decided


def decisions_of_file(path: str, stdin: BinaryIO | None, who: str | None) -> Iterator[Decision]:
    """The decisions in a file, or `-`, which is JSON lines.

    Args:
        path: the file.
        stdin: standard input.
        who: who decided; None for whom the file names, or the user.

    Raises:
        InputError: one is not a decision.
    """
    # Verdicts are read as texts, the other columns as metadata, and the key is the row's number.
    reader = Reader(
        of_sets=False,
        fallback="jsonl",
        key_field="",
        text_field="verdict",
        strict=True,
        auto_key=True,
        stdin=stdin,
    )
    decided = now()  # those without a time are undone together
    for row in reader.read([path]):
        if isinstance(row, Failure):
            reason, _, _ = row.reason.partition(": name it with")  # there is no such option
            raise InputError(f"{row.where}: {reason}")
        record: dict[str, Any] = {**(row.metadata or {})}
        try:
            yield checked(
                Decision(
                    0,
                    cast(Verdict, row.content),
                    _list(record.get("keys")) or _list([record.get("key")]),
                    _list(record.get("digests")),
                    record.get("note") or None,
                    who or record.get("who") or user(),
                    record.get("decided") or decided,
                )
            )
        except InputError as error:
            raise InputError(f"{row.key}: {error}") from None


def _list(value: Any) -> tuple[Any, ...]:
    """The values of a list, or of the JSON text of one, which CSV and Parquet have."""
    found = value or []
    if isinstance(found, str):
        with suppress(RecursionError, ValueError):
            found = loads(found.encode())
    if not isinstance(found, list):
        raise InputError(f"{value!r:.100} is not a JSON array")
    return tuple(one for one in found if one is not None)


def user() -> str:
    """The user's name, from the system."""
    try:
        return getpass.getuser() or "unknown"
    except (ImportError, KeyError, OSError):  # no such variable, and no such user
        return "unknown"


def now() -> str:
    """The time in the form of decisions."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
