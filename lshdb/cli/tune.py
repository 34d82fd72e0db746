"""The command tune: predicts what constructions do, before anything is indexed."""

from collections.abc import Sequence
from typing import Annotated

from lshdb.cli import messages, results
from lshdb.cli.options import DatabaseFile, Form
from lshdb.errors import UsageError
from lshdb.groups import Option
from lshdb.maintain import choices
from lshdb.maintain.resolve import choose_construction
from lshdb.options import TuneOptions
from lshdb.sketch.settings import Settings


def tune(
    *,
    file: DatabaseFile,
    options: TuneOptions,
    top: Annotated[int, Option("Maximum number of constructions.", min=1)] = 10,
    form: Form,
) -> None:
    """Show which bands and rows, or cascades, fit a threshold and a recall, best first.

    A line has the construction, the recall at the threshold, the probability that pairs of
    similarity 0.3, 0.5 and 0.7 become candidates, the bytes of index per document, and, with a
    database, the candidates of a query, predicted from a sample of its documents. First is then
    the shape that is quickest for these documents. reindex takes the one that suits any documents,
    unless --construction names another; a note says so where they differ.

    Example: lshdb tune --threshold 0.7 --permutations 256
    """
    form.check(file.db)
    note = ""
    if file.is_there:
        with file.reading() as database:
            constructions = database.tune(options)
            note = _what_reindex_takes(constructions, options, database.settings)
    elif options.documents is not None:
        raise UsageError(
            "--documents needs a database, whose documents show how similar documents are"
        )
    else:
        constructions = choices.tune(options)
    asked_for = (tuned for tuned in constructions[top:] if tuned.named)
    _write_constructions([*constructions[:top], *asked_for], form)
    if note:
        messages.message(note)


def _what_reindex_takes(
    constructions: Sequence[choices.Tuned], options: TuneOptions, settings: Settings
) -> str:
    """Which shape `lshdb reindex` takes by itself, if that is not the first one; else empty."""
    usual = choose_construction(
        options.threshold or settings.threshold,
        options.recall or settings.recall,
        options.permutations or settings.permutations,
    )
    best = constructions[0].construction
    if best == usual:
        return ""
    return (
        f'"{best}" is the quickest for these documents; lshdb reindex takes "{usual}", '
        f'unless you give --construction "{best}"'
    )


def _write_constructions(constructions: list[choices.Tuned], form: Form) -> None:
    numbers = {"construction": str, "lanes": int, "bands": int, "rows": int, "recall": float}
    curve = {f"{similarity:g}": float for similarity in choices.SIMILARITIES}
    costs = {"bytes": int, "candidates": float, "chosen": bool, "named": bool}
    rows = (
        (
            *(str(shape), shape.lanes, shape.bands, shape.rows, tuned.recall),
            *(*tuned.curve, tuned.bytes, tuned.candidates, tuned.chosen, tuned.named),
        )
        for tuned in constructions
        for shape in (tuned.construction,)
    )
    shown = ("construction", "recall", "0.3", "0.5", "0.7", "bytes", "candidates")
    results.write_results({**numbers, **curve, **costs}, rows, form, shown=shown)
