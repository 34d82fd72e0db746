"""The methods of `Database` for decisions."""

from collections.abc import Iterable

from lshdb.apps.review import storing_decisions
from lshdb.apps.review.decisions import Decision, read_decisions
from lshdb.database import Database, store_of
from lshdb.errors import InputError, KeyNotFound, UsageError
from lshdb.keys import key_arguments
from lshdb.model import Verdict
from lshdb.options import RemoveOptions
from lshdb.taking import takes
from lshdb.write.add import removed


@takes()
def decide(
    db: Database,
    verdict: Verdict,
    keys: Iterable[object],
    *,
    note: str | None = None,
    who: str | None = None,
) -> list[Decision]:
    """Store a decision about documents.

    A decision is about the present content: a document with other content is undecided, until
    it has the old content again. Nothing is removed before `remove_decided`.

    Args:
        verdict: `keep` or `drop` for each of the documents, which a later decision overrules;
            or `different`: none of them is a duplicate of another, so that `pairs` leaves
            out their pairs, and no cluster offers one in place of another.
        keys: of the documents, two or more if they are different.

    Returns:
        The decisions: one for each document, or one for all if they are different.

    Raises:
        KeyNotFound: no document has one of the keys; nothing is written.
        UsageError: an unknown verdict, or too few keys.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
    ...     report += db.add("c", "the fox and the grapes!")
    ...     (made,) = db.decide("different", ["a", "c"], note="two editions", who="ann")
    ...     made.keys, list(db.pairs()), len(list(db.pairs(ignore_decisions=True)))
    (('a', 'c'), [], 1)
    """
    distinct_keys = tuple(sorted({*key_arguments("key", list(keys))}))
    if not distinct_keys:
        raise UsageError(f"{verdict}: give keys")
    groups = [distinct_keys] if verdict == "different" else [(key,) for key in distinct_keys]
    who = storing_decisions.user() if who is None else who
    decided = storing_decisions.now()  # of all, which are undone together
    decisions = [Decision(0, verdict, group, (), note, who, decided) for group in groups]
    try:
        return storing_decisions.add_decisions(store_of(db), decisions)
    except InputError as error:
        raise UsageError(str(error)) from None


def decisions(db: Database) -> list[Decision]:
    """All decisions, in the order in which they were stored, and whether they still hold.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    ...     made = db.decide("drop", ["fox"]) + db.decide("keep", ["fox"])
    ...     [(one.decision, one.verdict, one.state) for one in db.decisions()]
    [(1, 'drop', 'overruled'), (2, 'keep', 'holds')]
    """
    store = store_of(db)
    with store.reading():
        return read_decisions(store)


@takes()
def add_decisions(db: Database, decisions: Iterable[Decision]) -> int:
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
    return len(storing_decisions.add_decisions(store_of(db), decisions))


@takes()
def undo_decision(
    db: Database, decision: int | None = None, decided: str | None = None
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

    def chosen(decisions: list[Decision]) -> list[Decision]:
        return [
            candidate
            for candidate in decisions
            if decision in (None, candidate.decision) and decided in (None, candidate.decided)
        ][-1:]

    if undone := storing_decisions.undo_chosen(store_of(db), chosen):
        return undone[0]
    number = "" if decision is None else f" {decision}"
    raise KeyNotFound(f"there is no decision{number} to undo")


def undo_last_decisions(db: Database) -> list[Decision]:
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
    ...     [decision.decision for decision in db.undo_last_decisions()]
    [1, 2]
    """

    def chosen(decisions: list[Decision]) -> list[Decision]:
        last = [(decision.who, decision.decided) for decision in decisions[-1:]]
        return [decision for decision in decisions if (decision.who, decision.decided) in last]

    if undone := storing_decisions.undo_chosen(store_of(db), chosen):
        return undone
    raise KeyNotFound("there is no decision to undo")


@takes()
def remove_decided(db: Database, *, dry_run: bool = False) -> list[str]:
    """Remove the documents that the decisions mark as `drop`.

    The decisions stay: a document that comes back with the same content is marked again, and
    `sync` leaves out its file. Files are not deleted: `lshdb decisions --drop --files` lists
    them.

    Args:
        dry_run: remove nothing.

    Returns:
        The keys of the documents, in the order of their bytes.
    """
    return removed(store_of(db), RemoveOptions(decided=True, dry_run=dry_run))
