"""What several commands tell on standard error about how complete their results are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lshdb.cli.output import message
from lshdb.errors import LimitWarning

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


@contextmanager
def limits_told() -> Iterator[None]:
    """Tell it where a limit cuts a result."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", LimitWarning)
        usual = warnings.showwarning

        def show(warning: Warning | str, category: type[Warning], *rest: object) -> None:
            if issubclass(category, LimitWarning):
                message(f"lshdb: {warning}")
            else:
                usual(warning, category, *rest)  # type: ignore[arg-type]

        warnings.showwarning = show  # type: ignore[assignment]
        yield
