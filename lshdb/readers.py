"""Readers: paths, standard input and JSON lines become documents, a stream of them.

What cannot be read becomes a Failure in the stream, so that one bad line costs one line.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, Literal, TypeAlias

from lshdb.content import LARGEST, without_surrogates
from lshdb.errors import InputError
from lshdb.model import Content, Document

Format: TypeAlias = Literal["auto", "text", "jsonl"]

STDIN: Final = "-"

_JSONL_SUFFIXES: Final = (".jsonl", ".ndjson")
_BINARY_PROBE: Final = 8192
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Failure:
    """A file or line that gave no document: where it is, and why."""

    where: str
    reason: str


@dataclass(slots=True)
class Reader:
    """Reads documents from paths and streams, and counts what it passed over.

    Attributes:
        of_sets: whether documents are sets (else texts).
        format: `auto` goes by suffix (and, for standard input, by the first character).
        key_field, text_field, set_field: names in a JSON line.
        strict: refuse what is not UTF-8, instead of replacing the bad bytes by U+FFFD.
        auto_key: name a JSON line without a key FILE:LINE, instead of refusing it.
        stdin: where `-` is read from.
        stdin_key: the key of a text on standard input.
        hidden, binary, special: files in directories passed over (by name; for NUL bytes;
            symbolic links, sockets, devices).
        replaced: documents with bytes or code units that are not Unicode, replaced by U+FFFD.
        bytes_read: of all input so far.
    """

    of_sets: bool
    format: Format = "auto"
    key_field: str = "id"
    text_field: str = "text"
    set_field: str = "set"
    strict: bool = False
    auto_key: bool = False
    stdin: BinaryIO | None = None
    stdin_key: str | None = None
    hidden: int = field(default=0, init=False)
    binary: int = field(default=0, init=False)
    special: int = field(default=0, init=False)
    replaced: int = field(default=0, init=False)
    bytes_read: int = field(default=0, init=False)

    def read(self, paths: Iterable[str]) -> Iterator[Document | Failure]:
        """The documents of files, directories (walked) and `-`, in order."""
        for path in paths:
            try:
                if path == STDIN:
                    yield from self._stdin()
                elif os.path.isdir(path):
                    yield from self._directory(path)
                else:
                    yield from self._file(path)
            except OSError as error:
                yield Failure(printable_path(path), _os_reason(error))

    def text_of(self, data: bytes) -> str:
        """Decode UTF-8; InputError (strict) or U+FFFD and a count where it is not."""
        data = data.removeprefix(_BOM)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            if self.strict:
                raise InputError(f"not UTF-8 at byte {error.start}") from error
            self.replaced += 1
            return data.decode("utf-8", "replace")

    def _directory(self, root: str) -> Iterator[Document | Failure]:
        try:
            entries = sorted(os.scandir(root), key=lambda entry: entry.name)
        except OSError as error:
            yield Failure(printable_path(root), _os_reason(error))
            return
        for entry in entries:
            if entry.name.startswith("."):
                self.hidden += 1
            elif entry.is_symlink():
                # Followed, a link would give one file twice, and a loop no end.
                self.special += 1
            elif entry.is_dir():
                yield from self._directory(entry.path)
            elif not entry.is_file():
                self.special += 1
            else:
                yield from self._file(entry.path, walked=True)

    def _file(self, path: str, *, walked: bool = False) -> Iterator[Document | Failure]:
        try:
            with open(path, "rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
                    yield Failure(printable_path(path), "not a regular file")
                elif self._is_jsonl(path):
                    yield from self._json_lines(file, path)
                else:
                    yield from self._text(file, path, walked)
        except OSError as error:
            yield Failure(printable_path(path), _os_reason(error))

    def _is_jsonl(self, path: str) -> bool:
        if self.format == "auto":
            return path.lower().endswith(_JSONL_SUFFIXES)
        return self.format == "jsonl"

    def _text(self, file: BinaryIO, path: str, walked: bool) -> Iterator[Document | Failure]:
        where = printable_path(path)
        start = file.read(_BINARY_PROBE)
        if b"\0" in start:
            if walked:
                self.binary += 1
            else:
                yield Failure(where, "a binary file (it has NUL bytes)")
            return
        if self.of_sets:
            yield Failure(where, "a text file, and this database holds sets: give JSON lines")
            return
        data = start + file.read(LARGEST + 1 - len(start))
        self.bytes_read += len(data)
        if len(data) > LARGEST:
            yield Failure(where, f"larger than {LARGEST:,} bytes, the limit: split it")
            return
        try:
            yield Document(where, self.text_of(data))
        except InputError as error:
            yield Failure(where, str(error))

    def _stdin(self) -> Iterator[Document | Failure]:
        if self.stdin is None:
            raise InputError("there is no standard input")
        head = []
        if self.format == "auto" and self.stdin_key is None:
            for line in self.stdin:
                head.append(line)
                if line.removeprefix(_BOM).strip():
                    break
            if not head or head[-1].removeprefix(_BOM).lstrip().startswith(b"{"):
                yield from self._json_lines(chain(head, self.stdin), STDIN)
                return
        elif self.format == "jsonl":
            yield from self._json_lines(self.stdin, STDIN)
            return
        if self.stdin_key is None:
            yield Failure(STDIN, "a text on standard input needs a key: give --key KEY")
        elif self.of_sets:
            yield Failure(STDIN, "a text, and this database holds sets: give JSON lines")
        else:
            data = self.stdin.read()
            self.bytes_read += len(data)
            try:
                yield Document(self.stdin_key, self.text_of(data))
            except InputError as error:
                yield Failure(STDIN, str(error))

    def _json_lines(self, lines: Iterable[bytes], path: str) -> Iterator[Document | Failure]:
        name = printable_path(path)
        for number, line in enumerate(lines, 1):
            self.bytes_read += len(line)
            if number == 1:
                line = line.removeprefix(_BOM)
            yield from self._json_line(line, f"{name}:{number}")

    def _json_line(self, line: bytes, where: str) -> Iterator[Document | Failure]:
        if not line.strip():
            return
        try:
            yield self._document(line, where)
        except InputError as error:
            yield Failure(where, str(error))

    def _document(self, line: bytes, where: str) -> Document:
        try:
            record = json.loads(self.text_of(line))
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {_json_reason(error)}") from error
        if not isinstance(record, dict):
            raise InputError(f"not a JSON object but {_kind(record)}")
        return Document(self._key(record, where), self._content(record))

    def _key(self, record: dict[str, object], where: str) -> str:
        key = record.get(self.key_field)
        if key is None:
            if self.auto_key:
                return where
            raise InputError(
                f"no field {self.key_field!r}: name it with --key-field, or give --auto-key"
            )
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise InputError(f"field {self.key_field!r} is {_kind(key)}, not a string or integer")
        key = str(key)
        if not key or "\0" in key:
            raise InputError(f"field {self.key_field!r} is empty or has a NUL character")
        return without_surrogates(key)

    def _content(self, record: dict[str, object]) -> Content:
        wanted, other = self.text_field, self.set_field
        if self.of_sets:
            wanted, other = other, wanted
        content = record.get(wanted)
        if content is None:
            if record.get(other) is not None and self.of_sets:
                raise InputError(f"a text ({other!r}), and this database holds sets ({wanted!r})")
            if record.get(other) is not None:
                raise InputError(
                    f"a set ({other!r}), and this database holds texts: make one for sets with "
                    "lshdb init --shingle set"
                )
            option = "--set-field" if self.of_sets else "--text-field"
            raise InputError(f"no field {wanted!r}: name it with {option}")
        if not self.of_sets:
            if not isinstance(content, str):
                raise InputError(f"field {wanted!r} is {_kind(content)}, not a string")
            return self._clean(content)
        return self.set_of(content, wanted)

    def set_of(self, content: object, name: str) -> Content:
        """The elements of a JSON array; InputError if it is not one of strings and integers."""
        if not isinstance(content, list):
            raise InputError(f"field {name!r} is {_kind(content)}, not an array")
        if not set(map(type, content)) <= {str, int}:
            place, strange = next(
                (i, e) for i, e in enumerate(content, 1) if type(e) not in (str, int)
            )
            raise InputError(
                f"element {place} of {name!r} is {_kind(strange)}, not a string or integer"
            )
        return content

    def _clean(self, text: str) -> str:
        clean = without_surrogates(text)
        if clean is not text:
            if self.strict:
                raise InputError("a lone surrogate, which is not Unicode text")
            self.replaced += 1
        return clean


def input_bytes(paths: Iterable[str]) -> int | None:
    """The size of all files named, for a progress bar; None where it cannot be told cheaply."""
    total = 0
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total


def printable_path(path: str) -> str:
    """The path as a key: bytes that are no UTF-8 are written as backslash escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_file(path: str) -> bytes:
    """A file's bytes; InputError if there are none to have."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{printable_path(path)}: {_os_reason(error)}") from error


def _os_reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _json_reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} at character {error.pos + 1}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "a number with too many digits"


def _kind(value: object) -> str:
    """What a JSON value is, in JSON's own words."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    kinds |= {list: "an array", dict: "an object"}
    return kinds[type(value)]
