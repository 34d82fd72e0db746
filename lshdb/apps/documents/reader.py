"""The reader of documents: a batch for each in a PDF, a mailbox and the like; rows of a sheet.

Their text is taken out by a process that may crash, hang or be killed. It runs `extraction` and
nothing else, so that what a stranger's file does to a parser costs this one file. It is started for
the first document, and again after it was killed.
"""

import codecs
import contextlib
import dataclasses
import json
import os
import shlex
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from itertools import chain
from shutil import copyfileobj
from typing import IO, Any
from weakref import finalize

from lshdb.apps.documents import extraction, user_programs
from lshdb.apps.documents.extraction import guessing
from lshdb.apps.documents.extraction.kinds import LIBRARIES, kind_of_start
from lshdb.apps.documents.extraction.text import normalized
from lshdb.errors import InputError, UsageError
from lshdb.model import Failure
from lshdb.read import compression, encodings, formats, inputs, json_rows, records
from lshdb.read.batch import Batch, Record
from lshdb.read.files import digest_of
from lshdb.read.kinds import KINDS, kind_of
from lshdb.read.session import SessionOptions
from lshdb.store.partial_files import temporary_directory
from lshdb.store.rows import FileState

PROGRAM = os.path.join(os.path.dirname(extraction.__file__), "__main__.py")
"""What the process runs."""
_SEARCH = 60.0
"""Minimum seconds to start, and to find the next message of a mailbox."""
_MAILDIR = ("cur", "new")
_HEAD = 10_000_000
"""Bytes of an answer besides its text."""


@dataclasses.dataclass(frozen=True)
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
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    extracted: str = ""
    reason: str = ""


