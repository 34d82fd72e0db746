"""Options of `lshdb.dedup`."""

from typing import Annotated

from lshdb.apps.dedup.options import ComparisonOptions, RowsOptions, RuleOptions
from lshdb.apps.tables.options import ColumnOptions
from lshdb.groups import Options, argument
from lshdb.limits import DEFAULTS
from lshdb.options import (
    BaseTexts,
    FieldOptions,
    FileName,
    OnFailure,
    OwnLimits,
    ReadingOptions,
    WorkerCount,
)


class DataOptions(Options):
    """Options of `lshdb.dedup`."""

    columns: ColumnOptions
    comparison: ComparisonOptions
    choice: RuleOptions

    base: BaseTexts = None
    into: Annotated[
        FileName | None,
        argument("A database of what was kept before, to which kept rows are added."),
    ] = None
    workers: WorkerCount = None
    on_failure: OnFailure = None
    limits: OwnLimits = DEFAULTS

    @property
    def of_files(self) -> RowsOptions:
        """The options of rows of files that say the same."""
        columns = self.columns
        names = FieldOptions(
            key_field=columns.key,
            text_field=columns.text or "text",
            set_field=columns.set or "set",
        )
        return RowsOptions(
            read=ReadingOptions(names=names, auto_key=True, metadata=False), choice=self.choice
        )
