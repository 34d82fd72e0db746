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
from typing import Annotated
from lshdb.groups import Options, argument
from lshdb.options import AddManyOptions, LongTableOptions, OnFailure

class ColumnOptions(Options):
    key: str = 'id'
    text: str | None = None
    set: str | None = None

class AddTableOptions(Options):
    sets: LongTableOptions
    columns: ColumnOptions
    add: AddManyOptions
    metadata: bool
    metadata_fields: Sequence[str]
    on_failure: OnFailure
    @overload
    def __init__(
        self,
        *,
        set_key: str | None = None,
        set_item: str | None = None,
        key: str = 'id',
        text: str | None = None,
        set: str | None = None,
        workers: WorkerCount = None,
        on_batch: Callable[[AddReport], None] | None = None,
        progress: OnProgress = False,
        on_similar: Literal['keep', 'skip'] = 'keep',
        on_skip: Callable[[Any], None] | None = None,
        on_conflict: OnConflict = 'replace',
        metadata: bool = True,
        metadata_fields: Sequence[str] = (),
        on_failure: OnFailure = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        sets: LongTableOptions = ...,
        columns: ColumnOptions = ...,
        add: AddManyOptions = ...,
        metadata: bool = True,
        metadata_fields: Sequence[str] = (),
        on_failure: OnFailure = None,
    ) -> None: ...
