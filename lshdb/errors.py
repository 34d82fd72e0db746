"""The exception tree. Every message is one line that says what is wrong and what to do.

LshdbError
|-- UsageError          a call that makes no sense; the command line exits with 2
|   `-- SettingsError   impossible settings, or settings that no index can meet
|-- SettingsMismatch    the file exists and has other settings than those asked for
|-- ContentError        a document that this database cannot take
|-- InputError          a file or a line that cannot be read as documents
|-- KeyNotFound         no document has this key
`-- StoreError          the database file cannot be used
|-- NotADatabase    no lshdb file: another program's, or no SQLite file at all
|-- NewerFormat     written by a newer lshdb
|-- DamagedFile     SQLite or lshdb found it broken
|-- UnsafeFile      it holds code of its own, such as triggers, that would be run
|-- Busy            another process kept it locked for longer than the timeout
|-- ReadOnly        opened or mounted read-only
`-- QueryError      SQL that is wrong, or that may not run here
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


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


class StoreError(LshdbError):
    """The database file cannot be used."""


class NotADatabase(StoreError):
    """No lshdb file: another program's database, or no SQLite file at all."""


class NewerFormat(StoreError):
    """The file was written by a newer lshdb."""


class DamagedFile(StoreError):
    """SQLite or lshdb found the file broken."""


class UnsafeFile(StoreError):
    """The file holds code of its own, such as triggers, where lshdb would run it."""


class Busy(StoreError):
    """Another process kept the file locked for longer than the timeout."""


class ReadOnly(StoreError):
    """The file is opened or mounted read-only."""


class QueryError(StoreError):
    """SQL that is wrong, or that may not run here."""


class LimitWarning(UserWarning):
    """A result is not complete because a limit cut it; the text says what was cut."""


_limits: ContextVar[list[str] | None] = ContextVar("limits", default=None)


def warn_of_limit(text: str, stacklevel: int) -> None:
    """Warn with a LimitWarning, or note its text where `limits_noted` collects them.

    Args:
        text: what was cut.
        stacklevel: as for warnings.warn: 1 for the caller, 2 for its caller, and so on.
    """
    noted = _limits.get()
    if noted is None:
        warnings.warn(text, LimitWarning, stacklevel=stacklevel + 1)
    elif text not in noted:
        noted.append(text)


@contextmanager
def limits_noted() -> Iterator[list[str]]:
    """Collect the texts of this thread's LimitWarnings, each once, instead of warning.

    warnings.catch_warnings would take those of all threads.
    """
    noted: list[str] = []
    token = _limits.set(noted)
    try:
        yield noted
    finally:
        _limits.reset(token)
