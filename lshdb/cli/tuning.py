"""The command tune: what constructions will do, before anything is indexed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli.messages import message
from lshdb.cli.options import DEFAULT_PATH, DEFAULT_TIMEOUT, AsJson, DatabasePath, Timeout
from lshdb.cli.results import Cell, json_line, on_terminal, table
from lshdb.errors import LshdbError, UsageError

if TYPE_CHECKING:
    from lshdb.model import Construction
    from lshdb.tuning.choices import Tuned

_PICTURES = (".png", ".pdf", ".svg")
_WIDTH = 60
_HEIGHT = 10


def tune(
    db: DatabasePath = DEFAULT_PATH,
    timeout: Timeout = DEFAULT_TIMEOUT,
    threshold: Annotated[
        float | None,
        typer.Option(help="Similarity that matters. [default: the database's, or 0.8]"),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Share of pairs at it to be found. [default: the database's, or 0.99]"),
    ] = None,
    permutations: Annotated[
        int | None,
        typer.Option(help="Lanes of a signature. [default: the database's, or 128]"),
    ] = None,
    documents: Annotated[
        int | None,
        typer.Option(min=0, help="Candidates for a collection of so many. [default: its size]"),
    ] = None,
    construction: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Judge this construction too, marked +."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many constructions.")] = 10,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw the curve; needs the extra lshdb[plot]."),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Measure what the database's index finds, beside the formulas."
        ),
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --measure, how many documents are compared with all. "
            "[default: what takes some seconds]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Show which bands and rows, or cascades, suit a threshold and a recall, best first.

    Each line: * for the best and + for the one of --construction, the construction, the recall at
    the threshold, how probably pairs of similarity 0.1 to 0.9 become candidates, rows and bytes
    that a document takes in the index, and the candidates that a query will have. These need a
    database (lsh.db if it is there): its documents tell, by a sample, how similar documents are.

    With --measure, the index as it is: documents of a sample are compared with all. Each line:
    what, measured, by formula, and for recall the bounds of its 95% confidence interval and the
    similar pairs that it is of. Precision is the share of candidates that are similar, before
    they are verified.

    Example: lshdb tune --threshold 0.7 --permutations 256
    """
    if plot is not None and plot.suffix not in _PICTURES:
        raise UsageError(f"{plot} is not a name that ends in {', '.join(_PICTURES)}")
    if measure:
        given = (recall, permutations, documents, construction, plot)
        if any(option is not None for option in given):
            raise UsageError(
                "--measure is of the index that the database has: it goes with --threshold, "
                "--sample, --seed and --json only"
            )
        from lshdb.cli.measuring import measure as measured

        measured(db, timeout, threshold, sample, seed, as_json)
        return
    if sample is not None:
        raise UsageError("--sample goes with --measure")
    if db != DEFAULT_PATH or db.exists():
        import lshdb

        with lshdb.open(db, mode="read", timeout=timeout) as database:
            found = database.tune(
                threshold=threshold,
                recall=recall,
                permutations=permutations,
                documents=documents,
                construction=construction,
                seed=seed,
            )
            threshold = database.settings.threshold if threshold is None else threshold
    elif documents is not None:
        raise UsageError("--documents needs a database, which tells how similar documents are")
    else:
        from lshdb import settings
        from lshdb.tuning import choices as tuning

        threshold = settings.THRESHOLD if threshold is None else threshold
        recall = settings.RECALL if recall is None else recall
        found = tuning.tune(threshold, recall, permutations, construction=construction)
    _print([*found[:top], *(tuned for tuned in found[top:] if tuned.named)], as_json)
    best = next((tuned for tuned in found if tuned.named), found[0]).construction
    picture = plot is not None and _plot(plot, best, threshold)
    if not as_json and not picture and (on_terminal() or plot is not None):
        print("\n".join(drawn(best, threshold)))
    if plot is not None and not picture:
        raise LshdbError("--plot needs matplotlib: pip install 'lshdb[plot]'")


def _print(found: list[Tuned], as_json: bool) -> None:
    from lshdb.tuning.choices import SIMILARITIES

    if as_json:
        for tuned in found:
            json_line(
                {
                    "construction": str(tuned.construction),
                    "lanes": tuned.construction.lanes,
                    "bands": tuned.construction.bands,
                    "rows": tuned.construction.rows,
                    "recall": tuned.recall,
                    "curve": dict(zip(map(str, SIMILARITIES), tuned.curve, strict=True)),
                    "bytes": tuned.bytes,
                    "candidates": tuned.candidates,
                    "chosen": tuned.chosen,
                    "named": tuned.named,
                }
            )
        return
    names = ["", "construction", "recall", *map(str, SIMILARITIES), "rows", "bytes", "candidates"]
    rows: list[list[Cell]] = [
        [
            "*" * tuned.chosen + "+" * tuned.named,
            str(tuned.construction),
            f"{tuned.recall:.4f}",
            *(f"{p:.2g}" for p in tuned.curve),
            tuned.construction.bands,
            tuned.bytes,
            "" if tuned.candidates is None else f"{tuned.candidates:.4g}",
        ]
        for tuned in found
    ]
    table(names, rows)


def drawn(construction: Construction, threshold: float) -> list[str]:
    """The curve of a construction in characters, with a line at the threshold.

    >>> from lshdb.model import Construction
    >>> for line in drawn(Construction(6, 16), 0.8)[3:6]:
    ...     print(line.rstrip())
    0.8 |                                        ##      |
    0.7 |                                      ##        |
    0.6 |                                     #          |
    """
    from lshdb.sketching.constructions import candidate_probability

    level = [
        round(candidate_probability(x / _WIDTH, construction) * _HEIGHT) for x in range(_WIDTH + 1)
    ]
    place = round(threshold * _WIDTH)
    lines = [f"probability that a pair is a candidate: {construction}"]
    for row in range(_HEIGHT, -1, -1):
        cells = [" "] * (_WIDTH + 1)
        cells[place] = "|"
        for x in range(_WIDTH + 1):
            low = min(level[x], level[x - 1] + 1) if x else level[x]
            if low <= row <= level[x]:
                cells[x] = "#"
        lines.append(f"{row / _HEIGHT:.1f} |{''.join(cells)}".rstrip())
    lines.append("    +" + "-" * (_WIDTH + 1))
    lines.append("     0" + f"threshold {threshold:g}".center(_WIDTH - 1) + "1")
    return lines


def _plot(path: Path, construction: Construction, threshold: float) -> bool:
    """Draw a curve, the threshold, and the areas of false positives and of false negatives.

    Returns:
        Whether matplotlib, the extra `plot`, is there to do so.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("matplotlib"):
            raise
        return False
    import numpy as np

    from lshdb.tuning.analysis import curve

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    below = np.linspace(0, threshold, 400)
    above = np.linspace(threshold, 1, 400)
    axes.fill_between(below, curve(below, construction), alpha=0.3, label="false positives")
    axes.fill_between(above, curve(above, construction), 1, alpha=0.5, label="false negatives")
    every = np.concatenate([below, above])
    axes.plot(every, curve(every, construction), color="black", label=str(construction))
    axes.axvline(threshold, linestyle="--", color="grey", label=f"threshold {threshold:g}")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="Jaccard similarity")
    axes.set_ylabel("probability that a pair is a candidate")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)
    message(f"{path} drawn")
    return True
