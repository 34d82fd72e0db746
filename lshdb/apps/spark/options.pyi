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
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal
from lshdb.apps.dedup.options import DropOptions, EstimateOptions, RuleOptions
from lshdb.apps.passages.options import CopiedOptions
from lshdb.apps.tables.options import ColumnOptions
from lshdb.errors import UsageError
from lshdb.groups import Option, Options, argument, uncommon
from lshdb.options import FileName, Threshold
from lshdb.sketch.settings import Settings
Keep = Literal['first', 'longest', 'last']

class SparkOptions(Options):
    columns: ColumnOptions
    settings: Settings
    counts: Any
    @overload
    def __init__(
        self,
        settings: Settings,
        *,
        key: str = 'id',
        text: str | None = None,
        set: str | None = None,
        counts: Any = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        settings: Settings,
        *,
        columns: ColumnOptions = ...,
        counts: Any = None,
    ) -> None: ...

class SparkWriteOptions(Options):
    data: SparkOptions
    directory: FileName
    shards: int
    @overload
    def __init__(
        self,
        settings: Settings,
        directory: FileName,
        *,
        key: str = 'id',
        text: str | None = None,
        set: str | None = None,
        counts: Any = None,
        shards: int,
    ) -> None: ...
    @overload
    def __init__(
        self,
        directory: FileName,
        *,
        data: SparkOptions,
        shards: int,
    ) -> None: ...

class BucketOptions(Options):
    limit: int | None = 2000

class SparkRuleOptions(Options):
    buckets: BucketOptions
    drop: DropOptions
    keep: Keep
    @property
    def of_rows(self) -> RuleOptions: ...
    @overload
    def __init__(
        self,
        *,
        limit: int | None = 2000,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        rule: str = 'similar',
        against: Sequence[Any] | Any = None,
        only_against: bool = False,
        on_null: Literal['fail', 'keep'] = 'fail',
        keep: Keep = 'first',
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        buckets: BucketOptions = ...,
        drop: DropOptions = ...,
        keep: Keep = 'first',
    ) -> None: ...

class SparkPairsOptions(Options):
    data: SparkOptions
    similarity: EstimateOptions
    buckets: BucketOptions
    threshold: Threshold
    @overload
    def __init__(
        self,
        settings: Settings,
        *,
        key: str = 'id',
        text: str | None = None,
        set: str | None = None,
        counts: Any = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        limit: int | None = 2000,
        threshold: Threshold = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        data: SparkOptions,
        similarity: EstimateOptions = ...,
        buckets: BucketOptions = ...,
        threshold: Threshold = None,
    ) -> None: ...

class SparkDedupOptions(Options):
    data: SparkOptions
    choice: SparkRuleOptions
    threshold: Threshold
    @overload
    def __init__(
        self,
        settings: Settings,
        *,
        key: str = 'id',
        text: str | None = None,
        set: str | None = None,
        counts: Any = None,
        limit: int | None = 2000,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        rule: str = 'similar',
        against: Sequence[Any] | Any = None,
        only_against: bool = False,
        on_null: Literal['fail', 'keep'] = 'fail',
        keep: Keep = 'first',
        threshold: Threshold = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        data: SparkOptions,
        choice: SparkRuleOptions = ...,
        threshold: Threshold = None,
    ) -> None: ...

class SparkPassagesOptions(Options):
    data: SparkOptions
    copied: CopiedOptions
    @overload
    def __init__(
        self,
        settings: Settings,
        *,
        key: str = 'id',
        text: str | None = None,
        set: str | None = None,
        counts: Any = None,
        gap: int = 0,
        common: int = 100,
        min_words: int | None = None,
        base: Sequence[str] = (),
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        data: SparkOptions,
        copied: CopiedOptions = ...,
    ) -> None: ...
