"""One object for all threads of a program, and for asyncio, that queries a file and adds to it.

A Database belongs to one thread, and each write waits for the disk. Here one thread writes: all
documents that came while it waited become one transaction. Some other threads read. Callers wait
for their answers. `scripts/bench service` measures the gain.

Between calls the writer writes band rows that a large or killed addition has
not written yet (lshdb.store.late): until they are written, each query computes them from the
signatures, in 150 ms instead of 1 ms where 50,000 documents wait.
"""

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from lshdb import errors, model
from lshdb.apps.compare.admission import Admission
from lshdb.apps.compare.options import AdmissionOptions
from lshdb.apps.service.arrivals import Arrival, Arrived, take
from lshdb.apps.service.options import ArrivalOptions
from lshdb.database import Database, opened, store_of
from lshdb.groups import Option, check_value
from lshdb.options import FileName, OpenOptions, QueryOptions, RemoveOptions
from lshdb.results import Result
from lshdb.store import late
from lshdb.store.store import Store
from lshdb.taking import takes
from lshdb.write.batches import batch_of

if TYPE_CHECKING:
    from lshdb.search.result_tables import Matches

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Task = Arrival | Callable[[Database], Any]
_Result = tuple[Any, Sequence[errors.Cut]]
"""What a call returns, and the cuts of limits that it warns of."""

_GATHERED = 128
"""Maximum number of calls that one transaction takes: those that wait behind it wait for it."""
_LOOK_SECONDS = 1.0
"""Seconds between two looks for band rows to write, which take 50 us each."""
RETRY_SECONDS = 60.0
"""Seconds until writing them is tried again after an error."""
_LATE_ROWS = 50_000
"""Band rows written late in one transaction, in 50 ms: calls wait for no longer."""

_is_awaited = ContextVar("_is_awaited", default=False)
"""Whether a method returns the future of its result, as `Service.awaitable` needs it."""


@dataclass(frozen=True, slots=True)
class ServiceStats(Result):
    """How busy a lshdb.Service is, since it was opened; see Service.stats.

    Attributes:
        queued: calls that wait for their result.
        answered: calls that got their result or their error; cancelled ones do not count.
        failed: of these, how many got an error.
        unindexed: documents that waited for rows of the index when the service looked last:
            queries are slower until it has written these rows.
        index_error: why its last attempt to write these rows failed, which it repeats; None if it
            did not fail.
    """

    queued: int
    answered: int
    failed: int
    unindexed: int
    index_error: str | None


@dataclass(frozen=True, slots=True)
class _Call:
    """A task for a thread, and the future of its result."""

    task: _Task
    result: "Future[_Result]"


_Calls = SimpleQueue[_Call | None]
"""None ends each thread that takes it, and puts it back for the others."""


