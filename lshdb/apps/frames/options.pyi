# Written by scripts/site/option_types.py.
# ruff: noqa
# fmt: off

from typing import overload
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal
from lshdb.errors import LONGEST_TIMEOUT, TIMEOUT, SettingsError, UsageError
from lshdb.groups import Option, Options, ValueKind, argument, proportion, uncommon
from lshdb.limits import DEFAULTS, Limits
from lshdb.offers import OPTIONS, offered
from lshdb.progress import Progress
from lshdb.model import AddReport, Failure
from lshdb.text.shingling import Content
from lshdb.options import *
from typing import Annotated
from lshdb.apps.dedup.options import ComparisonOptions, RowsOptions, RuleOptions
from lshdb.apps.tables.options import ColumnOptions
from lshdb.groups import Options, argument
from lshdb.limits import DEFAULTS
from lshdb.options import BaseTexts, FieldOptions, FileName, OnFailure, OwnLimits, ReadingOptions, WorkerCount

class DataOptions(Options):
    columns: ColumnOptions
    comparison: ComparisonOptions
    choice: RuleOptions
    base: BaseTexts
    into: FileName | None
    workers: WorkerCount
    on_failure: OnFailure
    limits: OwnLimits
    @property
    def of_files(self) -> RowsOptions: ...
    @overload
    def __init__(
        self,
        *,
        key: str = 'id',
        text: str | None = None,
        set: str | None = None,
        threshold: IndexThreshold = None,
        recall: IndexRecall = None,
        shingle: str | None = None,
        ignoring: Literal['numbers', 'marks'] | None = None,
        seed: int | Literal['random'] | None = None,
        purpose: Literal['short-text', 'records', 'documents', 'scans', 'programs', 'baskets'] | None = None,
        keep: KeepOrder = 'first',
        keep_max: str | None = None,
        keep_min: str | None = None,
        unordered: Literal['stop', 'last'] = 'stop',
        keep_in: str | None = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        rule: str = 'similar',
        against: Sequence[Any] | Any = None,
        only_against: bool = False,
        on_null: Literal['fail', 'keep'] = 'fail',
        drop_all: bool = False,
        all_references: bool = False,
        base: BaseTexts = None,
        into: FileName | None = None,
        workers: WorkerCount = None,
        on_failure: OnFailure = None,
        limits: OwnLimits = DEFAULTS,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        columns: ColumnOptions = ...,
        comparison: ComparisonOptions = ...,
        choice: RuleOptions = ...,
        base: BaseTexts = None,
        into: FileName | None = None,
        workers: WorkerCount = None,
        on_failure: OnFailure = None,
        limits: OwnLimits = DEFAULTS,
    ) -> None: ...
