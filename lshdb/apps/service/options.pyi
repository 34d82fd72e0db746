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
from lshdb.apps.compare.options import DocumentArguments
from lshdb.groups import Options, argument

class ArrivalOptions(Options):
    document: DocumentArguments
    find: int
    skip_similar: bool
    @overload
    def __init__(
        self,
        key: Any,
        content: Content,
        metadata: Mapping[str, object] | None = None,
        *,
        find: int = 5,
        skip_similar: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        document: DocumentArguments,
        find: int = 5,
        skip_similar: bool = False,
    ) -> None: ...
