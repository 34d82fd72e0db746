"""Storing decisions about documents, and removing documents that are to be dropped.

Decisions are a log: a later one about the same content may overrule an earlier one, which holds
again if the later one is undone.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, BinaryIO, cast, get_args

from lshdb.apps.merging.merging import Rebased, reading_other
from lshdb.apps.review import statements as sql
from lshdb.apps.review.decisions import PART, Decision, read_decisions
from lshdb.errors import InputError
from lshdb.json_text import loads
from lshdb.keys import key_fault
from lshdb.model import AddReport, Failure, Verdict
from lshdb.read import session
from lshdb.read.paths import path_of_key
from lshdb.store.store import Store
from lshdb.text.content import DIGEST_BYTES

_LONGEST_NAME = 1_000
"""Maximum characters of a reviewer's name."""
_LONGEST_NOTE = 100_000
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
_STRANGE = re.compile("[\ud800-\udfff\0]")
_DIGEST = re.compile(f"[0-9a-f]{{{2 * DIGEST_BYTES}}}")


def add_decisions(store: Store, decisions: Iterable[Decision]) -> list[Decision]:
    """Store decisions that a file does not have, and return them; see Database.add_decisions."""
    new_decisions = [checked(decision) for decision in decisions]
    with store.writing():
        known = {_identity(decision) for decision in read_decisions(store)}
        new = {
            _identity(decision): decision
            for decision in reversed(_with_digests(store, new_decisions))
        }
        return _insert(store, [new[name] for name in reversed(new) if name not in known])


def merged(store: Store, source: Store, new_keys: Rebased | None) -> AddReport:
    """Add all decisions of another database, about the new keys of files; see write.add.

    Raises:
        InputError: it is damaged.
    """
    with reading_other(source):
        decisions = read_decisions(source)
        if new_keys is not None and decisions:
            file_keys = {key for _, key in source.keys_of_files()}
            decisions = [_rebased(decision, file_keys, new_keys) for decision in decisions]
    return AddReport(decisions=len(add_decisions(store, decisions)))


def _rebased(decision: Decision, file_keys: set[str], new_keys: Rebased) -> Decision:
    def is_of_file(key: str) -> bool:
        # The file of a document that was removed may still be there.
        path = path_of_key(key, new_keys.old_root)
        return key in file_keys or (decision.state == "missing" and os.path.lexists(path))

    keys = tuple(new_keys.key(key) if is_of_file(key) else key for key in decision.keys)
    return replace(decision, keys=keys)


def undo_chosen(store: Store, chosen: Callable[[list[Decision]], list[Decision]]) -> list[Decision]:
    """Undo the decisions that a function chooses among all, in one transaction."""
    with store.writing():
        undone = chosen(read_decisions(store))
        if undone:  # without decisions there is no table of them
            store.run_many(sql.DELETE_DECISION, [(decision.decision,) for decision in undone])
    return undone


def move(store: Store, keys: Iterable[tuple[int, str]]) -> None:
    """Give decisions about documents, which still have their keys, the new ones.

    The caller holds a transaction.
    """
    if PART in store.parts:
        store.run_many(sql.MOVE_DECISIONS, keys)


def spend_drops(store: Store, keys: Iterable[str]) -> None:
    """Note that the files of these keys that were decided to be dropped are gone, likewise."""
    if PART in store.parts:
        store.run_many(sql.SPEND_DROPS, zip(keys))


def checked(decision: Decision) -> Decision:
    """The decision as it is stored, its keys in order; InputError if it is invalid."""
    if not isinstance(decision, Decision):
        raise InputError(f"{decision!r:.100} is not a Decision")
    if wrong := _fault(decision):
        raise InputError(wrong)
    seconds, _, fraction = decision.decided.removesuffix("Z").partition(".")
    order = sorted(range(len(decision.keys)), key=decision.keys.__getitem__)
    in_order: dict[str, Any] = {
        name: tuple(values[i] for i in order) if (values := getattr(decision, name)) else ()
        for name in ("keys", "digests", "file_digests")
    }
    return replace(decision, decided=f"{seconds}.{fraction:0<6}Z", **in_order)


