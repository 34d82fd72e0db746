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
from lshdb.apps.compare.options import DocumentArguments as DocumentArguments
from lshdb.apps.compare.options import AdmissionOptions as AdmissionOptions
from lshdb.apps.dedup.options import ComparisonOptions as ComparisonOptions
from lshdb.apps.dedup.options import EstimateOptions as EstimateOptions
from lshdb.apps.dedup.options import DropOptions as DropOptions
from lshdb.apps.dedup.options import RuleOptions as RuleOptions
from lshdb.apps.dedup.options import RowsOptions as RowsOptions
from lshdb.apps.dedup.options import DedupOutputs as DedupOutputs
from lshdb.apps.dedup.options import DedupOptions as DedupOptions
from lshdb.apps.frames.options import DataOptions as DataOptions
from lshdb.apps.gate.options import GateOptions as GateOptions
from lshdb.apps.measuring.options import MeasureOptions as MeasureOptions
from lshdb.apps.repair.options import RestoreOptions as RestoreOptions
from lshdb.apps.report.options import ReportOptions as ReportOptions
from lshdb.apps.passages.options import CommonOptions as CommonOptions
from lshdb.apps.passages.options import CopiedOptions as CopiedOptions
from lshdb.apps.passages.options import PassagePairsOptions as PassagePairsOptions
from lshdb.apps.passages.options import PassagesOptions as PassagesOptions
from lshdb.apps.passages.options import TextFieldOptions as TextFieldOptions
from lshdb.apps.review.options import GroupingOptions as GroupingOptions
from lshdb.apps.review.options import ClusteringOptions as ClusteringOptions
from lshdb.apps.service.options import ArrivalOptions as ArrivalOptions
from lshdb.apps.folders.options import SyncOptions as SyncOptions
from lshdb.apps.tables.options import ColumnOptions as ColumnOptions
from lshdb.apps.tables.options import AddTableOptions as AddTableOptions
from lshdb.apps.spark.options import SparkOptions as SparkOptions
from lshdb.apps.spark.options import SparkWriteOptions as SparkWriteOptions
from lshdb.apps.spark.options import BucketOptions as BucketOptions
from lshdb.apps.spark.options import SparkRuleOptions as SparkRuleOptions
from lshdb.apps.spark.options import SparkPairsOptions as SparkPairsOptions
from lshdb.apps.spark.options import SparkDedupOptions as SparkDedupOptions
from lshdb.apps.spark.options import SparkPassagesOptions as SparkPassagesOptions
OnConflict = Literal['replace', 'keep', 'error']
Format = Literal['auto', 'text', 'jsonl', 'json', 'csv', 'tsv', 'parquet', 'arrow', 'xlsx']
Mode = Literal['create', 'read', 'write']
FileName = str | os.PathLike[str]
SqlValue = str | int | float | bytes | None
Parameters = Sequence[SqlValue] | Mapping[str, SqlValue]
INPUT, MATCHING, OUTPUT, INDEX, ADVANCED = ('Input', 'Matching', 'Output', 'Index', 'Advanced')
STAYS, REFERENCES, CUTTING = ('What stays', 'Compare with', 'Cut')
def names_of_text(text: str) -> list[str]: ...
def size_of_text(text: str) -> int: ...
def number_or(word: str, value: int | str) -> Callable[[str], int | str]: ...
Threshold = float | None
Top = int | None
StoredKey = Any
Estimate = bool
Distinguish = Literal['numbers'] | None
WhereParameters = Parameters
FieldNames = Sequence[str]
KeepOrder = Literal['first', 'last', 'longest', 'newest', 'oldest', 'shortest-path']
OwnLimits = Limits
DatabasePath = FileName
OnProgress = bool | Progress
Encoding = str | None
Exclude = Sequence[str]
Root = FileName | None
GroupBy = FileName | None
def character(text: str) -> str: ...
AnyReader = Any
WorkerCount = int | None
OnFailure = Callable[[Failure], None] | None
SampleSeed = int
Timeout = float
IndexThreshold = float | None
IndexRecall = float | None

class ShapeOptions(Options):
    threshold: IndexThreshold = None
    recall: IndexRecall = None
    bands: int | None = None
    rows: int | None = None
    construction: str | None = None
    passages: int | None = None

class ShingleOptions(Options):
    shingle: str | None = None
    ignoring: Literal['numbers', 'marks'] | None = None
    seed: int | Literal['random'] | None = None
BaseTexts = Mapping[str, str] | None

class PurposeOptions(Options):
    purpose: Literal['short-text', 'records', 'documents', 'scans', 'programs', 'baskets'] | None = None

