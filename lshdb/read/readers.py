"""The door for what reads files: modules of this room for rows, and apps for documents.

`lshdb.read.kinds.KINDS` says what reads a kind. Where an app is missing, its files are named as
what they are, and not read. Archives are directories of files: see `lshdb.read.files.Archives`.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from lshdb import offers
from lshdb.errors import install
from lshdb.read import inputs, kinds
from lshdb.read.batch import Batch

_APP = "documents"
MISSING = f"belongs to the app {_APP!r}, which is not installed"


class Reader(Protocol):
    """Reads files of some kinds.

    All is called in the process and thread that reads, before documents are signed, outside of any
    transaction, for one file after the other. What also writes rows is a `formats.RowFormat`.
    """

    def read(self, source: inputs.Input, kind: str) -> Iterator[Batch]:
        """The documents of an open file of a kind in `lshdb.read.kinds.KINDS`.

        A file that is one document has its own key; of several each has `KEY#NAME` (see
        paths.file_of_message) or, of rows, what they say, and those that cannot be read are
        failures of a batch. A batch of a file that is a document has its state, with a digest of
        bytes that were read.

        Raises:
            InputError: there are no documents, or no more, with the reason.
        """


class DocumentReader(Reader, Protocol):
    """Reads documents such as PDF and mail, and the rows of spreadsheets.

    `lshdb.offers.READERS` names a class, which is made of session.SessionOptions: UsageError for
    options that are invalid. A session makes one, and sessions that are like it use the same.
    """

    def kind_of(self, path: str, start: bytes = b"") -> str | None:
        """How a file is read, by its name and up to `kinds.PROBE` first bytes; None for a text.

        It is called for each regular file that is not one of rows.

        Raises:
            inputs.Skipped: it is not read, with the reason.
        """

    def rows(self, source: inputs.Input) -> Iterator[bytes]:
        """The rows of the sheet `source.file.sheet`, or of the first one, as lines of JSON.

        Raises:
            InputError: there are none, with the reason.
        """

    @staticmethod
    def lacks_library(kind: str) -> bool:
        """Whether the library that reads a kind is not installed."""


def made(name: str, options: object) -> Any:
    """A reader, see `offers.READERS`; None if its app is missing."""
    app = offers.app_of(offers.READERS[name])
    return offers.offered(offers.READERS, name)(options) if offers.is_there(app) else None


def why_unread(kind: str) -> str:
    """Why files of a kind are not read here, as their app or a library is missing; else empty."""
    name = kinds.KINDS[kind].name
    if not offers.is_there(_APP):
        return f"{name}: {MISSING}"
    lacks = offers.offered(offers.READERS, "documents").lacks_library(kind)
    return f"{name}: needs {install('documents')}" if lacks else ""
