"""Text out of documents such as PDF and mail, by a process that may crash, hang or be killed.

The process runs `documents`, nothing else, so that what a stranger's file does to a parser
costs this one file. It is started for the first document, and again after it was killed.
"""

import json
import os
import shlex
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from lshdb.apps.documents import extraction as documents
from lshdb.apps.documents import user_programs
from lshdb.apps.documents.extraction.kinds import kind_of_start
from lshdb.apps.documents.extraction.text import normalized
from lshdb.errors import InputError, UsageError
from lshdb.read import compression, formats, inputs
from lshdb.read.kinds import KINDS, kind_of
from lshdb.read.session import SessionOptions

PROGRAM = os.path.join(os.path.dirname(documents.__file__), "__main__.py")
"""What the process runs."""
_SEARCH = 60.0
"""Minimum seconds to start, and to find the next message of a mailbox."""
_MAILDIR = ("cur", "new")
_HEAD = 10_000_000
"""Bytes of an answer besides its text."""


@dataclass(frozen=True)
class Extracted:
    """A document that was taken out of a file, or the reason why it was not.

    Attributes:
        name: of a message in a file of several; None if the file is one document.
        text: normalised, see `extraction.text.normalized`.
        metadata: title, author, type and others.
        extracted: what took it out (`by`), as JSON.
        reason: why it cannot be read, and where it is in the file; the others of the file can.
    """

    name: str | None
    text: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    extracted: str = ""
    reason: str = ""


class Extractor:
    """Takes the text out of documents, in a process that ends with this object.

    Args:
        options: what is taken, and how; the largest text; and whether HTML is a program, and not a
            page.

    Raises:
        UsageError: a command of the options is invalid.
    """

    def __init__(self, options: SessionOptions) -> None:
        self._options, self._is_source = options.taken, options.source
        self._largest = options.limits.largest_text
        self._process: _Process | None = None
        self._commands: dict[str, list[str]] = {}
        for conversion in self._options.convert:
            suffix, _, command = conversion.partition("=")
            try:
                words = shlex.split(command)
            except ValueError:
                words = []
            if not suffix.strip(".") or not any("{}" in word for word in words):
                raise UsageError(f"convert {conversion!r} is not 'SUFFIX=COMMAND {{}}'")
            self._commands["." + suffix.lower().lstrip(".")] = words

    def __del__(self) -> None:
        self._end()

    def _end(self) -> None:
        if process := self._process:
            process.end()
        self._process = None

    def kind_of(self, path: str, start: bytes = b"") -> str | None:
        """The kind of a file's document, by suffix or first bytes; None for a text.

        Raises:
            Skipped: its library is not installed, or documents are not wanted.
        """
        suffix = os.path.splitext(path)[1].lower()
        if suffix in self._commands:
            return suffix
        if (kind := kind_of(path) or None) is None:
            kind = kind_of_start(start)
            if kind in (None, "mbox") and _is_maildir(os.path.dirname(path)):
                kind = "eml"
        if kind is None or compression.compression_of(path) or (kind == "html" and self._is_source):
            return None
        form = KINDS[kind]
        why = f"{form.name}: documents are not wanted"
        if self._options.documents and not (why := formats.why_unread(kind)):
            return kind
        if form.is_text or kind == "zip":
            return None
        raise inputs.Skipped("documents", why)

    def cells(self, path: str, sheet: str) -> str:
        """The cells of a sheet, as `extraction.sheets.rows` gives them; InputError without any.

        The process ends, as a result of rows may be kept for long.
        """
        self.kind_of(path)  # whether the library is there
        try:
            (document,) = self.documents(path, "xlsx", sheet=sheet)
        finally:
            self._end()
        return document.text

    def documents(self, path: str, kind: str, **more: str) -> Iterator[Extracted]:
        """The documents in a file, and those that cannot be read, each with the reason.

        Args:
            path: of the file.
            kind: of the file.
            more: what the job has besides this.

        Raises:
            InputError: there are none, or no more, with the reason.
        """
        if kind in self._commands:
            yield self._converted(path, self._commands[kind])
            return
        names = Counter[str]()
        start: int | None = 0
        while start is not None:
            start = yield from self._documents_from(start, path, kind, names, more)

    def _documents_from(
        self, start: int, path: str, kind: str, names: Counter[str], more: dict[str, str]
    ) -> Generator[Extracted, None, int | None]:
        """The documents in a file from a byte on, as far as one process comes.

        Returns:
            The byte after a message that the process did not survive; None at the end.
        """
        process, self._process = self._process or _Process(), None
        seconds = self._options.extract_timeout
        job = {"path": os.path.abspath(path), "kind": kind, "quotes": self._options.quotes}
        job |= {"seconds": seconds, "largest": self._largest, "start": start, **more}
        name = refused = None
        try:
            process.give(job)
            while True:
                # To find the next message takes time that is not the message's.
                is_search = kind == "mbox" and name is None
                try:
                    wait = max(seconds, _SEARCH) if is_search else seconds
                    answer = process.answer(wait, self._largest)
                except InputError as error:
                    if name is None:
                        raise
                    yield Extracted(name, reason=f"message {names.total():,}: {error}")
                    return start
                refused = answer.get("refused", refused)
                if "end" in answer:
                    break
                if "message" in answer:
                    name, start = _numbered(answer["message"], names), answer["after"]
                    continue
                if "text" in answer:
                    by = json.dumps(answer["extracted"])
                    yield Extracted(name, answer["text"], answer["metadata"], by)
                elif name is not None:
                    yield Extracted(name, reason=f"message {names.total():,}: {refused}")
                    refused = None
                name = None
            if self._process is None:
                self._process = process
        finally:
            if self._process is not process:
                process.end()
        if refused is not None:
            raise InputError(refused)
        return None

    def _converted(self, path: str, command: list[str]) -> Extracted:
        """The output of a user's command for a file."""
        words = [word.replace("{}", os.path.abspath(path)) for word in command]
        printed = user_programs.output(words, self._options.extract_timeout, self._largest)
        text = normalized([printed.decode("utf-8", "replace")], of_paper=False)
        kind = os.path.splitext(path)[1].lower()[1:]
        return Extracted(None, text, {"type": kind}, json.dumps({"by": shlex.join(command)}))