class DocumentReader:
    """See lshdb.read.formats.Reader. Its process ends with this object.

    Args:
        options: what is taken, and how; the largest text; and whether HTML is a program, and not a
            page.

    Raises:
        UsageError: a command or the encoding of the options is invalid.
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
        if options.encoding is not None:
            try:
                "".encode(options.encoding)
            except (LookupError, ValueError) as error:
                raise UsageError(f"encoding {options.encoding!r} is not known to Python") from error

    @staticmethod
    def lacks_library(kind: str) -> bool:
        """Whether the library that reads a kind is not installed."""
        return find_spec(LIBRARIES[kind].name.replace("-", "_") or "email") is None

    def read(self, source: inputs.Input, kind: str) -> Iterator[Batch]:
        """The batch of each document.

        What is read by other programs is hashed before: if it changes meanwhile, its digest is of
        bytes that it has no longer, and never of others than those that were read.
        """
        first: list[tuple[str, FileState]] = []
        is_whole = True
        try:
            with _on_disk(source) as (copy, digest):
                for document in self.documents(copy, kind):
                    batch = _batch(document, source, digest)
                    first = first or [*batch.states]
                    is_whole &= not batch.unread
                    yield batch
        except InputError as error:
            if kind == "zip":
                why = f"a binary file ({KINDS[kind].name})"
                raise inputs.Skipped("binary", why) from error
            yield _to_read_again(first)
            raise
        if not is_whole:
            yield _to_read_again(first)
        source.counts.bytes_read += source.size

    def in_utf8(self, source: inputs.Input, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """See lshdb.read.formats.Reader."""
        start = next(chunks, b"")
        encoding = encodings.of_mark(start)
        if encoding in (None, "utf-8-sig"):  # UTF-8 is not decoded
            encoding = source.options.encoding
        if encoding is None:
            source.guessed = _guessed
            yield start
            yield from chunks
        else:
            yield from _to_utf8(source, chain((start,), chunks), encoding)

    def batches(self, source: inputs.Input, format: str, start: bytes) -> Iterator[Batch] | None:
        """See lshdb.read.formats.Reader."""
        if format == "xlsx":
            source.text = self._rows(source)
            return json_rows.read(source, "jsonl")
        file, kind = source.file, self.kind_of(source.file.path, start)
        if kind != "mbox" and file.status and not file.status.st_size:
            kind = None  # an empty file of any kind is an empty text
        return self.read(source, kind) if kind and not source.options.of_sets else None

    def _rows(self, source: inputs.Input) -> Iterator[bytes]:
        """The rows of a sheet as lines of JSON, by the names in its first row.

        Whole numbers are integers, dates and times are texts as ISO 8601 writes them, and blank
        cells are null. Lines are blank for the header and what is before it, and for blank rows.
        """
        with _on_disk(source) as (copy, _):
            cells = self.cells(copy, source.file.sheet)
        source.counts.bytes_read += source.size
        first, *rows = map(json.loads, cells.splitlines())
        if not rows:
            raise InputError("an empty sheet: its first row must name the columns")
        names = records.distinct_names(["" if cell is None else str(cell) for cell in rows[0]])
        source.options.check_columns(names)
        yield b"\n" * (first[0] + 1)
        for row in rows[1:]:
            cells_by_name = zip(names, row, strict=True)
            record: Record = {
                name: cell for name, cell in cells_by_name if name or cell is not None
            }
            is_blank = all(cell is None for cell in row)
            yield (b"" if is_blank else json_rows.json_of(record)) + b"\n"

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
            if process := self._process:
                process.end()
            self._process = None
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
        process, self._process = self._process or _Process(self), None
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
    """A process that extracts, and the pipe of its jobs; `end` ends it, or the end of its owner."""

    def __init__(self, owner: object) -> None:
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
        self.end = finalize(owner, _end, self._process, self._jobs)

    def give(self, job: dict[str, Any]) -> None:
        """Send a job."""
        with contextlib.suppress(OSError):  # if it died before, it gives no answer
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
        with contextlib.suppress(ValueError):
            return dict(json.loads(data))
        if is_late.is_set():
            raise InputError(f"reading it takes more than {seconds:g} seconds (--extract-timeout)")
        raise InputError("the library that reads it crashed, or took too much memory")


def _end(process: subprocess.Popen[bytes], jobs: IO[bytes]) -> None:
    """End a process that extracts, with all of its group."""
    with contextlib.suppress(OSError), process:
        user_programs.kill_group(process)
        jobs.close()


def _to_utf8(source: inputs.Input, chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    for chunk in chain(chunks, (b"",)):
        before = decoder.getstate()
        try:
            text = decoder.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            if source.options.strict:
                raise InputError(f"not {encoding.upper()}") from error
            source.invalid_texts += 1
            decoder.setstate(before)
            decoder.errors = "replace"
            text = decoder.decode(chunk, not chunk)
        if text:
            yield text.encode("utf-8", "surrogatepass")


def _guessed(source: inputs.Input, data: bytearray) -> tuple[str, str | None] | None:
    """A text in the encoding that was guessed last or is guessed now; see Input.guessed."""
    extracted = source.options.stored_guess(source.file.key)
    encoding = ""
    with contextlib.suppress(ValueError, AttributeError):
        encoding = json.loads(extracted or "").get("encoding", "")
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError, TypeError):  # or none was guessed before
        if (guess := guessing.guess(data)) is None:
            return None
        text, encoding = guess.text, guess.encoding
        extracted = json.dumps({"by": guess.by, "encoding": encoding})
    source.counts.skipped.add("guessed", source.file.path, f"read as {encoding}, a guess")
    return text, extracted


@contextlib.contextmanager
def _on_disk(source: inputs.Input) -> Iterator[tuple[str, bytes]]:
    """The path of an open file, or of a copy of a member, and the digest of its bytes."""
    if not source.file.member:
        yield source.file.place, digest_of(source.stream)
        return
    with temporary_directory(None) as directory:
        copy = os.path.join(directory, f"member{os.path.splitext(source.file.path)[1]}")
        with open(copy, "w+b") as target:
            copyfileobj(source.stream, target)
            target.seek(0)
            digest = digest_of(target)
        yield copy, digest


def _batch(document: Extracted, source: inputs.Input, digest: bytes) -> Batch:
    """The batch of a document that was taken out of a file, by the rules for all documents."""
    skipped, path = source.counts.skipped, source.file.path
    name, about = document.name, document.metadata
    try:
        if document.reason:
            raise InputError(document.reason)
        batch = source.document(document.text, digest, document.extracted, about, name)
    except InputError as error:
        if name is None:
            raise
        failure = Failure(f"{source.name}#{name}", str(error))
        return Batch(failures=[(0, failure)], unread=[f"{source.file.key}#{name}"])
    if about.get("scanned"):
        skipped.add("scanned", path, "a PDF of pictures: it has no text")
    if damaged := about.get("damaged"):
        why = f"read without {len(damaged):,} damaged: {damaged[0]}"
        skipped.add("damaged", path, why)
    return batch


def _to_read_again(states: list[tuple[str, FileState]]) -> Batch:
    """The batch without documents that says: a file was not read whole, as if it had changed."""
    again = [(key, dataclasses.replace(state, mtime_ns=None, digest=None)) for key, state in states]
    return Batch(states=again)
