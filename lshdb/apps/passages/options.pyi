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
from dataclasses import field
from typing import Annotated
from lshdb.errors import UsageError
from lshdb.groups import Option, Options, argument, uncommon
from lshdb.options import INPUT, GroupBy, KeyField, OnProgress, StoredKey, TextField, Top, WeightedOptions
Base = Sequence[str] | None

class CommonOptions(Options):
    gap: int = 0
    common: int = 100

class CopiedOptions(Options):
    runs: CommonOptions
    min_words: int | None
    base: Sequence[str]
    @overload
    def __init__(
        self,
        *,
        gap: int = 0,
        common: int = 100,
        min_words: int | None = None,
        base: Sequence[str] = (),
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        runs: CommonOptions = ...,
        min_words: int | None = None,
        base: Sequence[str] = (),
    ) -> None: ...

class PassagePairsOptions(Options):
    copied: CopiedOptions
    group_by: GroupBy
    top: Top
    weighted: WeightedOptions
    reworded: bool
    min_score: float | None
    progress: OnProgress
    @overload
    def __init__(
        self,
        *,
        gap: int = 0,
        common: int = 100,
        min_words: int | None = None,
        base: Sequence[str] = (),
        group_by: GroupBy = None,
        top: Top = None,
        sort: Literal['weighted', 'weighted_share'] | None = None,
        min_weighted: float | None = None,
        reworded: bool = False,
        min_score: float | None = None,
        progress: OnProgress = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        copied: CopiedOptions = ...,
        group_by: GroupBy = None,
        top: Top = None,
        weighted: WeightedOptions = ...,
        reworded: bool = False,
        min_score: float | None = None,
        progress: OnProgress = False,
    ) -> None: ...

class PassagesOptions(Options):
    search: PassagePairsOptions
    text: str | None
    key: StoredKey
    @overload
    def __init__(
        self,
        text: str | None = None,
        *,
        gap: int = 0,
        common: int = 100,
        min_words: int | None = None,
        base: Sequence[str] = (),
        group_by: GroupBy = None,
        top: Top = None,
        sort: Literal['weighted', 'weighted_share'] | None = None,
        min_weighted: float | None = None,
        reworded: bool = False,
        min_score: float | None = None,
        progress: OnProgress = False,
        key: StoredKey = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        text: str | None = None,
        *,
        search: PassagePairsOptions = ...,
        key: StoredKey = None,
    ) -> None: ...

class TextFieldOptions(Options):
    key_field: KeyField = 'id'
    text_field: TextField = 'text'