class Service:
    """A database for all threads of a program, and for asyncio.

    Use it as a context manager, or call `close`. Methods raise what those of lshdb.Database raise;
    for asyncio, `awaitable` calls them. When `add` or `write` returns, its changes are on the disk,
    and every later call sees them. A forked process opens a service of its own, and only if the
    parent had none open when it forked.

    Rows of the index that a large addition left to be written, here or in another process, are
    written by the service itself, within seconds.

    Args:
        path: the file, which is made if there is none.
        readers: how many calls read at once.
        settings: the other options of lshdb.open.

    Raises:
        StoreError: as lshdb.open; or the file was replaced while it was being opened.

    Warns:
        SettingsWarning: the file's index has other settings than those given, such as another
            threshold since it was reindexed: its own are used.

    >>> import lshdb
    >>> with lshdb.Service("news.db", threshold=0.5) as service:
    ...     first = service.add("a", "The fox and the grapes")
    ...     second = service.add("b", "The FOX and the grapes!", skip_similar=True)
    ...     first.outcome, second.outcome, second.matches[0].key, len(service.query("the fox"))
    ('added', 'similar', 'a', 0)
    """

    def __init__(self, path: FileName = "lsh.db", *, readers: int = 2, **settings: Any) -> None:
        check_value("readers", readers, int, Option("", min=1, max=64))
        options = OpenOptions.of_call("Service", [path], settings)
        reading = OpenOptions(path, mode="read", timeout=options.timeout, limits=options.limits)
        self.path = Path(path)
        self._threads = threads = _Threads(self.path)
        weakref.finalize(self, threads.end)
        try:
            threads.begin(options, threads.write)
            for _ in range(readers):
                threads.begin(reading, threads.read)
            for cut in threads.cuts:
                errors.warn_of_limit(cut)
            if threads.note:
                errors.warn(errors.SettingsWarning(threads.note))
        except BaseException:
            threads.end()
            raise

    def __repr__(self) -> str:
        return f"<lshdb.Service {str(self.path)!r}{', closed' * self._threads.is_closed}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish all calls, and close the file; safe to call twice, and after a fork."""
        self._threads.end()

    def stats(self) -> ServiceStats:
        """How busy the service is; it never waits, so that asyncio may call it, too.

        >>> import lshdb
        >>> with lshdb.Service("news.db") as service:
        ...     arrived = service.add("a", "The fox and the grapes")
        ...     stats = service.stats()
        ...     stats.queued, stats.answered, stats.failed
        (0, 1, 0)
        """
        self._threads.check_process()
        return self._threads.stats()

    @takes(ArrivalOptions)
    def add(self, options: ArrivalOptions) -> Arrived:
        """Answer what is similar to a document, and add it, in one step.

        Nothing is added between the question and the addition: of equal documents that come at
        the same moment, one is first, and the others' matches name it.

        Raises:
            ContentError: the database cannot take it.
        """
        document = model.Document(**vars(options.document))
        batch = batch_of(document, *self._threads.batch_settings)
        arrival = Arrival(batch, options.find, options.skip_similar)
        arrived: Arrived = self._ask(self._threads.writes, arrival)
        return arrived

    @takes(AdmissionOptions)
    def add_unless_similar(self, options: AdmissionOptions) -> Admission:
        """Add a document unless similar ones are stored, as Database.add_unless_similar.

        Each is a transaction of its own; of many that come together, `add` takes more a second.

        >>> import lshdb
        >>> with lshdb.Service("memory.db", purpose="short-text") as service:
        ...     first = service.add_unless_similar("1", "Ann has lived in Berlin since 2019.")
        ...     second = service.add_unless_similar("2", "Ann has lived in Munich since 2019.")
        ...     second.outcome, second.similar[0].changes
        ('similar', (Change(given='Munich', stored='Berlin'),))
        """
        return self.write(lambda database: database.add_unless_similar(options))

    @takes(RemoveOptions)
    def remove(self, options: RemoveOptions) -> int:
        """Remove documents, as Database.remove; it returns how many were removed.

        >>> import lshdb
        >>> with lshdb.Service("news.db") as service:
        ...     arrived = service.add("a", "The fox and the grapes")
        ...     service.remove("a"), service.remove("a", missing_ok=True)
        (1, 0)
        """
        return self.write(lambda database: database.remove(options))

    @takes(QueryOptions)
    def query(self, options: QueryOptions) -> "Matches":
        """The stored documents similar to one, as Database.query."""
        return self.read(lambda database: database.query(options))

    def read(self, use: Callable[[Database], _T]) -> _T:
        """Call a function with the database, which it may only read, and return its result.

        The function runs in another thread. It must read iterators of the database to their end.

        >>> import lshdb
        >>> with lshdb.Service("news.db") as service:
        ...     arrived = service.add("a", "The fox and the grapes")
        ...     service.read(lambda db: db.keys())
        ['a']
        """
        result: _T = self._ask(self._threads.reads, use)
        return result

    def write(self, use: Callable[[Database], _T]) -> _T:
        """Call a function that may write, such as `lambda db: db.add_files(["news/"])`.

        Returns its result; additions wait until it has returned.
        """
        result: _T = self._ask(self._threads.writes, use)
        return result

    async def awaitable(
        self, method: Callable[_P, _T], *arguments: _P.args, **options: _P.kwargs
    ) -> _T:
        """Call a method of the service, and wait for its result without a thread, for asyncio.

        A task that is cancelled may still add its document.

        >>> import asyncio, lshdb
        >>> async def add(service):
        ...     arrived = await service.awaitable(service.add, "a", "The fox and the grapes")
        ...     return arrived.outcome, len(await service.awaitable(service.query, key="a"))
        >>> with lshdb.Service("news.db") as service:
        ...     asyncio.run(add(service))
        ('added', 0)
        """
        token = _is_awaited.set(True)
        try:
            future = method(*arguments, **options)
        finally:
            _is_awaited.reset(token)
        if not isinstance(future, Future):
            raise errors.UsageError("awaitable takes a method that reads or writes, such as add")
        result: _T = _warned(await asyncio.wrap_future(future))
        return result

    def _ask(self, calls: _Calls, task: _Task) -> Any:
        """The result of a task for the threads that take these calls."""
        future = self._threads.ask(calls, task)
        return future if _is_awaited.get() else _warned(future.result())


