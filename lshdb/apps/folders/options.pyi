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
from lshdb.groups import Option, Options, uncommon
from lshdb.options import AnyReader, FileName, FilesOptions, OnFailure, TextOptions, WritingOptions

class SyncOptions(Options):
    files: FilesOptions
    texts: TextOptions
    write: WritingOptions
    reader: AnyReader
    dry_run: bool
    extract_again: bool
    read_all: bool
    moved_from: Sequence[str]
    remove_most: bool
    root: FileName | None
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
        archives: bool = False,
        documents: bool = True,
        extract_timeout: float = 60.0,
        quotes: bool = True,
        convert: Sequence[str] = (),
        encoding: Encoding = None,
        strict: bool = False,
        workers: WorkerCount = None,
        on_batch: Callable[[AddReport], None] | None = None,
        progress: OnProgress = False,
        reader: AnyReader = None,
        dry_run: bool = False,
        extract_again: bool = False,
        read_all: bool = False,
        moved_from: Sequence[str] = (),
        remove_most: bool = False,
        root: FileName | None = None,
        on_failure: OnFailure = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        files: FilesOptions = ...,
        texts: TextOptions = ...,
        write: WritingOptions = ...,
        reader: AnyReader = None,
        dry_run: bool = False,
        extract_again: bool = False,
        read_all: bool = False,
        moved_from: Sequence[str] = (),
        remove_most: bool = False,
        root: FileName | None = None,
        on_failure: OnFailure = None,
    ) -> None: ...