class SettingsOptions(Options):
    shape: ShapeOptions
    shingles: ShingleOptions
    kind: PurposeOptions
    reworded: bool | None
    permutations: int | None
    sketch: str | None
    content: bool | None
    base: BaseTexts
    @overload
    def __init__(
        self,
        *,
        threshold: IndexThreshold = None,
        recall: IndexRecall = None,
        bands: int | None = None,
        rows: int | None = None,
        construction: str | None = None,
        passages: int | None = None,
        shingle: str | None = None,
        ignoring: Literal['numbers', 'marks'] | None = None,
        seed: int | Literal['random'] | None = None,
        purpose: Literal['short-text', 'records', 'documents', 'scans', 'programs', 'baskets'] | None = None,
        reworded: bool | None = None,
        permutations: int | None = None,
        sketch: str | None = None,
        content: bool | None = None,
        base: BaseTexts = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        shape: ShapeOptions = ...,
        shingles: ShingleOptions = ...,
        kind: PurposeOptions = ...,
        reworded: bool | None = None,
        permutations: int | None = None,
        sketch: str | None = None,
        content: bool | None = None,
        base: BaseTexts = None,
    ) -> None: ...

class OpenOptions(Options):
    settings: SettingsOptions
    path: DatabasePath
    mode: Mode
    timeout: Timeout
    limits: OwnLimits
    check_settings: bool
    root: Root
    @overload
    def __init__(
        self,
        path: DatabasePath = 'lsh.db',
        *,
        threshold: IndexThreshold = None,
        recall: IndexRecall = None,
        bands: int | None = None,
        rows: int | None = None,
        construction: str | None = None,
        passages: int | None = None,
        shingle: str | None = None,
        ignoring: Literal['numbers', 'marks'] | None = None,
        seed: int | Literal['random'] | None = None,
        purpose: Literal['short-text', 'records', 'documents', 'scans', 'programs', 'baskets'] | None = None,
        reworded: bool | None = None,
        permutations: int | None = None,
        sketch: str | None = None,
        content: bool | None = None,
        base: BaseTexts = None,
        mode: Mode = 'create',
        timeout: Timeout = TIMEOUT,
        limits: OwnLimits = DEFAULTS,
        check_settings: bool = False,
        root: Root = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        path: DatabasePath = 'lsh.db',
        *,
        settings: SettingsOptions = ...,
        mode: Mode = 'create',
        timeout: Timeout = TIMEOUT,
        limits: OwnLimits = DEFAULTS,
        check_settings: bool = False,
        root: Root = None,
    ) -> None: ...

class ReindexOptions(Options):
    shape: ShapeOptions
    reworded: bool | Literal['on', 'off'] | None
    base: BaseTexts
    progress: OnProgress
    @overload
    def __init__(
        self,
        *,
        threshold: IndexThreshold = None,
        recall: IndexRecall = None,
        bands: int | None = None,
        rows: int | None = None,
        construction: str | None = None,
        passages: int | None = None,
        reworded: bool | Literal['on', 'off'] | None = None,
        base: BaseTexts = None,
        progress: OnProgress = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        shape: ShapeOptions = ...,
        reworded: bool | Literal['on', 'off'] | None = None,
        base: BaseTexts = None,
        progress: OnProgress = False,
    ) -> None: ...

class WalkingOptions(Options):
    exclude: Exclude = ()
    include: Sequence[str] = ()
    hidden: bool = False
    follow: bool = False
    ignore: bool = True
    tracked: bool = False
    max_filesize: int | None = None

class FilesOptions(Options):
    walk: WalkingOptions
    archives: bool
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
        archives: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        walk: WalkingOptions = ...,
        archives: bool = False,
    ) -> None: ...
KeyField = str
TextField = str

class FieldOptions(Options):
    key_field: KeyField = 'id'
    text_field: TextField = 'text'
    set_field: str = 'set'

class DocumentOptions(Options):
    documents: bool = True
    extract_timeout: float = 60.0
    quotes: bool = True
    convert: Sequence[str] = ()

class TextOptions(Options):
    extraction: DocumentOptions
    encoding: Encoding
    strict: bool
    @overload
    def __init__(
        self,
        *,
        documents: bool = True,
        extract_timeout: float = 60.0,
        quotes: bool = True,
        convert: Sequence[str] = (),
        encoding: Encoding = None,
        strict: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        extraction: DocumentOptions = ...,
        encoding: Encoding = None,
        strict: bool = False,
    ) -> None: ...

class TableOptions(Options):
    format: Format = 'auto'
    delimiter: str | None = None
    escape: str | None = None
    quoting: Literal['csv', 'none'] | None = None

class LongTableOptions(Options):
    set_key: str | None = None
    set_item: str | None = None

class QueriesOptions(Options):
    sets: LongTableOptions
    texts: TextOptions
    names: FieldOptions
    table: TableOptions
    @overload
    def __init__(
        self,
        *,
        set_key: str | None = None,
        set_item: str | None = None,
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
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        sets: LongTableOptions = ...,
        texts: TextOptions = ...,
        names: FieldOptions = ...,
        table: TableOptions = ...,
    ) -> None: ...

