"""What commands that compare documents share: inputs, thresholds, first words."""

from collections.abc import Mapping, Sequence

from lshdb.cli import drawn_tables, messages
from lshdb.cli.files import STDOUT
from lshdb.database import Database
from lshdb.errors import UsageError
from lshdb.options import JoinOptions, SimilarOptions

BEGINNING = 250
"""Bytes read of a document to show its first words."""


def check_single_stdin(files: Sequence[str]) -> None:
    """UsageError if standard input would be read twice."""
    if files.count(STDOUT) > 1:
        raise UsageError("- is given twice, and standard input can be read once")


def first_words(
    databases: Sequence[Database], keys: Sequence[str], options: SimilarOptions | JoinOptions
) -> drawn_tables.Extras:
    """How a terminal shows documents by their titles or first words, beside the columns `keys`.

    The user's own fields take their place; folders have no words.
    """
    if isinstance(options, JoinOptions):
        if options.group_by is not None:
            return drawn_tables.NONE
        options = options.similar
    if options.fields:
        return drawn_tables.NONE

    def words_of(keys: Sequence[str]) -> Mapping[str, str]:
        words: dict[str, str] = {}
        for database in databases:
            words = _words(database, keys) | words
        return words

    return drawn_tables.Extras(keys, words_of)


def _words(database: Database, keys: Sequence[str]) -> dict[str, str]:
    """The titles of documents in their metadata, or else their first words."""
    from lshdb.review.beginnings import beginnings_of  # only a terminal shows them

    beginnings = beginnings_of(database, keys, BEGINNING)
    shown = {key: start.text if start.is_line else start.title for key, start in beginnings.items()}
    return {key: text for key, text in shown.items() if text}


def minimum(database: Database, threshold: float | None) -> float:
    """The threshold; a note says what the index finds if it is below the database's."""
    minimum = database.settings.threshold if threshold is None else threshold
    messages.note_recall(database.settings, minimum)
    return minimum
