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
from typing import Annotated
from lshdb.errors import TIMEOUT
from lshdb.groups import Options, argument
from lshdb.options import DatabasePath, FileName, OnProgress, Timeout

class RestoreOptions(Options):
    backup: FileName = field(kw_only=False)
    path: DatabasePath = field(default='lsh.db', kw_only=False)
    timeout: Timeout = TIMEOUT
    progress: OnProgress = False
