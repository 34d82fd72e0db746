"""Text out of documents such as PDF and mail, by a process that may crash, hang or be killed.

The process runs `document_formats`, nothing else, so that what a stranger's file does to a parser
costs this one file. It is started for the first document, and again after it was killed.
"""

import json
import os
import shlex
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any

from lshdb.errors import InputError, UsageError
from lshdb.options import DocumentOptions
from lshdb.sources import document_formats
from lshdb.sources.compression import compression_of
from lshdb.sources.document_formats import FORMATS, KINDS, is_mailbox, normalized
from lshdb.sources.inputs import Skipped

INSTALL = "pip install 'lshdb[documents]'"
_STARTS = {
    b"%pdf-": "pdf",
    b"pk\3\4": "zip",
    b"{\\rtf": "rtf",
    b"<!doctype html": "html",
    b"<html": "html",
}
"""The first bytes of documents, in small letters, for files whose suffix says nothing."""
PROBE = 1024
"""Bytes of the beginning of a file that say what it is."""
_MAILDIR = ("cur", "new")
_HEAD = 10_000_000
"""Bytes of an answer besides its text."""


@dataclass(slots=True)
class Extracted:
    """A document that was taken out of a file.

    Attributes:
        name: of a message in a file of several; None if the file is one document.
        text: normalised, see `document_formats.normalized`.
        metadata: title, author, type and others.
        extracted: what took it out (`by`), as JSON.
    """

    name: str | None
    text: str
    metadata: dict[str, Any]
    extracted: str


@dataclass(eq=False)
class Extractor:
    """Takes the text out of documents, in a process that ends with this object.

    Attributes:
        options: what is taken, and how.
        largest: characters of a text.
        source: whether HTML is a program, and not a page.

    Raises:
        UsageError: a command of the options is invalid.
    """

    options: DocumentOptions
    largest: int
    source: bool = False
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._commands: dict[str, list[str]] = {}
        for given in self.options.convert:
            suffix, _, command = given.partition("=")
            try:
                words = shlex.split(command)
            except ValueError:
                words = []
            if not suffix.strip(".") or not any("{}" in word for word in words):
                raise UsageError(f"convert {given!r} is not 'SUFFIX=COMMAND {{}}'")
            self._commands["." + suffix.lower().lstrip(".")] = words

    def __del__(self) -> None:
        if process := self._process:
            _end(process)

    def kind_of(self, path: str, start: bytes = b"") -> str | None:
        """The kind of a file's document, by suffix or first bytes; None for a text.

        Raises:
            Skipped: its library is not installed, or documents are not wanted.
        """
        suffix = os.path.splitext(path)[1].lower()
        if suffix in self._commands:
            return suffix
        if (kind := KINDS.get(suffix)) is None:
            small = start[:PROBE].lstrip().lower()
            kind = next((kind for sign, kind in _STARTS.items() if small.startswith(sign)), None)
            if not kind and _is_maildir(os.path.dirname(path)):
                kind = "eml"
        if kind is None or compression_of(path) or (kind == "html" and self.source):
            return None
        form = FORMATS[kind]
        if self.options.documents and _is_installed(form.module):
            return kind
        if form.is_text or kind == "zip":
            return None
        install = f"needs {INSTALL}" if self.options.documents else "documents are not wanted"
        raise Skipped("documents", f"{form.name}: {install}")

    def documents(self, path: str, kind: str) -> Iterator[Extracted]:
        """The documents in a file.

        Raises:
            InputError: there are none, or no more, with the reason.
        """
        if kind in self._commands:
            yield self._converted(path, self._commands[kind])
            return
        process, self._process = self._process or _started(), None
        seconds = self.options.extract_timeout
        job = {"path": os.path.abspath(path), "kind": kind, "quotes": self.options.quotes}
        job |= {"seconds": seconds, "largest": self.largest}
        names = Counter[str]()
        try:
            assert process.stdin is not None
            with suppress(OSError):  # if it died before, it gives no answer
                process.stdin.write(json.dumps(job).encode() + b"\n")
                process.stdin.flush()
            while "end" not in (answer := _answer(process, seconds, self.largest)):
                name, about = None, answer["metadata"]
                if kind == "mbox":
                    name = about.get("message-id") or str(names.total() + 1)
                    names[name] += 1
                    name += f" {names[name]}" * (names[name] > 1)
                yield Extracted(name, answer["text"], about, json.dumps(answer["extracted"]))
            if self._process is None:
                self._process = process
        finally:
            if self._process is not process:
                _end(process)
        if "refused" in answer:
            raise InputError(answer["refused"])

    def _converted(self, path: str, command: list[str]) -> Extracted:
        """What a command of the user prints of a file."""
        words = [word.replace("{}", os.path.abspath(path)) for word in command]
        seconds = self.options.extract_timeout
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        try:
            done = subprocess.run(words, check=True, stdin=null, stdout=pipe, timeout=seconds)
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(str(error)) from error
        if len(done.stdout) > self.largest:
            raise InputError(f"{command[0]} prints more than {self.largest:,} bytes, the limit")
        text = normalized([done.stdout.decode("utf-8", "replace")], of_paper=False)
        kind = os.path.splitext(path)[1].lower()[1:]
        return Extracted(None, text, {"type": kind}, json.dumps({"by": shlex.join(command)}))


def file_of_message(key: str) -> str:
    """The key of the file of mail that a message with this key is in; else empty."""
    path, _, _ = key.partition("#<") if "#<" in key else key.rpartition("#")
    return path if is_mailbox(path) else ""


def lacks_library() -> bool:
    """Whether a library of the extra is not installed."""
    return not all(_is_installed(one.module) for one in FORMATS.values())


@cache
def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


def _is_maildir(directory: str) -> bool:
    """Whether a directory is one of those of a maildir that have messages."""
    parent, name = os.path.split(os.path.abspath(directory))
    return name in _MAILDIR and all(os.path.isdir(os.path.join(parent, one)) for one in _MAILDIR)


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", document_formats.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Ctrl-C goes to all processes of a terminal's group; this one ends with its pipe.
        process_group=0 if os.name == "posix" else None,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError), process:
        process.kill()


def _answer(process: subprocess.Popen[bytes], seconds: float, largest: int) -> dict[str, Any]:
    """The next answer of a process, in its time; InputError if it dies before."""
    assert process.stdout is not None
    late = threading.Timer(seconds, process.kill)
    late.start()
    # A character is at most an escaped pair of surrogates.
    data = process.stdout.readline(12 * largest + _HEAD)
    is_late = late.finished.is_set()
    late.cancel()
    with suppress(ValueError):
        return dict(json.loads(data))
    if is_late:
        raise InputError(f"reading it takes more than {seconds:g} seconds (--extract-timeout)")
    raise InputError("the library that reads it crashed, or took too much memory")
