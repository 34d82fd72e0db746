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
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from lshdb.errors import SettingsError, UsageError
from lshdb.groups import Option, Options, uncommon
from lshdb.options import CUTTING, INDEX, INPUT, OUTPUT, REFERENCES, STAYS, AnyReader, Distinguish, Estimate, FieldNames, IndexRecall, IndexThreshold, OnFailure, OrderOptions, PurposeOptions, ReadingOptions, SettingsOptions, ShapeOptions, ShingleOptions, Threshold, WalkingOptions, WritingOptions, check_numbers_compared
CUT_OF_TEXTS = 'cut is for rows of tables: texts that are files stay as they are'

class ComparisonOptions(Options):
    threshold: IndexThreshold
    recall: IndexRecall
    shingles: ShingleOptions
    kind: PurposeOptions
    @property
    def settings(self) -> SettingsOptions: ...
    @overload
    def __init__(
        self,
        *,
        threshold: IndexThreshold = None,
        recall: IndexRecall = None,
        shingle: str | None = None,
        ignoring: Literal['numbers', 'marks'] | None = None,
        seed: int | Literal['random'] | None = None,
        purpose: Literal['short-text', 'records', 'documents', 'scans', 'programs', 'baskets'] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        threshold: IndexThreshold = None,
        recall: IndexRecall = None,
        shingles: ShingleOptions = ...,
        kind: PurposeOptions = ...,
    ) -> None: ...

class EstimateOptions(Options):
    estimate: Estimate = False
    distinguish: Distinguish = None

class DropOptions(Options):
    similarity: EstimateOptions
    rule: str
    against: Sequence[Any] | Any
    only_against: bool
    on_null: Literal['fail', 'keep']
    @overload
    def __init__(
        self,
        *,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        rule: str = 'similar',
        against: Sequence[Any] | Any = None,
        only_against: bool = False,
        on_null: Literal['fail', 'keep'] = 'fail',
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        similarity: EstimateOptions = ...,
        rule: str = 'similar',
        against: Sequence[Any] | Any = None,
        only_against: bool = False,
        on_null: Literal['fail', 'keep'] = 'fail',
    ) -> None: ...

class RuleOptions(Options):
    order: OrderOptions
    drop: DropOptions
    drop_all: bool
    all_references: bool
    @overload
    def __init__(
        self,
        *,
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
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        order: OrderOptions = ...,
        drop: DropOptions = ...,
        drop_all: bool = False,
        all_references: bool = False,
    ) -> None: ...

class RowsOptions(Options):
    walk: WalkingOptions
    read: ReadingOptions
    choice: RuleOptions
    cut: int | None
    min_words: int
    fields: FieldNames
    @overload
    def __init__(
        self,
        *,
        exclude: Exclude = (),
        include: Sequence[str] = (),
        hidden: bool = False,
        follow: bool = False,
        ignore: bool = True,
        tracked: bool = False,
        max_filesize: int | None = None,
        documents: bool = True,
        extract_timeout: float = 60.0,
        quotes: bool = True,
        convert: Sequence[str] = (),
        encoding: Encoding = None,
        strict: bool = False,
        key_field: KeyField = 'id',
        text_field: TextField = 'text',
        set_field: str = 'set',
        format: Format = 'auto',
        delimiter: str | None = None,
        escape: str | None = None,
        quoting: Literal['csv', 'none'] | None = None,
        auto_key: bool = False,
        metadata: bool = True,
        metadata_fields: Sequence[str] = (),
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
        cut: int | None = None,
        min_words: int = 1,
        fields: FieldNames = (),
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        walk: WalkingOptions = ...,
        read: ReadingOptions = ...,
        choice: RuleOptions = ...,
        cut: int | None = None,
        min_words: int = 1,
        fields: FieldNames = (),
    ) -> None: ...

class DedupOutputs(Options):
    output: str | None = None
    overwrite: bool = False
    annotate: str | None = None
    dropped: str | None = None
    cuts: str | None = None

class DedupOptions(Options):
    rows: RowsOptions
    write: WritingOptions
    reader: AnyReader
    threshold: Threshold
    on_failure: OnFailure
    @overload
    def __init__(
        self,
        *,
        exclude: Exclude = (),
        include: Sequence[str] = (),
        hidden: bool = False,
        follow: bool = False,
        ignore: bool = True,
        tracked: bool = False,
        max_filesize: int | None = None,
        documents: bool = True,
        extract_timeout: float = 60.0,
        quotes: bool = True,
        convert: Sequence[str] = (),
        encoding: Encoding = None,
        strict: bool = False,
        key_field: KeyField = 'id',
        text_field: TextField = 'text',
        set_field: str = 'set',
        format: Format = 'auto',
        delimiter: str | None = None,
        escape: str | None = None,
        quoting: Literal['csv', 'none'] | None = None,
        auto_key: bool = False,
        metadata: bool = True,
        metadata_fields: Sequence[str] = (),
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
        cut: int | None = None,
        min_words: int = 1,
        fields: FieldNames = (),
        workers: WorkerCount = None,
        on_batch: Callable[[AddReport], None] | None = None,
        progress: OnProgress = False,
        reader: AnyReader = None,
        threshold: Threshold = None,
        on_failure: OnFailure = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        rows: RowsOptions = ...,
        write: WritingOptions = ...,
        reader: AnyReader = None,
        threshold: Threshold = None,
        on_failure: OnFailure = None,
    ) -> None: ...
