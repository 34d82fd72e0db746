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
from lshdb.groups import Options, uncommon
from lshdb.options import ConditionOptions, StarOptions, StoredKey, Threshold
Who = str | None

class GroupingOptions(Options):
    condition: ConditionOptions
    threshold: Threshold
    clusters: StarOptions
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        threshold: Threshold = None,
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
        condition: ConditionOptions = ...,
        threshold: Threshold = None,
        clusters: StarOptions = ...,
    ) -> None: ...

class ClusteringOptions(Options):
    grouping: GroupingOptions
    key: StoredKey
    @overload
    def __init__(
        self,
        *,
        where: str | None = None,
        parameters: WhereParameters = (),
        threshold: Threshold = None,
        keep: KeepOrder = 'first',
        keep_max: str | None = None,
        keep_min: str | None = None,
        unordered: Literal['stop', 'last'] = 'stop',
        keep_in: str | None = None,
        star: bool = False,
        key: StoredKey = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        grouping: GroupingOptions = ...,
        key: StoredKey = None,
    ) -> None: ...
