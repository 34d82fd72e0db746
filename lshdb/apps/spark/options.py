"""Options of `lshdb.spark`."""

from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from lshdb.apps.dedup.options import DropOptions, EstimateOptions, RuleOptions
from lshdb.apps.passages.options import CopiedOptions
from lshdb.apps.tables.options import ColumnOptions
from lshdb.errors import UsageError
from lshdb.groups import Option, Options, argument, uncommon
from lshdb.options import FileName, Threshold

if TYPE_CHECKING:
    from lshdb.sketch.settings import Settings


Keep = Literal["first", "longest", "last"]
"""Which of similar rows of Spark is kept."""


class SparkOptions(Options):
    """How the rows of a DataFrame become documents: keys are all different, sets are arrays."""

    columns: ColumnOptions

    settings: Annotated[
        "Settings",
        argument(
            "Those of a file, or of `make_settings`.",
            kind=("settings", lambda value: hasattr(value, "shingling")),
        ),
    ] = field(kw_only=False)
    counts: Annotated[Any, argument("`Counts` to which rows that are left out are added.")] = None

    def __post_init__(self) -> None:
        if self.settings.records:
            raise UsageError(
                "Spark does not compare records and scans (--for records, scans): use lshdb dedup"
            )


class SparkWriteOptions(Options):
    """Options of `lshdb.spark.write_databases`."""

    data: SparkOptions

    directory: Annotated[
        FileName,
        argument("A path that the driver and every executor see; created if missing."),
    ] = field(kw_only=False)
    shards: Annotated[int, argument("How many files.", min=1)] = field()


class BucketOptions(Options):
    """Which documents that share a bucket are compared."""

    limit: Annotated[
        int | None,
        uncommon("In larger buckets, compare each with the first only.", min=2),
    ] = 2000


class SparkRuleOptions(Options):
    """Which documents are dropped, and which of them stays."""

    buckets: BucketOptions
    drop: DropOptions

    keep: Annotated[Keep, Option("Which of similar ones to keep.")] = "first"

    @property
    def of_rows(self) -> RuleOptions:
        """The options of rows that say the same."""
        return RuleOptions(drop=self.drop, keep=self.keep)


class SparkPairsOptions(Options):
    """Options of `lshdb.spark.pairs`."""

    data: SparkOptions
    similarity: EstimateOptions
    buckets: BucketOptions

    threshold: Threshold = None


class SparkDedupOptions(Options):
    """Options of `lshdb.spark.dedup`."""

    data: SparkOptions
    choice: SparkRuleOptions

    threshold: Threshold = None


class SparkPassagesOptions(Options):
    """Options of `lshdb.spark.passage_pairs`."""

    data: SparkOptions
    copied: CopiedOptions
