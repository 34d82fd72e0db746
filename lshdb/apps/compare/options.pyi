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
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any
from lshdb.groups import Options, argument
from lshdb.keys import key_argument
from lshdb.text.shingling import Content

class DocumentArguments(Options):
    key: Any = field(kw_only=False)
    content: Content = field(kw_only=False)
    metadata: Mapping[str, object] | None = field(default=None, kw_only=False)

class AdmissionOptions(Options):
    document: DocumentArguments
    threshold: float | None
    top: int
    replace: Any
    force: bool
    @overload
    def __init__(
        self,
        key: Any,
        content: Content,
        metadata: Mapping[str, object] | None = None,
        *,
        threshold: float | None = None,
        top: int = 5,
        replace: Any = None,
        force: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        document: DocumentArguments,
        threshold: float | None = None,
        top: int = 5,
        replace: Any = None,
        force: bool = False,
    ) -> None: ...
