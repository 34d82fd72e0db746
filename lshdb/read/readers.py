"""The door for apps that read files which the core does not: documents, spreadsheets and archives.

`lshdb.offers.READERS` names a class for each of the two; a session makes one of each, with its
options, and sessions that are like it use the same. What the core knows without them is in
`kinds`: where an app is missing, its files are named as what they are, and not read.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from lshdb import offers
from lshdb.errors import install
from lshdb.read import inputs, kinds
from lshdb.read.batch import Batch
from lshdb.read.counts import ReadCounts
from lshdb.read.files import File

_APP = "documents"
MISSING = f"belongs to the app {_APP!r}, which is not installed"


class Reader(Protocol):
    """Reads documents such as PDF and mail, and the rows of spreadsheets.

    Made by `READER(options)` of session.SessionOptions; UsageError for options that are invalid.
    All is called in the process and thread that reads, before documents are signed, outside of any
    transaction, for one file after the other. A reader writes nothing: what the rows of its files
    are written to are the formats of the core.
    """

    def kind_of(self, path: str, start: bytes = b"") -> str | None:
        """How a file is read, by its name and up to `kinds.PROBE` first bytes; None for a text.

        It is called for each regular file that is not one of rows.

        Raises:
            inputs.Skipped: it is not read, with the reason.
        """

    def read(
        self, source: inputs.Input, file: File, kind: str, counts: ReadCounts
    ) -> Iterator[Batch]:
        """The documents of an open file of a kind from `kind_of`.

        A file that is one document has its own key; of several each has `KEY#NAME` (see
        paths.file_of_message), and those that cannot be read are failures of a batch. A batch has
        the state of the file, with a digest of bytes that were read.

        Raises:
            InputError: there are no documents, or no more, with the reason.
        """

    def rows(self, source: inputs.Input, file: File, counts: ReadCounts) -> Iterator[bytes]:
        """The rows of the sheet `file.sheet`, or of the first one, as lines of JSON.

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
