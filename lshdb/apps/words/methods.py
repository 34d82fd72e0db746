"""The method of `Database` that finds words."""

import time
from collections.abc import Sequence
from unicodedata import normalize

from lshdb.apps.words.model import WordMatches
from lshdb.apps.words.statements import DOCUMENTS_AFTER
from lshdb.database import Database
from lshdb.errors import UsageError
from lshdb.taking import takes

_MAX_ROWS = (1 << 63) - 1


@takes()
def find_words(
    db: Database,
    words: Sequence[str],
    *,
    top: int = 10,
    after: int = 0,
    seconds: float | None = None,
) -> WordMatches:
    """The stored documents whose contents have all of some words, in the order of addition.

    Contents are read one after another, as there is no index of words. A word may be a part of
    a longer one; its case does not matter.

    Args:
        words: any texts; of a set, parts of its JSON.
        top: the maximum number of documents.
        after: the doc_id after which the search begins: `following` of an earlier answer.
        seconds: when the search ends, if it is not complete by then; None for no limit.

    Raises:
        UsageError: the database keeps no contents, or `top` is below 1.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add_many([("fox", "The fox and the grapes"), ("ant", "The ant")])
    ...     db.find_words(["Grapes", "fox"])
    WordMatches(documents=(('fox', 'The fox and the grapes'),), following=None)
    """
    if top < 1:
        raise UsageError(f"top {top} is below 1")
    if not 0 <= after <= _MAX_ROWS:
        raise UsageError(f"after {after} is no doc_id: give `following` of an earlier answer")
    if not db.settings.content:
        raise UsageError("words are found in contents, and this database keeps signatures only")
    folded_words = [normalize("NFC", word).casefold() for word in words]
    matches: list[tuple[str, str]] = []
    end = None if seconds is None else time.monotonic() + seconds
    for doc_id, key, content in db.sql(DOCUMENTS_AFTER, [after]):
        if all(map(normalize("NFC", content).casefold().__contains__, folded_words)):
            matches.append((key, content))
        if len(matches) == top or (end is not None and time.monotonic() > end):
            return WordMatches(tuple(matches), doc_id)
    return WordMatches(tuple(matches), None)
