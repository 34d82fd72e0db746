"""What commands that compare documents share: inputs, thresholds, first words."""

from collections.abc import Mapping, Sequence

from lshdb.cli import messages, results
from lshdb.database import Database, store_of
from lshdb.errors import UsageError
from lshdb.read.metadata import from_json
from lshdb.read.paths import STDIN

BEGINNING = 250
"""Bytes read of a document to show its first words."""


def check_single_stdin(files: Sequence[str]) -> None:
    """UsageError if standard input would be read twice."""
    if files.count(STDIN) > 1:
        raise UsageError("- is given twice, and standard input can be read once")


def first_words(
    database: Database, fields: Sequence[str], group_by: object = None
) -> results.WordsOf | None:
    """What gives the titles or first words of documents, which a terminal shows below their keys.

    The user's own fields take their place; folders, of `group_by`, have no words.
    """
    if fields or group_by is not None:
        return None

    def words_of(keys: Sequence[str]) -> Mapping[str, str]:
        """The field `title` of documents, or else their first words."""
        starts = store_of(database).beginnings(keys, BEGINNING)
        return {
            key: str((from_json(stored) or {}).get("title") or start)
            for key, (stored, start, _) in starts.items()
            if start
        }

    return words_of


def minimum(database: Database, threshold: float | None) -> float:
    """The threshold; a note says what the index finds if it is below the database's."""
    minimum = threshold or database.settings.threshold
    messages.note_recall(database.settings, minimum)
    return minimum
