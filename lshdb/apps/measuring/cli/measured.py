"""`lshdb tune --measure`: what the index finds, beside what the formulas say."""

from lshdb.apps.measuring.model import COLUMNS
from lshdb.cli import messages, results
from lshdb.cli.options import DatabaseFile, Form

_ENOUGH = 100
"""Similar pairs for a good estimate: with fewer, recall is off by a few hundredths."""


def write_measured(
    file: DatabaseFile, threshold: float | None, sample: int | None, seed: int, form: Form
) -> None:
    """Measure the index, and print the result beside the formulas'."""
    form.check(file.db)
    with file.reading() as database:
        measured = database.measure(
            threshold=threshold, sample=sample, seed=seed, progress=messages.shows_progress()
        )
    kind = "exact similarities" if measured.exact else "estimates: recall looks better than it is"
    messages.message(
        f"{measured.sample:,} of {measured.documents:,} documents compared with all, {kind}; "
        f"index: {measured.construction}"
    )
    recall = measured.recall
    if recall.pairs < _ENOUGH and measured.sample < measured.documents:
        messages.message(
            f"only {recall.pairs} of the pairs are similar: --sample with more than "
            f"{measured.sample} measures recall better"
        )
    shown = [name for name in COLUMNS if name not in ("found", "exact")]
    results.write_results(COLUMNS, measured.rows(), form, shown=shown)