def _warned(result: _Result) -> Any:
    """What a call returns, after warnings about what limits cut of it."""
    value, cuts = result
    for cut in cuts:
        errors.warn_of_limit(cut)
    return value


class _Closing(Exception):
    """The service is being closed: band rows are left to the next writer."""


class _Threads:
    """The threads of a service. They have no reference to it: it may be collected.

    No error ends one of them: the calls that it answers get the error, and it goes on.

    Attributes:
        path: the file.
        reads, writes: calls that wait for a reader, or the writer.
        batch_settings: the settings and limits of documents, as the writer found them.
        note, cuts: the text of a warning, and the cuts of limits, from opening the file.
        is_closed: whether no more calls are taken.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reads, self.writes = _Calls(), _Calls()
        self.note, self.cuts = "", list[errors.Cut]()
        self.is_closed = False
        self._process = os.getpid()
        self._store: Store | None = None
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        """Guards `is_closed` and the counters, for microseconds."""
        self._queued = self._answered = self._failed = self._unindexed = 0
        self._index_error: str | None = None

    # for the service

    def check_process(self) -> None:
        """UsageError in a forked process."""
        if os.getpid() != self._process:
            raise errors.UsageError(
                f"{self.path} was open as a service when this process was forked: open the service "
                "after the fork, in each process"
            )

    def begin(self, options: OpenOptions, work: Callable[[Database], None]) -> None:
        """Begin a thread that opens the file, and works on it; raise the error of opening."""
        ready: Future[None] = Future()

        def run() -> None:
            try:
                database = self._open(options)
            except BaseException as error:
                ready.set_exception(error)
                return
            with database:
                ready.set_result(None)
                work(database)

        # A daemon, as the interpreter waits for other threads before it runs what ends this one.
        thread = threading.Thread(target=run, name="lshdb.Service", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            raise errors.StoreError(
                f"{self.path}: a thread of the service cannot be started: {error}"
            ) from error
        self._threads.append(thread)
        ready.result()

    def ask(self, calls: _Calls, task: _Task) -> "Future[_Result]":
        """Queue a task for the threads that take these calls; return the future of its result."""
        self.check_process()
        if threading.current_thread() in self._threads:  # it would wait for itself
            raise errors.UsageError(
                "a function of read or write uses the Database that it is given"
            )
        call = _Call(task, Future())
        with self._lock:
            if self.is_closed:
                raise errors.UsageError(f"{self.path} is closed: open another service")
            calls.put(call)
            self._queued += 1
        return call.result

    def end(self) -> None:
        """End the readers, then the writer: the last connection to close removes the log."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self.is_closed = True  # no call comes after what ends the threads
        for calls, threads in (
            (self.reads, self._threads[1:]),
            (self.writes, self._threads[:1]),
        ):
            calls.put(None)
            for thread in threads:
                if thread is not threading.current_thread():
                    thread.join()

    def stats(self) -> ServiceStats:
        """How busy the threads are; see Service.stats."""
        with self._lock:
            return ServiceStats(
                self._queued, self._answered, self._failed, self._unindexed, self._index_error
            )

    # in the threads

    def _open(self, options: OpenOptions) -> Database:
        """Open the file that the first thread opened: the path may lead elsewhere by now."""
        first = self._store
        if first is None:
            with errors.limits_noted() as self.cuts:  # warnings name a line of the caller's thread
                database, self.note = opened(options)
            self._store = store = store_of(database)
            self.batch_settings = store.settings, store.limits
            return database
        return Database(
            Store.open(
                first.path, options.mode, options.timeout, beside=first, limits=options.limits
            )
        )

    def read(self, database: Database) -> None:
        """Answer calls that read, until the service is closed."""
        while self._answer(database, self.reads, 1):
            pass

    def write(self, database: Database) -> None:
        """Answer calls that write, until the service is closed, and write band rows meanwhile."""
        store, look = store_of(database), time.monotonic()
        while self._answer(
            database,
            self.writes,
            _GATHERED,
            None if store.read_only else max(0.0, look - time.monotonic()),
        ):
            if not store.read_only and time.monotonic() >= look:
                self._write_late(database)
                look = time.monotonic() + (RETRY_SECONDS if self._index_error else _LOOK_SECONDS)

    def _write_late(self, database: Database) -> None:
        """Write band rows that wait, if there are some, unless others still add some."""
        store, error = store_of(database), None
        rows = min(_LATE_ROWS, store.limits.reindex_rows)

        def answer(*_: object) -> None:
            if not self._answer(database, self.writes, _GATHERED, 0.0):
                raise _Closing

        try:
            self._unindexed = _unindexed(store)
            if self._unindexed:
                late.complete(store, answer, replace(store.limits, reindex_rows=rows))
                self._unindexed = _unindexed(store)
        except _Closing:
            return
        except Exception as raised:  # answers go on without them
            error = str(raised) or repr(raised)
        self._index_error = error

    def _answer(
        self, database: Database, calls: _Calls, max_calls: int, seconds: float | None = None
    ) -> bool:
        """Wait some seconds for a call, and answer it with those behind it; False at the end."""
        gathered: list[_Call] = []
        try:
            is_open = _gather(calls, max_calls, seconds, gathered)
            running = [call for call in gathered if call.result.set_running_or_notify_cancel()]
            with self._lock:
                self._queued -= len(gathered) - len(running)  # were cancelled
            # Arrivals one after another are one transaction; of other calls each is its own.
            for _, group in groupby(
                running, lambda call: Arrival if isinstance(call.task, Arrival) else call
            ):
                self._do(database, list(group))
        except BaseException as error:  # such as a MemoryError
            for call in gathered:
                with suppress(InvalidStateError):  # it has its answer, or was cancelled
                    self._settle(call, error=error)
            return True
        return is_open

    def _do(self, database: Database, calls: Sequence[_Call]) -> None:
        """Run one function, or take arrivals; give each call its result or its error."""
        tasks: list[Any] = [call.task for call in calls]
        try:
            if isinstance(tasks[0], Arrival):
                results: Sequence[_Result] = take(store_of(database), tasks)
            else:
                with errors.limits_noted() as cuts:
                    results = [(tasks[0](database), cuts)]
        except BaseException as error:
            if len(calls) > 1 and not isinstance(error, errors.Busy):
                # None of them was written. Separately, only the call at fault fails.
                for call in calls:
                    self._do(database, [call])
                return
            for call in calls:
                self._settle(call, error=error)
        else:
            for call, result in zip(calls, results, strict=True):
                self._settle(call, result)

    def _settle(
        self, call: _Call, result: _Result = (None, ()), error: BaseException | None = None
    ) -> None:
        """Give a call its result or its error, and count it before."""
        if call.result.done():
            return
        with self._lock:
            self._queued -= 1
            self._answered += 1
            self._failed += error is not None
        if error is None:
            call.result.set_result(result)
        else:
            call.result.set_exception(error)


def _unindexed(store: Store) -> int:
    """How many documents wait for band rows."""
    with store.reading():
        return 0 if store.indexed_to is None else store.unindexed()


def _gather(calls: _Calls, max_calls: int, seconds: float | None, gathered: list[_Call]) -> bool:
    """Wait some seconds for a call, and add it and those behind it to `gathered`; False at the end.

    None for `seconds` waits for as long as it takes.
    """
    with suppress(Empty):
        while len(gathered) < max_calls:
            call = calls.get(timeout=0.0 if gathered else seconds)
            if call is None:
                calls.put(None)
                return False
            gathered.append(call)
    return True
