"""The proof before a file is deleted: it is read now, and so is the file that stays for it.

Keys, sizes and times say nothing of what is in a file. So whatever lists or moves files to delete
asks here: the file and the one that stays are there, are two files, and their bytes have the
digests that were stored when they were read. Where no digest is stored, the file is read as a
document again, and its text has the digest of the document.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lshdb.errors import InputError
from lshdb.options import TextOptions
from lshdb.read.counts import reason
from lshdb.read.files import File, identity_of
from lshdb.read.paths import file_of_key, is_in_bin, path_of_key
from lshdb.read.session import Session, session_of
from lshdb.text import content

if TYPE_CHECKING:
    from lshdb.store.lookups import StoredFile
    from lshdb.store.store import Store

_STAYS = "another file goes because this one stays: do this again when that one is gone"
CHANGED = "it has changed since it was read"


class Compared(NamedTuple):
    """A document as it was when it was compared.

    Attributes:
        key: of the document.
        root: the real path of the directory that the key is relative to.
        digest: of its content; empty if it is not known.
        file_digest: of the bytes of its file; None if it is not known.
    """

    key: str
    root: str
    digest: bytes = b""
    file_digest: bytes | None = None


def compared(file: StoredFile, root: str) -> Compared:
    """A stored document, for the proof."""
    return Compared(file.key, root, file.digest, file.file_digest)


class UnprovedError(InputError):
    """Why a file is not to be deleted."""


@dataclass(frozen=True)
class ProvedFile:
    """A file that can be deleted.

    Attributes:
        document: that goes.
        path: of the file.
        status: of the file, before it was read.
        stays: the document that stays; None if none was asked for.
        stays_path: the file that has it.
    """

    document: Compared
    path: str
    status: os.stat_result
    stays: Compared | None = None
    stays_path: str = ""

    @property
    def key(self) -> str:
        """The key of its document."""
        return self.document.key


@dataclass(frozen=True)
class LeftFile:
    """A dropped document whose file does not go.

    Attributes:
        key: of the document.
        reason: why.
        has_failed: whether a user should look at it: not if there is no file of its own, or if it
            is one file with what stays.
        has_no_copy: whether it is as it was, and only lacks what stays for it.
    """

    key: str
    reason: str
    has_failed: bool = True
    has_no_copy: bool = False


def path_of(document: Compared) -> str | None:
    """The path of the file that a document is the whole of; None if there is none."""
    path = path_of_key(document.key, document.root)
    try:
        return path if stat.S_ISREG(os.stat(path).st_mode) else None
    except PermissionError:  # it may be there: reading it says why it cannot be
        return path
    except (OSError, ValueError):
        return None


def stays_not(document: Compared, error: UnprovedError) -> str:
    """Why a document does not stay for another."""
    return f"{document.key} does not stay for it: {error}"


class Proof:
    """Says which files can be deleted: none that stays for another one is among them.

    Args:
        session: reads files as documents, whose bytes have no stored digest.
        bins: further directories whose files do not stay.
    """

    def __init__(self, session: Session, bins: Iterable[str] = ()) -> None:
        self._session = session
        self._bins = tuple(os.path.join(os.path.realpath(path), "") for path in bins)
        self._staying = set[object]()
        self._going = set[object]()
        self._read: dict[Compared, File] = {}

    def check(self, goes: Compared, stays: Iterable[Compared] | None) -> ProvedFile | LeftFile:
        """The file of a document that goes, if one of those that may stay does; else the reason.

        Args:
            goes: a document that is a whole file.
            stays: documents that may stay for it, the best first; None if nothing has to stay.
        """
        path = path_of(goes)
        if path is None:
            reason = "no file of its own: gone, or a row or message in a file"
            return LeftFile(goes.key, reason, has_failed=False)
        try:
            status, going = _found(self.reread(goes, path))
        except UnprovedError as error:
            return LeftFile(goes.key, str(error))
        if stays is None:
            if going in self._staying:
                return LeftFile(goes.key, _STAYS)
            self._going.add(going)
            return ProvedFile(goes, path, status)
        why = ""
        for document in stays:
            try:
                if document not in self._read:
                    self._read[document] = self.read_now(document)
                file = self._read[document]
                _, staying = _found(file)
                if staying == going:
                    reason = f"already one file with {document.key}"
                    return LeftFile(goes.key, reason, has_failed=False)
                if going in self._staying:
                    return LeftFile(goes.key, _STAYS)
                if staying in self._going:
                    raise UnprovedError("it goes, too")
                real = os.path.realpath(file.place)
                if is_in_bin(real) or real.startswith(self._bins):
                    raise UnprovedError("it is in a recycle bin")
            except UnprovedError as error:
                why = why or stays_not(document, error)
                continue
            self._going.add(going)
            self._staying.add(staying)
            return ProvedFile(goes, path, status, document, file.place)
        reason = why or "no other file holds a kept copy of it"
        return LeftFile(goes.key, reason, has_no_copy=True)

    def read_now(self, document: Compared) -> File:
        """The file that has a document, which may be a member or a message in it, read.

        Raises:
            UnprovedError: it is gone, or has changed.
        """
        path = path_of(document) or path_of_key(file_of_key(document.key), document.root)
        return self.reread(document, path)

    def reread(self, document: Compared, path: str) -> File:
        """Read a file, or a member of an archive, as it is now.

        Raises:
            UnprovedError: it is gone, or has changed since the document was compared.
        """
        file = self._session.resolved(path)
        if isinstance(file.fault, PermissionError):
            raise UnprovedError(reason(file.fault))
        if not os.path.isfile(file.place):
            raise UnprovedError("no file of it is there")
        try:
            if document.file_digest is None:
                is_same = self._has_text(document, path)
            else:
                is_same = self._session.read_digest(file) == document.file_digest
        except (InputError, OSError) as error:
            raise UnprovedError(reason(error)) from error
        if not is_same:
            raise UnprovedError(CHANGED)
        return file

    def _has_text(self, document: Compared, path: str) -> bool:
        """Whether a file has the text of a document."""
        name = document.key if path_of(document) else file_of_key(document.key)
        session = self._session.apart()
        return any(
            content.digest(content.encoded(text).encode()) == document.digest
            for batch in session.file(session.resolved(path, name))
            for key, text in zip(batch.keys, batch.contents, strict=True)
            if key == document.key
        )


def _found(file: File) -> tuple[os.stat_result, object]:
    """The status of a file that was read, and what all its names share."""
    assert file.status is not None
    return file.status, identity_of(file.status, file.place)


def proof_of(store: Store, bins: Iterable[str] = ()) -> Proof:
    """The proof for files of stored documents, none of which stays if it is below a bin."""
    session = session_of(
        TextOptions(),
        store.settings.shingling,
        root=store.root,
        format="text",
        stored_guess=store.extracted_of,
    )
    return Proof(session, bins)
