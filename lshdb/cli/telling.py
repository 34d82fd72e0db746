"""What several commands tell on standard error about what was read and how complete results are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lshdb.cli.output import message, tell

if TYPE_CHECKING:
    from lshdb.model import Settings
    from lshdb.records import Failure

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
    from lshdb.scurve import candidate_probability

    recall = candidate_probability(threshold, settings.construction)
    message(
        f"the index is made for similarity {settings.threshold:g}: of the documents at "
        f"{threshold:g} it finds about {recall:.1%}{advice}"
    )