class ReadingOptions(Options):
    texts: TextOptions
    names: FieldOptions
    table: TableOptions
    auto_key: bool
    metadata: bool
    metadata_fields: Sequence[str]
    @overload
    def __init__(
        self,
        *,
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
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        texts: TextOptions = ...,
        names: FieldOptions = ...,
        table: TableOptions = ...,
        auto_key: bool = False,
        metadata: bool = True,
        metadata_fields: Sequence[str] = (),
    ) -> None: ...

class WritingOptions(Options):
    workers: WorkerCount = None
    on_batch: Callable[[AddReport], None] | None = None
    progress: OnProgress = False

class AddManyOptions(Options):
    write: WritingOptions
    on_similar: Literal['keep', 'skip']
    on_skip: Callable[[Any], None] | None
    on_conflict: OnConflict
    @overload
    def __init__(
        self,
        *,
        workers: WorkerCount = None,
        on_batch: Callable[[AddReport], None] | None = None,
        progress: OnProgress = False,
        on_similar: Literal['keep', 'skip'] = 'keep',
        on_skip: Callable[[Any], None] | None = None,
        on_conflict: OnConflict = 'replace',
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        write: WritingOptions = ...,
        on_similar: Literal['keep', 'skip'] = 'keep',
        on_skip: Callable[[Any], None] | None = None,
        on_conflict: OnConflict = 'replace',
    ) -> None: ...

class AddFilesOptions(Options):
    sets: LongTableOptions
    files: FilesOptions
    read: ReadingOptions
    add: AddManyOptions
    root: Root
    reader: AnyReader
    on_failure: OnFailure
    @overload
    def __init__(
        self,
        *,
        set_key: str | None = None,
        set_item: str | None = None,
        exclude: Exclude = (),
        include: Sequence[str] = (),
        hidden: bool = False,
        follow: bool = False,
        ignore: bool = True,
        tracked: bool = False,
        max_filesize: int | None = None,
        archives: bool = False,
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
        workers: WorkerCount = None,
        on_batch: Callable[[AddReport], None] | None = None,
        progress: OnProgress = False,
        on_similar: Literal['keep', 'skip'] = 'keep',
        on_skip: Callable[[Any], None] | None = None,
        on_conflict: OnConflict = 'replace',
        root: Root = None,
        reader: AnyReader = None,
        on_failure: OnFailure = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        sets: LongTableOptions = ...,
        files: FilesOptions = ...,
        read: ReadingOptions = ...,
        add: AddManyOptions = ...,
        root: Root = None,
        reader: AnyReader = None,
        on_failure: OnFailure = None,
    ) -> None: ...

class ConditionOptions(Options):
    where: str | None = None
    parameters: WhereParameters = ()
def check_numbers_compared(options: Any) -> None: ...

class SimilarOptions(Options):
    condition: ConditionOptions
    top: Top
    threshold: Threshold
    estimate: Estimate
    distinguish: Distinguish
    fields: FieldNames
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        top: Top = None,
        threshold: Threshold = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        fields: FieldNames = (),
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        condition: ConditionOptions = ...,
        top: Top = None,
        threshold: Threshold = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        fields: FieldNames = (),
    ) -> None: ...

class WeightedOptions(Options):
    sort: Literal['weighted', 'weighted_share'] | None = None
    min_weighted: float | None = None

class RankingOptions(Options):
    similar: SimilarOptions
    weighted: WeightedOptions
    exhaustive: bool
    containment: bool
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        top: Top = None,
        threshold: Threshold = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        fields: FieldNames = (),
        sort: Literal['weighted', 'weighted_share'] | None = None,
        min_weighted: float | None = None,
        exhaustive: bool = False,
        containment: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        similar: SimilarOptions = ...,
        weighted: WeightedOptions = ...,
        exhaustive: bool = False,
        containment: bool = False,
    ) -> None: ...

class QueryOptions(Options):
    ranking: RankingOptions
    content: Content | None
    key: StoredKey
    @overload
    def __init__(
        self,
        content: Content | None = None,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        top: Top = None,
        threshold: Threshold = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        fields: FieldNames = (),
        sort: Literal['weighted', 'weighted_share'] | None = None,
        min_weighted: float | None = None,
        exhaustive: bool = False,
        containment: bool = False,
        key: StoredKey = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        content: Content | None = None,
        *,
        ranking: RankingOptions = ...,
        key: StoredKey = None,
    ) -> None: ...

