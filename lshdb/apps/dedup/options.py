"""Options of dedup, of rows of files and of a program."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from lshdb.errors import SettingsError, UsageError
from lshdb.groups import Option, Options, uncommon
from lshdb.options import (
    CUTTING,
    INDEX,
    INPUT,
    OUTPUT,
    REFERENCES,
    STAYS,
    AnyReader,
    Distinguish,
    Estimate,
    FieldNames,
    IndexRecall,
    IndexThreshold,
    OnFailure,
    OrderOptions,
    PurposeOptions,
    ReadingOptions,
    SettingsOptions,
    ShapeOptions,
    ShingleOptions,
    Threshold,
    WalkingOptions,
    WritingOptions,
    check_numbers_compared,
)

CUT_OF_TEXTS = "cut is for rows of tables: texts that are files stay as they are"


class ComparisonOptions(Options):
    """How documents are compared; for more settings of a file, make it with `lshdb init`."""

    section = INDEX
    error = SettingsError

    threshold: IndexThreshold = None
    recall: IndexRecall = None
    shingles: ShingleOptions
    kind: PurposeOptions

    @property
    def settings(self) -> SettingsOptions:
        """The settings of a file that compares so."""
        shape = ShapeOptions(threshold=self.threshold, recall=self.recall)
        return SettingsOptions(shape=shape, shingles=self.shingles, kind=self.kind)


class EstimateOptions(Options):
    """How two documents are compared."""

    estimate: Estimate = False
    distinguish: Distinguish = None

    def __post_init__(self) -> None:
        check_numbers_compared(self)


class DropOptions(Options):
    """Which rows are dropped: the options of dedup that all its doors have, also Spark."""

    section = STAYS

    similarity: EstimateOptions

    rule: Annotated[
        str,
        Option(
            "What is dropped, beside an earlier row. [default: similar]",
            metavar="similar|identical|contained|copied:WORDS",
        ),
    ] = "similar"
    against: Annotated[
        Sequence[Any] | Any,
        Option(
            "Also drop what resembles this; repeatable.",
            metavar="DB|FILE[:text=NAME]",
            section=REFERENCES,
        ),
    ] = None
    only_against: Annotated[
        bool, Option("Compare rows with --against alone.", section=REFERENCES)
    ] = False
    on_null: Annotated[
        Literal["fail", "keep"],
        Option("Of a row without a text. [default: fail]", section=INPUT),
    ] = "fail"


class RuleOptions(Options):
    """Which rows are dropped, and which of them stays."""

    section = STAYS

    order: OrderOptions
    drop: DropOptions

    drop_all: Annotated[bool, uncommon("Keep none of similar rows.")] = False
    all_references: Annotated[
        bool,
        uncommon("List all rows of references that match.", section=REFERENCES),
    ] = False

    def __post_init__(self) -> None:
        if self.order.ordered and self.drop_all:
            raise UsageError("drop_all keeps none of similar rows: give no order")


class RowsOptions(Options):
    """Which rows are kept."""

    walk: WalkingOptions
    read: ReadingOptions
    choice: RuleOptions

    cut: Annotated[
        int | None,
        Option(
            "Cut runs of earlier rows; emptied rows go.",
            min=3,
            metavar="WORDS",
            section=CUTTING,
        ),
    ] = None
    min_words: Annotated[
        int,
        uncommon(
            "Drop rows with fewer words left (0: none).",
            min=0,
            metavar="WORDS",
            section=CUTTING,
        ),
    ] = 1

    fields: FieldNames = ()

    def __post_init__(self) -> None:
        if self.cut is None:
            if self.min_words != 1:
                raise UsageError("min_words is for cut")
            return
        choice, text_field = self.choice, self.read.names.text_field
        drop = choice.drop
        in_order = not choice.order.ordered and not choice.drop_all and drop.rule == "similar"
        if not in_order or drop.against:
            raise UsageError("cut takes the rows as they come: give no rule, order or reference")
        if "," in text_field or "[]" in text_field:
            raise UsageError("texts can be cut in one field only")
        if self.read.table.format == "text":
            raise UsageError(CUT_OF_TEXTS)


class DedupOutputs(Options):
    """What the command dedup writes; `-` is standard output."""

    output: Annotated[
        str | None,
        Option(
            "For kept rows. [default: standard output]",
            metavar="OUTPUT",
            flags=("--output", "-o"),
            section=OUTPUT,
        ),
    ] = None
    overwrite: Annotated[
        bool, uncommon("Delete what earlier runs wrote to the directory OUTPUT.")
    ] = False
    annotate: Annotated[
        str | None,
        Option("Write all rows, with their clusters.", metavar="OUTPUT"),
    ] = None
    dropped: Annotated[
        str | None,
        Option("List dropped rows, each with its kept row.", metavar="FILE"),
    ] = None
    cuts: Annotated[
        str | None,
        uncommon(
            "List what --cut cuts.",
            metavar="FILE",
            section=CUTTING,
        ),
    ] = None


class DedupOptions(Options):
    """Options of `Database.dedup_files`."""

    rows: RowsOptions
    write: WritingOptions

    reader: AnyReader = None
    threshold: Threshold = None
    on_failure: OnFailure = None