def _fault(decision: Decision) -> str | None:
    """What is wrong with a decision; None if nothing is."""
    keys, digests, decided = decision.keys, decision.digests, decision.decided
    if decision.verdict not in get_args(Verdict):
        return f"verdict {decision.verdict!r:.100} is not {', '.join(get_args(Verdict))}"
    if not isinstance(keys, tuple) or not all(
        isinstance(key, str) and key_fault(key) is None for key in keys
    ):
        return f"the keys of a decision are not keys: {list(keys)!r:.200}"
    has_several_keys = decision.verdict == "different"
    if len(set(keys)) < len(keys) or (len(keys) < 2 if has_several_keys else len(keys) != 1):
        expected = "two different keys or more" if has_several_keys else "one key"
        return f"{decision.verdict} takes {expected}, not {list(keys)!r:.200}"
    file_digests = decision.file_digests
    whole = isinstance(digests, tuple) and isinstance(file_digests, tuple)
    if not whole or not {len(digests), len(file_digests)} <= {0, len(keys)}:
        return "digests and file_digests are lists, of as many as there are keys"
    given = [*digests, *(digest for digest in file_digests if digest is not None)]
    if not all(isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in given):
        return f"digests are {2 * DIGEST_BYTES} hexadecimal digits, one for each key"
    if not isinstance(decided, str) or not _TIME.fullmatch(decided):
        return f"{decided!r:.100} is not a time such as 2026-01-31T23:59:59.5Z"
    wrong = word_fault("who", decision.who, _LONGEST_NAME)
    if wrong is None and decision.note not in (None, ""):
        wrong = word_fault("note", decision.note, _LONGEST_NOTE)
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
    keys = sorted({key for decision in decisions if not decision.digests for key in decision.keys})
    digests = {
        file.key: (file.digest.hex(), file.file_digest and file.file_digest.hex())
        for file in store.files_of_keys(keys)
    }
    for key in keys:
        if key not in digests:
            raise store.not_found(key)
    completed = []
    for decision in decisions:
        if not decision.digests:
            texts, files = zip(*(digests[key] for key in decision.keys), strict=True)
            decision = replace(decision, digests=texts, file_digests=files)
        completed.append(decision)
    return completed


def _insert(store: Store, decisions: Iterable[Decision]) -> list[Decision]:
    """Insert decisions under the next numbers."""
    last = store.last(sql.LAST_DECISION, "decision") if PART in store.parts else 0
    numbers = count(last + 1)
    numbered = [replace(decision, decision=next(numbers), state="holds") for decision in decisions]
    rows = (
        (
            decision.decision,
            decision.verdict,
            key,
            bytes.fromhex(digest),
            decision.note,
            decision.who,
            decision.decided,
            file_digest and bytes.fromhex(file_digest),
        )
        for decision in numbered
        for key, digest, file_digest in zip(
            decision.keys,
            decision.digests,
            decision.file_digests or (None,) * len(decision.keys),
            strict=True,
        )
    )
    store.make_part(PART)
    store.run_many(sql.INSERT_DECISION, rows)
    return numbered


def _identity(decision: Decision) -> Decision:
    """The decision without its number, its state and what older files of decisions lack."""
    return replace(decision, decision=0, state="holds", file_digests=())


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
    options = session.SessionOptions(
        of_sets=False,
        fallback="jsonl",
        key_field="",
        text_field="verdict",
        strict=True,
        auto_key=True,
        stdin=stdin,
    )
    decided = now()  # those without a time are undone together
    for row in session.Session(options).read([path]):
        if isinstance(row, Failure):
            reason, _, _ = row.reason.partition(": name it with")  # there is no such option
            raise InputError(f"{row.where}: {reason}")
        record: dict[str, Any] = {**(row.metadata or {})}
        try:
            yield checked(
                Decision(
                    0,
                    cast(Verdict, row.content),
                    _list(record.get("keys") or [key for key in (record.get("key"),) if key]),
                    _list(record.get("digests")),
                    record.get("note") or None,
                    who or record.get("who") or user(),
                    record.get("decided") or decided,
                    file_digests=_list(record.get("file_digests")),
                )
            )
        except InputError as error:
            raise InputError(f"{row.key}: {error}") from None


def _list(value: Any) -> tuple[Any, ...]:
    """The values of a list, or of the JSON text of one, which CSV and Parquet have."""
    values = value or []
    if isinstance(values, str):
        with suppress(RecursionError, ValueError):
            values = loads(values.encode())
    if not isinstance(values, list):
        raise InputError(f"{value!r:.100} is not a JSON array")
    return tuple(values)


def user() -> str:
    """The user's name, from the system."""
    import getpass  # loads what reads passwords at a terminal, which only decisions need

    try:
        return getpass.getuser() or "unknown"
    except (ImportError, KeyError, OSError):  # no such variable, and no such user
        return "unknown"


def now() -> str:
    """The time in the form of decisions."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
