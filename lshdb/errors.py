"""The exception tree. Every message is one line that says what is wrong and what to do.

LshdbError
|-- UsageError          a call that makes no sense; the command line exits with 2
|   `-- SettingsError   impossible settings, or settings that no index can meet
|-- SettingsMismatch    the file exists and has other settings than those asked for
|-- ContentError        a document that this database cannot take
|-- InputError          a file or a line that cannot be read as documents
|-- KeyNotFound         no document has this key
|-- KeyInUse            another document has this key
`-- StoreError          the database file cannot be used
|-- NoDatabase      there is no file to read
|-- NotADatabase    not an lshdb file: another program's, or not SQLite at all
|-- OtherFormat     of a newer lshdb, or of one before the first release
|-- DamagedFile     SQLite or lshdb found damage in it
|-- UnsafeFile      it holds code, such as triggers, that lshdb would run
|-- Busy            another process kept it locked for longer than the timeout
|-- ReadOnly        opened or mounted read-only
`-- QueryError      SQL that is wrong, or that may not run here
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from lshdb.results import Result

TIMEOUT = 30.0
"""Seconds to wait while another process writes; then the error is Busy."""
LONGEST_TIMEOUT = 1_000_000
"""SQLite counts milliseconds in 32 bits."""


def install(extra: str) -> str:
    """How to install an extra, as messages say it: nothing is on PyPI yet."""
    return f"pip install '.[{extra}]' in a clone of lshdb"


class LshdbError(Exception):
    """Everything that lshdb raises on purpose."""


class UsageError(LshdbError, ValueError):
    """A call that makes no sense, whatever the file holds."""


class SettingsError(UsageError):
    """Settings that are impossible, or that no index can meet."""


class SettingsMismatch(LshdbError):
    """The file exists and has other settings than those asked for."""


class ContentError(LshdbError, ValueError):
    """A document that this database cannot take."""


class InputError(LshdbError):
    """A file or a line that cannot be read as documents."""


class KeyNotFound(LshdbError, KeyError):
    """No document has this key."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError's own __str__ would quote the message


class KeyInUse(LshdbError):
    """Another document has this key, and is not to be replaced."""


class StoreError(LshdbError):
    """The database file cannot be used."""


class NoDatabase(StoreError):
    """The database file does not exist."""


class NotADatabase(StoreError):
    """Not an lshdb file: another program's database, or not SQLite at all."""


class OtherFormat(StoreError):
    """The file has a format that this lshdb does not read: that of a newer or a much older one."""


class DamagedFile(StoreError):
    """SQLite or lshdb found damage in the file."""


class UnsafeFile(StoreError):
    """The file holds code, such as triggers, that lshdb would run."""


class Busy(StoreError):
    """Another process kept the file locked for longer than the timeout."""


class ReadOnly(StoreError):
    """The file is opened or mounted read-only."""


class QueryError(StoreError):
    """SQL that is wrong, or that may not run here."""


@dataclass(frozen=True, slots=True)
class Cut(Result):
    """The part of a result that a limit left out; its `str` is a sentence about it.

    Attributes:
        what: the operation that has the limit, such as `query` or `clusters`.
        count: how many buckets, documents or characters were left out or read in part.
        text: the sentence.
    """

    what: str
    count: int
    text: str

    def __str__(self) -> str:
        return self.text


class SettingsWarning(UserWarning):
    """A file's index has other settings than those given: the file's own are used."""


class LimitWarning(UserWarning):
    """A result is not complete because a limit cut it; `cut` says what was left out."""

    @property
    def cut(self) -> Cut:
        """What was left out."""
        cut: Cut = self.args[0]
        return cut


class IgnoreWarning(UserWarning):
    """Ignore files are read without git, which refuses, or one has a line that is no pattern."""


class ColumnWarning(UserWarning):
    """Values of a column are ranked last, or written as texts: the format holds no such values."""


class FailureWarning(UserWarning):
    """Rows or files gave no document, and are left out: the result's `failures` name them."""


_taking: ContextVar[Callable[[Cut], object] | None] = ContextVar("taking", default=None)


def warn_of_limit(cut: Cut, category: type[UserWarning] = LimitWarning) -> None:
    """Issue a warning for the line that called lshdb, or pass what it says to `limits_to`."""
    take = _taking.get()
    if take is not None:
        take(cut)
        return
    warn(category(cut))


def warn(warning: Warning) -> None:
    """Issue a warning for the line that called lshdb."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("lshdb."):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


@contextmanager
def limits_to(take: Callable[[Cut], object]) -> Iterator[None]:
    """Pass the cuts of limits in this thread to a function, instead of warning.

    warnings.catch_warnings would take the warnings of all threads.
    """
    token = _taking.set(take)
    try:
        yield
    finally:
        _taking.reset(token)


@contextmanager
def limits_noted() -> Iterator[list[Cut]]:
    """Collect the cuts of limits in this thread, each once, instead of warning."""
    noted: list[Cut] = []

    def note(cut: Cut) -> None:
        if cut not in noted:
            noted.append(cut)

    with limits_to(note):
        yield noted
