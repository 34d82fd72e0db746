"""Messages to standard error: notes, warnings, failures.

Keys come from anywhere: control characters are printed as escapes, never as they are.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from lshdb.sources.paths import escaped

if TYPE_CHECKING:
    from lshdb.model import Settings
    from lshdb.sources.records import Failure

_quiet = False


def be_quiet() -> None:
    """Print no more notes and no progress."""
    global _quiet
    _quiet = True


def is_quiet() -> bool:
    """Whether only results, warnings and errors are wanted."""
    return _quiet


def message(text: str) -> None:
    """Print a note to standard error, which --quiet leaves out."""
    if not _quiet:
        tell(text)


def tell(text: str) -> None:
    """Print a warning or an error to standard error."""
    try:
        print(escaped(text), file=sys.stderr)
    except OSError:
        # A log that cannot be written is no reason to leave the work half done.
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let a stream that cannot be written take everything, also what Python holds till its end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


_FAILURES_SHOWN = 20


class Failures:
    """Tells the first failures, each on a line."""

    def __init__(self) -> None:
        self.count = 0

    def tell(self, failure: Failure) -> None:
        """Tell one."""
        self.count += 1
        if self.count <= _FAILURES_SHOWN:
            tell(f"lshdb: {failure.where or repr('')}: {failure.reason}")
        elif self.count == _FAILURES_SHOWN + 1:
            tell("lshdb: further failures are counted only")


def tell_recall(settings: Settings, threshold: float, advice: str = "") -> None:
    """Tell what share of the documents the index finds at a threshold below its own."""
    from lshdb.sketching.constructions import candidate_probability

    recall = candidate_probability(threshold, settings.construction)
    message(
        f"the index is made for similarity {settings.threshold:g}: of the documents at "
        f"{threshold:g} it finds about {recall:.1%}{advice}"
    )
