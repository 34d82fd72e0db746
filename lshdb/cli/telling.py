"""What several commands tell on standard error about how complete their results are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lshdb.cli.output import message

if TYPE_CHECKING:
    from lshdb.model import Settings


def tell_recall(settings: Settings, threshold: float, advice: str = "") -> None:
    """Tell what share of the documents the index finds at a threshold below its own."""
    from lshdb.scurve import candidate_probability

    recall = candidate_probability(threshold, settings.construction)
    message(
        f"the index is made for similarity {settings.threshold:g}: of the documents at "
        f"{threshold:g} it finds about {recall:.1%}{advice}"
    )
