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
from lshdb.apps.review.options import GroupingOptions
from lshdb.groups import Option, Options
from lshdb.options import GroupBy, PurposeOptions

class ReportOptions(Options):
    old: Sequence[str] | None
    submissions: PurposeOptions
    pairs: int
    title: str | None
    grouping: GroupingOptions
    group_by: GroupBy
    anonymous: bool
    @overload
    def __init__(
        self,
        *,
        old: Sequence[str] | None = None,
        purpose: Literal['short-text', 'records', 'documents', 'scans', 'programs', 'baskets'] | None = None,
        pairs: int = 50,
        title: str | None = None,
        where: str | None = None,
        parameters: WhereParameters = (),
        threshold: Threshold = None,
        keep: KeepOrder = 'first',
        keep_max: str | None = None,
        keep_min: str | None = None,
        unordered: Literal['stop', 'last'] = 'stop',
        keep_in: str | None = None,
        star: bool = False,
        group_by: GroupBy = None,
        anonymous: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        old: Sequence[str] | None = None,
        submissions: PurposeOptions = ...,
        pairs: int = 50,
        title: str | None = None,
        grouping: GroupingOptions = ...,
        group_by: GroupBy = None,
        anonymous: bool = False,
    ) -> None: ...