def _numbered(name: str, names: Counter[str]) -> str:
    """The name of a message, with a number if it is not the first one of that name."""
    names[name] += 1
    return name + f" {names[name]}" * (names[name] > 1)


def _is_maildir(directory: str) -> bool:
    """Whether a directory is one of those of a maildir that have messages."""
    if os.path.basename(directory) not in (*_MAILDIR, "", ".", ".."):
        return False
    parent, name = os.path.split(os.path.abspath(directory))
    paths = [os.path.join(parent, subdirectory) for subdirectory in _MAILDIR]
    return name in _MAILDIR and all(map(os.path.isdir, paths))


class _Process:
    """A process that extracts, and the pipe of its jobs."""

    def __init__(self) -> None:
        words = [sys.executable, "-P", PROGRAM]
        if user_programs.HAS_GROUPS:
            read_end, write_end = os.pipe()
            try:
                self._process = user_programs.started(
                    [*words, str(read_end)], subprocess.DEVNULL, passed=(read_end,)
                )
            except BaseException:
                os.close(write_end)
                raise
            finally:
                os.close(read_end)
            self._jobs: IO[bytes] = open(write_end, "wb")  # noqa: SIM115
        else:
            self._process = user_programs.started(words, subprocess.DEVNULL)
            assert self._process.stdin is not None
            self._jobs = self._process.stdin

    def give(self, job: dict[str, Any]) -> None:
        """Send a job."""
        with suppress(OSError):  # if it died before, it gives no answer
            self._jobs.write(json.dumps(job).encode() + b"\n")
            self._jobs.flush()

    def answer(self, seconds: float, largest: int) -> dict[str, Any]:
        """The next answer; InputError if the process dies before, or takes too long."""
        assert self._process.stdout is not None
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            user_programs.kill_group(self._process)

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            # A character is at most an escaped pair of surrogates.
            data = self._process.stdout.readline(12 * largest + _HEAD)
        finally:
            timer.cancel()  # after Ctrl-C, too, which would else wait for it
        with suppress(ValueError):
            return dict(json.loads(data))
        if is_late.is_set():
            raise InputError(f"reading it takes more than {seconds:g} seconds (--extract-timeout)")
        raise InputError("the library that reads it crashed, or took too much memory")

    def end(self) -> None:
        """End it, with all of its group."""
        with suppress(OSError), self._process:
            user_programs.kill_group(self._process)
            self._jobs.close()
