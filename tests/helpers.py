"""Helpers for tests of several rooms: near duplicates, workers, the command, a served site.

inspection.py looks into a file; oracles.py has the expected results.
"""

from __future__ import annotations

import ast
import ctypes
import fcntl
import gc
import http.client
import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from itertools import accumulate
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any, TypeVar
from unittest import mock
from urllib.parse import urlencode, urlsplit

import extras
import inspection
import numpy as np
import numpy.typing as npt
import pytest

import lshdb
from lshdb.cli import app
from lshdb.database import store_of
from lshdb.options import AddManyOptions
from lshdb.progress import silent
from lshdb.read.session import Session, SessionOptions
from lshdb.store import late
from lshdb.text import shingles
from lshdb.text.arrays import offsets_of
from lshdb.text.shingling import Content, OfSets, Shingles, Shingling
from lshdb.workers import Workers
from lshdb.write.add import add_documents

ROOT = Path(__file__).resolve().parent.parent
"""The directory of the project."""
TIMEOUT = 60
"""Seconds after which a test treats a command as hanging."""
T = TypeVar("T")
MEASURING = "COVERAGE_"
"""How the names of variables begin by which scripts/test --coverage measures a process."""

# work, on any machine


def calls_of(work: Callable[[], object]) -> int:
    """How many calls of functions, of Python or C, some work makes in this thread."""
    calls = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def database_of(
    path: Path | str, documents: Mapping[str, Content] | Iterable[Any], **settings: Any
) -> lshdb.Database:
    """An open database to which these documents were added, in this process."""
    database = lshdb.open(path, **settings)
    given: Iterable[Any] = documents.items() if isinstance(documents, Mapping) else documents
    database.add_many(given, workers=0)
    return database


def add_late(database: lshdb.Database, documents: Iterable[Any], **options: Any) -> None:
    """Add documents as those of files and tables are added: band rows of many come late."""
    progress = options.pop("progress", silent)
    given = AddManyOptions(workers=0, **options)
    add_documents(store_of(database), documents, given, progress=progress, late_bands=True)


def add_without_bands(path: Path, documents: Iterable[Any], **settings: Any) -> None:
    """A file whose added documents wait for their band rows, as a killed addition leaves it."""
    with mock.patch.object(late, "complete"), lshdb.open(path, **settings) as database:
        add_late(database, documents)


def parsed(program: str) -> ast.Module:
    """The tree of a program; CPython 3.11 fails if what is collected meanwhile makes another."""
    gc.disable()
    try:
        return ast.parse(program)
    finally:
        gc.enable()


def leave_a_log(path: Path, documents: Mapping[str, str]) -> None:
    """Leave a file and its log as a writer does that is killed after it added documents."""
    real, ends = path.resolve(), ("", "-wal", "-shm")
    with lshdb.open(real) as database:
        database.add_many(documents.items(), workers=0)
        for end in ends:
            shutil.copyfile(f"{real}{end}", f"{real}{end}.killed")
    for end in ends:
        os.replace(f"{real}{end}.killed", f"{real}{end}")


FORGED_TEXTS = (
    "The museum opens at nine on weekdays and at ten on Sundays and holidays",
    "005ukstmranpury0 s13to9ruuw7g1au9 2baoj57w9lert6x1 yy3u88raduyiy31u 1m1tjd4ae553p4nq "
    "l38o8yb9s933jeq7 uq3ba3p2u3i7o0pi d79s7n1ir82i6nkt yy3u88raduyiy31u kk6tc8vfiyyau7tp "
    "l38o8yb9s933jeq7 fa8ite9i303kldlw d79s7n1ir82i6nkt uazwdc6s5919dths",
)
"""Under the seed 1 each word of the second has the hash of its twin in the first."""

# near-duplicate documents

VOCABULARY = 5_000


def text_families(
    seed: int, families: int, copies: int, words: int, most_edits: int
) -> dict[str, str]:
    """Texts of Zipf-distributed words: base documents, each with copies of 0 to some edits."""
    rng = random.Random(seed)
    vocabulary = [_word(rng) for _ in range(VOCABULARY)]
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    documents = {}
    for family in range(families):
        base = rng.choices(vocabulary, cum_weights=weights, k=words)
        documents[f"{family}/base"] = " ".join(base)
        for copy in range(copies):
            edited = list(base)
            for _ in range(rng.randint(0, most_edits)):
                index = rng.randrange(len(edited))
                new = rng.choices(vocabulary, cum_weights=weights, k=1)
                edited[index : index + rng.choice((0, 1, 1, 1))] = new * rng.choice((0, 1, 1))
            documents[f"{family}/{copy}"] = " ".join(edited)
    return documents