class QueryManyOptions(Options):
    ranking: RankingOptions
    workers: WorkerCount
    progress: OnProgress
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        top: Top = None,
        threshold: Threshold = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        fields: FieldNames = (),
        sort: Literal['weighted', 'weighted_share'] | None = None,
        min_weighted: float | None = None,
        exhaustive: bool = False,
        containment: bool = False,
        workers: WorkerCount = None,
        progress: OnProgress = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        ranking: RankingOptions = ...,
        workers: WorkerCount = None,
        progress: OnProgress = False,
    ) -> None: ...

class JoinOptions(Options):
    similar: SimilarOptions
    group_by: GroupBy
    key: StoredKey
    ignore_decisions: bool
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        top: Top = None,
        threshold: Threshold = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        fields: FieldNames = (),
        group_by: GroupBy = None,
        key: StoredKey = None,
        ignore_decisions: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        similar: SimilarOptions = ...,
        group_by: GroupBy = None,
        key: StoredKey = None,
        ignore_decisions: bool = False,
    ) -> None: ...

class PairsOptions(Options):
    join: JoinOptions
    weighted: WeightedOptions
    max_similarity: float | None
    sample: int | None
    seed: int | None
    def check_range(self, threshold: float) -> None: ...
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        top: Top = None,
        threshold: Threshold = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        fields: FieldNames = (),
        group_by: GroupBy = None,
        key: StoredKey = None,
        ignore_decisions: bool = False,
        sort: Literal['weighted', 'weighted_share'] | None = None,
        min_weighted: float | None = None,
        max_similarity: float | None = None,
        sample: int | None = None,
        seed: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        join: JoinOptions = ...,
        weighted: WeightedOptions = ...,
        max_similarity: float | None = None,
        sample: int | None = None,
        seed: int | None = None,
    ) -> None: ...

class RemovalOptions(Options):
    condition: ConditionOptions
    missing_ok: bool
    decided: bool
    dry_run: bool
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        missing_ok: bool = False,
        decided: bool = False,
        dry_run: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        condition: ConditionOptions = ...,
        missing_ok: bool = False,
        decided: bool = False,
        dry_run: bool = False,
    ) -> None: ...

class RemoveOptions(Options):
    removal: RemovalOptions
    keys: Any
    @overload
    def __init__(
        self,
        keys: Any = None,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        missing_ok: bool = False,
        decided: bool = False,
        dry_run: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        keys: Any = None,
        *,
        removal: RemovalOptions = ...,
    ) -> None: ...

class OrderOptions(Options):
    keep: KeepOrder = 'first'
    keep_max: str | None = None
    keep_min: str | None = None
    unordered: Literal['stop', 'last'] = 'stop'
    keep_in: str | None = None
    @property
    def field(self) -> str: ...
    @property
    def ordered(self) -> bool: ...

class StarOptions(Options):
    order: OrderOptions
    star: bool
    @overload
    def __init__(
        self,
        *,
        keep: KeepOrder = 'first',
        keep_max: str | None = None,
        keep_min: str | None = None,
        unordered: Literal['stop', 'last'] = 'stop',
        keep_in: str | None = None,
        star: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        order: OrderOptions = ...,
        star: bool = False,
    ) -> None: ...

class ClustersOptions(Options):
    join: JoinOptions
    clusters: StarOptions
    min_size: int | None
    max_size: int | None
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        top: Top = None,
        threshold: Threshold = None,
        estimate: Estimate = False,
        distinguish: Distinguish = None,
        fields: FieldNames = (),
        group_by: GroupBy = None,
        key: StoredKey = None,
        ignore_decisions: bool = False,
        keep: KeepOrder = 'first',
        keep_max: str | None = None,
        keep_min: str | None = None,
        unordered: Literal['stop', 'last'] = 'stop',
        keep_in: str | None = None,
        star: bool = False,
        min_size: int | None = None,
        max_size: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        join: JoinOptions = ...,
        clusters: StarOptions = ...,
        min_size: int | None = None,
        max_size: int | None = None,
    ) -> None: ...

class TuneOptions(Options):
    threshold: float | None = None
    recall: float | None = None
    permutations: int | None = None
    documents: int | None = None
    construction: str | None = None
    seed: SampleSeed = 1

class RepairOptions(Options):
    deep: bool = False
    repair: bool = False
    progress: OnProgress = False

class CheckOptions(Options):
    repairs: RepairOptions
    path: DatabasePath
    timeout: Timeout
    @overload
    def __init__(
        self,
        path: DatabasePath = 'lsh.db',
        *,
        deep: bool = False,
        repair: bool = False,
        progress: OnProgress = False,
        timeout: Timeout = TIMEOUT,
    ) -> None: ...
    @overload
    def __init__(
        self,
        path: DatabasePath = 'lsh.db',
        *,
        repairs: RepairOptions = ...,
        timeout: Timeout = TIMEOUT,
    ) -> None: ...

class BackupOptions(Options):
    replace: bool = False
    progress: OnProgress = False
