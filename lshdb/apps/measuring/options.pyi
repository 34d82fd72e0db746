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
from lshdb.groups import Option, Options
from lshdb.options import OnProgress, SampleSeed, Threshold
SampleSize = int | None

class MeasureOptions(Options):
    threshold: Threshold = None
    sample: SampleSize = None
    seed: SampleSeed = 1
    progress: OnProgress = False