def set_families(seed: int, families: int, copies: int, size: int) -> dict[str, list[str]]:
    """Sets of strings: base documents, each with copies that share some of the elements."""
    rng = random.Random(seed)
    documents = {}
    for family in range(families):
        base = [f"{family}-{element}" for element in range(rng.randint(size // 2, size))]
        documents[f"{family}/base"] = base
        for copy in range(copies):
            kept = rng.sample(base, round(len(base) * rng.uniform(0.5, 1)))
            new = [f"{family}-{copy}-{i}" for i in range(rng.randint(0, size // 4))]
            documents[f"{family}/{copy}"] = [*kept, *new]
    return documents


def pairs_of_hashes(seed: int, pairs: int, shared: int, union: int) -> tuple[Shingles, Shingles]:
    """Pairs of random sets with `shared` hashes of `union` in common: the ones and the others."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 1 << 64, size=(pairs, union), dtype=np.uint64)
    middle = shared + (union - shared) // 2
    others = np.concatenate([hashes[:, :shared], hashes[:, middle:]], axis=1)
    return _shingles(hashes[:, :middle]), _shingles(others)


def blocks_of(size: int) -> AbstractContextManager[object]:
    """Blocks of this many characters for all kinds of shingles; 0 for the usual ones."""
    return mock.patch.dict(shingles.BLOCK, dict.fromkeys(shingles.BLOCK, size) if size else {})


def shingle(
    contents: Sequence[Content], shingling: Shingling, seed: int, block: int = 0
) -> Shingles:
    """The shingle hashes of each document, repeated, in its order; with a block, texts are cut."""
    none = np.empty(0, dtype=np.uint64)
    found: dict[int, npt.NDArray[np.uint64]] = {}
    with blocks_of(block):
        for group in shingles.groups(contents, shingling):
            first = contents[group[0]]
            if shingles.is_large(first, shingling):
                found[group[0]] = np.concatenate([none, *shingles.pieces(first, shingling, seed)])
            else:
                some = shingles.shingle_group([contents[i] for i in group], shingling, seed)
                found.update(zip(group, np.split(some.hashes, some.offsets[1:-1]), strict=True))
    hashes = [found[index] for index in range(len(contents))]
    sizes = np.array([*map(len, hashes)], dtype=np.int64)
    return Shingles(np.concatenate([none, *hashes]), offsets_of(sizes))


def _shingles(hashes: npt.NDArray[np.uint64]) -> Shingles:
    documents, size = hashes.shape
    return Shingles(hashes.reshape(-1), np.arange(documents + 1) * size)


def _word(rng: random.Random) -> str:
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9)))


# worker processes

_own_result = Workers.result


def _wait_and_take(workers: Workers[Any, Any], *futures: Future[Any]) -> object:
    done, _ = wait(futures[:1], timeout=60)
    assert done
    return _own_result(workers, *futures)


@contextmanager
def signed_elsewhere() -> Iterator[None]:
    """Have worker processes sign every part they are given: the writing thread only waits."""
    with mock.patch.object(Workers, "result", _wait_and_take):
        yield


# the command

Argument = str | bytes | Path


def installed() -> str:
    """The command of the environment that runs the tests."""
    found = shutil.which("lshdb", path=str(Path(sys.executable).parent)) or shutil.which("lshdb")
    assert found is not None, "the tests need lshdb installed: pip install -e ."
    return found


def environment(home: Path) -> dict[str, str]:
    """The few variables that a command needs, without the user's."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "OPENBLAS_NUM_THREADS": "1",  # numpy starts faster
        **{name: os.environ[name] for name in os.environ if name.startswith(MEASURING)},
    }


@contextmanager
def unprivileged() -> Iterator[None]:
    """Let file modes apply to root too, in this thread and in programs that it starts."""
    if os.geteuid() != 0:
        yield
        return
    system, set_bits, get_bits = ctypes.CDLL(None), 28, 27
    no_root, no_setuid_fixup = 1, 4
    override, read_search = 1, 2
    version = (ctypes.c_uint32 * 2)(0x20080522, 0)
    before = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; the higher bits of each
    assert system.capget(version, before) == 0
    lower = (ctypes.c_uint32 * 6)(*before)
    lower[0] &= ~(1 << override | 1 << read_search)
    bits = system.prctl(get_bits, 0, 0, 0, 0)
    # Else root has all capabilities again in programs that it starts, and where it asks access().
    assert system.prctl(set_bits, bits | no_root | no_setuid_fixup, 0, 0, 0) == 0
    assert system.capset(version, lower) == 0
    try:
        yield
    finally:
        assert system.capset(version, before) == 0
        assert system.prctl(set_bits, bits, 0, 0, 0) == 0


FORK = get_context("fork")


def barrier() -> Barrier:
    """A step that this process and one that was forked reach at the same time."""
    return FORK.Barrier(2, timeout=TIMEOUT)


@contextmanager
def limited(kind: int, value: int) -> Iterator[None]:
    """Let this process, and what it starts, have no more of a resource."""
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))


def forked(work: Callable[..., object], *arguments: Any) -> BaseProcess:
    """A process that was forked to call a function: Python takes far longer to start."""
    process = FORK.Process(target=work, args=arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of the tests are not copied
        process.start()
    return process


def status_of(process: BaseProcess) -> int:
    """How a process ended that was forked: its exit status, or a signal's number below 0."""
    try:
        until(lambda: process.exitcode is not None)  # join() also waits for what it forked itself
    finally:
        process.kill()
    assert process.exitcode is not None
    return process.exitcode


def unmeasured(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables of a process that loads and writes only what it does without coverage."""
    return {name: variables[name] for name in variables if not name.startswith(MEASURING)}


def hide(*packages: str) -> None:
    """Load lshdb again without some packages; only in a process that was forked for it."""
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("lshdb", *packages):
            del sys.modules[name]
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]


def mount(kind: str, target: Path, *, source: Path | None = None, options: str = "") -> None:
    """Mount a file system, or `source` itself, in a process with its own mounts."""
    flags = 0 if source is None else 0x1000
    names = [os.fsencode(name) for name in (source or "none", target)]
    done = ctypes.CDLL(None).mount(*names, kind.encode(), flags, options.encode())
    assert done == 0, f"cannot mount {target}"


def with_own_mounts(work: Callable[[], object]) -> None:
    """Call a function in a forked process, whose mounts nobody else sees; skip if it may not."""
    not_permitted = 77

    def run() -> None:
        user, system = os.geteuid(), ctypes.CDLL(None)
        new_mounts, new_users, private = 0x20000, 0x10000000, 0x44000
        if system.unshare(new_mounts | (new_users if user else 0)) != 0:
            sys.exit(not_permitted)
        if user:
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        if system.mount(b"none", b"/", None, private, None) != 0:
            sys.exit(not_permitted)
        work()

    status = status_of(forked(run)) if sys.platform == "linux" else not_permitted
    if status == not_permitted:
        pytest.skip("a process may not have its own mounts here")
    assert status == 0


@dataclass(frozen=True)
class Result:
    """What a command printed and how it ended."""

    out: str
    err: str
    status: int

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.lines]

    @property
    def record(self) -> dict[str, Any]:
        (record,) = self.records
        return record


def files_to_drop(command: Command, texts: Mapping[str, str], *dropped: str) -> None:
    """Write and add files, and decide that some of them are to be dropped."""
    for name, text in texts.items():
        command.write(name, text)
    command.done("add", *texts)
    command.done("decide", "drop", *dropped)


def left_files(done: Result) -> dict[str, str]:
    """The files that a command leaves although they are to be dropped, with the reasons."""
    left = dict(re.findall(r"(?m)^lshdb: (.*): left: (.*)$", done.err))
    assert done.status == bool(left), done.err
    return left


def in_any_version(reason: str) -> str:
    """A message without the words of orjson, which differ from version to version."""
    return re.sub(r"(not JSON[: (]+).* at character", r"\1... at character", reason)


class Command:
    """Runs `lshdb` in a directory, in the process of the tests: a run takes milliseconds.

    `start` runs the installed command, for what only a separate process shows.
    """

    def __init__(self, directory: Path, variables: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.variables = {**environment(directory), **(variables or {})}

    def __call__(
        self,
        *arguments: Argument,
        stdin: str | bytes | int | None = b"",
        streams: Mapping[int, int | None] = MappingProxyType({}),
    ) -> Result:
        """Run a command; `stdin` is input or an open file.

        `streams` takes the place of standard streams, by their numbers. None is a closed one.
        """
        with TemporaryFile() as out, TemporaryFile() as err, _input(stdin) as given:
            usual = {0: given, 1: out.fileno(), 2: err.fileno()}
            status = self._run(arguments, {**usual, **streams})
            out.seek(0)
            err.seek(0)
            result = Result(out.read().decode(), err.read().decode(), status)
        extras.skip_if_named(result.err)
        return result

    def _run(self, arguments: Sequence[Argument], streams: Mapping[int, int | None]) -> int:
        """Run a command in this process on file descriptors: its exit status."""
        with ExitStack() as stack:
            for number, stream in streams.items():
                own = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)  # no number of a closed one
                stack.callback(os.close, own)
                stack.callback(os.dup2, own, number)
                if stream is not None:
                    os.dup2(stream, number)
            given = self.variables.get("PYTHONIOENCODING", "utf-8")
            encoding, _, errors = given.partition(":")
            for number, name in enumerate(("stdin", "stdout", "stderr")):
                file = None
                if streams[number] is not None:
                    mode, buffering = "w" if number else "r", 1 if number == 2 else -1
                    file = open(number, mode, buffering, encoding, errors or None, closefd=False)  # noqa: SIM115
                stack.enter_context(mock.patch.object(sys, name, file))
                stack.callback(_close, name)
            words = ["lshdb", *map(os.fsdecode, arguments)]
            stack.enter_context(mock.patch.object(sys, "argv", words))
            # Else typer names the program as the one that runs the tests.
            stack.enter_context(mock.patch.object(sys.modules["__main__"], "__package__", None))
            stack.enter_context(mock.patch.object(app, "make_app", _built))
            stack.enter_context(mock.patch.dict(os.environ, self.variables, clear=True))
            stack.enter_context(mock.patch.object(tempfile, "tempdir", None))  # as TMPDIR says
            here = os.open(".", os.O_RDONLY)  # which may have been deleted
            stack.callback(os.close, here)
            stack.callback(os.fchdir, here)
            os.chdir(self.directory)
            stack.callback(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("default", category=UserWarning)
            for number in [number for number, stream in streams.items() if stream is None]:
                os.close(number)
            with pytest.raises(SystemExit) as ended:
                app.main()
            status = ended.value.code or 0
            assert isinstance(status, int)
            return status

    def done(
        self, *arguments: Argument, stdin: str | bytes | int | None = b"", says: str | None = None
    ) -> Result:
        """Run a command that must succeed; with `says`, this is all of its standard error."""
        result = self(*arguments, stdin=stdin)
        assert result.status == 0, result.err
        if says is not None:
            assert result.err == says, result.err
        return result

    def fails(
        self,
        *arguments: Argument,
        stdin: str | bytes | int | None = b"",
        status: int = 1,
        streams: Mapping[int, int | None] = MappingProxyType({}),
    ) -> str:
        """Run a command that must fail with one line; the line, without the program's name."""
        result = self(*arguments, stdin=stdin, streams=streams)
        assert result.out == ""
        assert result.status == status, result.err
        (line,) = result.err.splitlines()
        start, _, reason = line.partition(": ")
        assert start == "lshdb"
        return reason

    def without(self, package: str, *arguments: str) -> str:
        """What a command says that must fail where a package is not installed."""
        with TemporaryFile() as err:
            process = forked(self._fail_without, package, arguments, err.fileno())
            assert status_of(process) == 0
            err.seek(0)
            return err.read().decode()

    def _fail_without(self, package: str, arguments: Sequence[str], err: int) -> None:
        hide(package)
        fresh = import_module("lshdb.cli.app")
        with TemporaryFile() as out, mock.patch.object(app, "main", fresh.main):
            given = os.open(os.devnull, os.O_RDONLY)
            assert self._run(arguments, {0: given, 1: out.fileno(), 2: err}) == 1
            assert not out.tell()

    def path(self, *parts: str) -> Path:
        """A path below the directory."""
        return self.directory.joinpath(*parts)

    def write(self, name: str, content: str | bytes | Iterable[object]) -> None:
        """Write a file below the directory, in a new one if need be; objects are JSON lines."""
        if not isinstance(content, str | bytes):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_encoded(content))

    def rows(self, statement: str, name: str = "lsh.db") -> list[inspection.Row]:
        """The file's rows, by plain SQLite, without a process."""
        return inspection.rows(self.directory / name, statement)

    def keys(self, name: str = "lsh.db") -> list[str]:
        """The keys in the file, sorted."""
        return sorted(key for (key,) in self.rows("SELECT key FROM documents", name))

    def forked(
        self, *arguments: Argument, streams: Mapping[int, int | None] = MappingProxyType({})
    ) -> BaseProcess:
        """Run a command in a process that is forked, and that ends with its status."""
        return forked(lambda: sys.exit(self(*arguments, streams=streams).status))

    def start(self, *arguments: Argument, **options: Any) -> subprocess.Popen[bytes]:
        """Start the installed command in its own process group, as a shell does."""
        return subprocess.Popen(
            [installed(), *arguments],
            cwd=self.directory,
            env=self.variables,
            start_new_session=True,
            **options,
        )

    def on_terminal(
        self,
        *arguments: Argument,
        stdin: bytes | None = None,
        typed: bytes = b"",
        columns: int = 100,
        output: Path | None = None,
    ) -> tuple[str, int]:
        """Run a command on a terminal: what it showed, and its exit status.

        With `output`, its standard output goes to this file and only the rest to the terminal.
        """
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.write(ours, typed)
        with ExitStack() as stack:
            given: int | None = theirs
            out = theirs
            if stdin is not None:
                given = stack.enter_context(_input(stdin))
            if output is not None:
                out = stack.enter_context(output.open("wb")).fileno()
            reader = stack.enter_context(ThreadPoolExecutor(1))
            shown = reader.submit(_shown, ours)
            try:
                status = self._run(arguments, {0: given, 1: out, 2: theirs})
            finally:
                os.close(theirs)  # which ends what is shown
        return shown.result().decode().replace("\r\n", "\n"), status


def _close(name: str) -> None:
    """Close a standard stream of a command, or what it opened in its place.

    Messages that cannot be written are nobody's concern; output must be written by then.
    """
    if (file := getattr(sys, name)) is not None:
        with suppress(*([OSError] if name == "stderr" else [])):
            file.close()


def _shown(terminal: int) -> bytes:
    """What is written to a terminal until nobody has it open."""
    with open(terminal, "rb", buffering=0) as file:
        shown = b""
        # The end of a terminal's output is an error under Linux, and empty on other systems.
        with suppress(OSError):
            while piece := file.read(65536):
                shown += piece
    return shown


@cache
def _built() -> Any:
    """The command line, with all commands: most of a short run would be building them."""
    built = _make_app()
    for name in app.COMMANDS:
        built.get_command(None, name)
    return built


_make_app = app.make_app
_PIPE = 60_000
"""Bytes that a pipe holds on any system: more input comes from a file."""


@contextmanager
def _input(given: str | bytes | int | None) -> Iterator[int | None]:
    """A descriptor of standard input: that of an open file, or a pipe, as most commands have."""
    if given is None or isinstance(given, int):
        yield given
        return
    data = _encoded(given)
    if len(data) > _PIPE:
        with TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            yield file.fileno()
        return
    ours, theirs = os.pipe()
    try:
        with open(theirs, "wb") as file:
            file.write(data)
        yield ours
    finally:
        os.close(ours)


def _encoded(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def until(holds: Callable[[], T | None]) -> T:
    """Wait until something holds, and return it; TimeoutError if it never does."""
    deadline = monotonic() + TIMEOUT
    while not (found := holds()):
        if monotonic() > deadline:
            raise TimeoutError
        sleep(0.01)
    return found


@contextmanager
def ended_if_hanging() -> Iterator[None]:
    """Raise TimeoutError in what has taken seconds of CPU time, where milliseconds are enough."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, TIMEOUT / 12)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def is_running(pid: int) -> bool:
    """Whether a process runs, by /proc: not if it has ended and nobody has asked for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Wait for a command that was started: its exit status, and what it said on standard error."""
    try:
        _, said = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, (said or b"").decode()


# a served site, and what a browser without scripts makes of its pages

VOID = frozenset(["meta", "link", "input", "img", "br"])


@dataclass(frozen=True)
class Answer:
    """A response: its status, headers with small names, and text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def page(self) -> Parsed:
        parsed = Parsed()
        parsed.feed(self.text)
        parsed.close()
        assert not parsed.open, f"never closed: {parsed.open}"
        return parsed


class Parsed(HTMLParser):
    """The elements of a page, with their attributes and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[int] = []
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}, []))
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):  # type: ignore[union-attr]
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        if self.get_starttag_text() and self.open and self.elements[self.open[-1]][0] == tag:
            self.open.pop()
        elif tag not in ("line", "path", "polyline", "circle", "rect"):
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        for index in self.open:
            self.elements[index][2].append(data)

    def texts(self, tag: str, **attributes: str) -> list[str]:
        """The texts of the elements of a name (`class_` is the attribute class)."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [
            "".join(parts)
            for name, given, parts in self.elements
            if name == tag and wanted.items() <= given.items()
        ]

    def values(self, attribute: str, text: str | None = None, **attributes: str) -> list[str]:
        """The values of an attribute: all, or of elements with this text and other attributes."""
        return [
            given[attribute]
            for _, given, parts in self.elements
            if attribute in given
            and attributes.items() <= given.items()
            and text in (None, "".join(parts))
        ]


class Site:
    """A running server."""

    def __init__(self, base: str) -> None:
        self.base = base.rstrip("/")
        parts = urlsplit(self.base)
        assert parts.hostname is not None
        self.host, self.port, self.root = parts.hostname, parts.port, parts.path

    def get(self, page: str = "", /, **query: object) -> Answer:
        """One of our pages, by its path below the address of the overview."""
        path = f"{self.root}/{page}"
        return self.ask(f"{path}?{urlencode(query)}" if query else path)

    def post(self, page: str, /, **form: str) -> Answer:
        """Send a form."""
        return self.ask(f"{self.root}/{page}", urlencode(form).encode())

    def ask(
        self,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        method: str | None = None,
    ) -> Answer:
        """Send any request: without a method a GET, or with a body a POST."""
        path = path.partition("#")[0]
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        try:
            connection.request(
                method or ("GET" if body is None else "POST"), path, body, dict(headers or {})
            )
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        return Answer(answer.status, {n.lower(): v for n, v in answer.getheaders()}, text)


@contextmanager
def served(directory: Path, *arguments: str, end: int = signal.SIGINT) -> Iterator[Site]:
    """`lshdb serve` in a directory; at the end a signal must stop it in order."""
    process = Command(directory).start(
        "serve",
        "--port",
        "0",
        *arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().decode().strip()
        assert address, finish(process)
        yield Site(address)
    finally:
        process.send_signal(end)
        ended = finish(process)
    assert ended == (0, "Ctrl-C ends it\n")


@contextmanager
def datasette(directory: Path, *files: str) -> Iterator[Site]:
    """Datasette itself, with any files, as `datasette serve` starts it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "datasette", "serve", "--port", "0", *files],
        cwd=directory,
        env=environment(directory),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = ""
    try:
        while (running := re.search(r"running on (http://\S+:\d+)", said)) is None:
            line = process.stderr.readline().decode()
            assert line, said
            said += line
        yield Site(f"{running[1]}/-/lshdb")
    finally:
        process.send_signal(signal.SIGINT)
        said = finish(process)[1]
    # Datasette logs what lshdb's rules for SQL refuse.
    refused = r"Traceback(?:(?!Traceback).)*?sqlite3\.\w+: (not authorized|string or blob too big)"
    said = re.sub(refused, "", said, flags=re.DOTALL)
    assert "Traceback" not in said, said


def eventually(site: Site, page: str, /, **query: object) -> Answer:
    """A page that the server makes in the background: ask until it is there."""

    def answered() -> Answer | None:
        answer = site.get(page, **query)
        return None if answer.page.values("http-equiv") == ["refresh"] else answer

    return until(answered)


def new_session(of_sets: OfSets = False, **options: Any) -> Session:
    """A session that reads with these options; keys of files are from the current directory."""
    return Session(SessionOptions(of_sets, **{"root": os.path.realpath("."), **options}))
