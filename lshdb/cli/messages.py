"""Messages to standard error: notes, warnings, failures, and progress bars.

Keys come from anywhere: control characters are printed as escapes, never as they are.
"""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from lshdb.formatting import percent
from lshdb.read.paths import escaped

if TYPE_CHECKING:
    from lshdb.options import ShapeOptions
    from lshdb.sketch.settings import Settings

_LOW_RECALL = 0.9
quiet = False
"""Whether notes and progress are left out; --quiet sets it."""


def message(text: str) -> None:
    """Print a note to standard error, which --quiet leaves out."""
    if not quiet:
        warn(text)


def warn(text: str) -> None:
    """Print a warning or an error to standard error."""
    try:
        print(escaped(text), file=sys.stderr)
    except OSError:
        # If the log cannot be written, the work still goes on.
        discard(sys.stderr)


def hint(text: str) -> None:
    """Tell a person at a terminal what to do next; scripts and logs do not get it."""
    if sys.stderr.isatty():
        message(text)


def discard(stream: TextIO) -> None:
    """Discard all output to a stream that cannot be written, even what Python still buffers."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def noted_minimum(settings: "Settings", threshold: float | None, advice: str = "") -> float:
    """The threshold, or the index's own; if it is below that, note what share the index finds."""
    minimum = threshold or settings.threshold
    if minimum < settings.threshold and not settings.records:
        from lshdb.sketch.settings import recall_at

        recall = recall_at(settings, minimum)
        message(
            f"the index is made for similarity {settings.threshold:g}: of the documents at "
            f"{minimum:g} it finds about {percent(recall)}{advice}"
        )
    return minimum


def warn_of_low_recall(settings: "Settings", options: "ShapeOptions") -> None:
    """Warn if the given bands and rows, or construction, find too little."""
    is_shaped = options.bands is not None or options.construction is not None
    if settings.recall < _LOW_RECALL and is_shaped:
        warn(
            f"lshdb: this index finds {settings.recall:.2%} of the pairs at similarity "
            f"{settings.threshold:g}: take more bands or fewer rows, or give --recall instead, and "
            "lshdb chooses them; lshdb tune shows which"
        )


def shows_progress() -> bool:
    """Whether jobs show a bar: only on a terminal."""
    return not quiet and sys.stderr.isatty()
