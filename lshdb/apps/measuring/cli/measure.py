"""`lshdb measure`: what the index finds, beside what the formulas say."""

from lshdb.apps.measuring.model import COLUMNS
from lshdb.apps.measuring.options import MeasureOptions
from lshdb.cli import messages, results
from lshdb.cli.options import DatabaseFile, Form

_ENOUGH = 100
"""Similar pairs for a good estimate: with fewer, recall is off by a few hundredths."""


def measure(*, file: DatabaseFile, options: MeasureOptions, form: Form) -> None:
    """Measure what the index finds: compare a sample of the documents with all.

    A line has the recall, the candidates of a query or the share of them that is similar, as
    measured and by the formula, with the bounds of a 95% confidence interval.

    Example: lshdb measure -d code.db --threshold 0.7
    """
    form.check(file.db)
    with file.reading() as database:
        measured = database.measure(options)
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
