"""What commands that compare documents share: inputs, thresholds."""

from collections.abc import Sequence

from lshdb.cli import messages
from lshdb.database import Database
from lshdb.errors import UsageError
from lshdb.read.paths import STDIN


def check_single_stdin(files: Sequence[str]) -> None:
    """UsageError if standard input would be read twice."""
    if files.count(STDIN) > 1:
        raise UsageError("- is given twice, and standard input can be read once")


def minimum(database: Database, threshold: float | None) -> float:
    """The threshold; a note says what the index finds if it is below the database's."""
    minimum = threshold or database.settings.threshold
    messages.note_recall(database.settings, minimum)
    return minimum
