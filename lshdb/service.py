"""One object for all threads of a program, and for asyncio, that queries a file and adds to it.

A Database belongs to one thread, and each write waits for the disk. Here one thread writes: all
calls that came while it waited become one transaction. Some other threads read. Callers wait for
their answers. `scripts/bench service` measures the gain.

Another thread writes band rows that a large or killed addition has not written yet
(lshdb.store.late): until they are written, each query computes them from the signatures, in 150 ms
instead of 1 ms where 50,000 documents wait.
"""

import asyncio
import dataclasses
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import median
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from lshdb import errors, model
from lshdb.database import Database, store_of
from lshdb.groups import Option, check_value, takes
from lshdb.ingest.arrivals import Arrival, take
from lshdb.ingest.batches import batch_of
from lshdb.limits import Limits
from lshdb.opening import opened
from lshdb.options import (
    AdmissionOptions,
    ArrivalOptions,
    FileName,
    OpenOptions,
    QueryOptions,
    RemoveOptions,
)
from lshdb.sketching.settings import Settings
from lshdb.store import late
from lshdb.store.store import Store

if TYPE_CHECKING:
    from lshdb.exchange.result_tables import Matches

_T = TypeVar("_T")
_GATHERED = 128
"""Maximum number of calls that one transaction takes: those that wait behind it wait for it."""
_TIMED = 1_000
"""Number of the last answers whose times `stats` reports."""
_LOOK_SECONDS = 1.0
"""Seconds between two looks for band rows to write, which take 50 us each."""
_RETRY_SECONDS = 60.0
"""Maximum seconds until writing them is tried again after an error."""
_LATE_ROWS = 50_000
"""Band rows written late in one transaction, in 50 ms: additions wait for no longer."""
_LATE_TIMEOUT = 5.0
"""Seconds that their thread waits for other writers, and so may `close` for it."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Call:
    """A task for a thread, the future of its result, and the time of the call."""

    result: "Future[Any]"
    task: Arrival | Callable[[Database], Any]
    since: float = dataclasses.field(default_factory=time.monotonic)


_Calls = SimpleQueue[_Call | None]
"""None ends the thread that takes it."""


class Service:
    """A database for all threads of a program, and for asyncio.

    Use it as a context manager, or call `close`. Methods raise what those of lshdb.Database raise;
    each has a twin for asyncio, whose name ends in `_async`. When `add` or `write` returns, its
    changes are on the disk, and every later call sees them. A forked process opens a service of
    its own, and only if the parent had none open when it forked.

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
        self._closing = threading.Lock()
        self._threads = threads = _Threads(self.path)
        self._end = weakref.finalize(self, threads.end)
        self._ask_reader = partial(threads.ask, threads.reads)
        self._ask_writer = partial(threads.ask, threads.writes)
        try:
            self._batch_settings, note, cuts = threads.begin(options, threads.writes, _GATHERED)
            for _ in range(readers):
                threads.begin(reading, threads.reads, 1)
            if options.mode != "read":
                threads.begin_indexer(options)
            threads.check_begun()
            for cut in cuts:
                errors.warn_of_limit(cut)
            if note:
                errors.warn(errors.SettingsWarning(note))
        except BaseException:
            self._end()
            raise

    def __repr__(self) -> str:
        return f"<lshdb.Service {str(self.path)!r}{'' if self._end.alive else ', closed'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle an open Service: pass its path, {str(self.path)!r}, and call "
            "lshdb.Service there"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish all calls, and close the file; safe to call twice, and after a fork."""
        if self._threads.in_same_process:
            with self._closing:
                self._end()

    def stats(self) -> model.ServiceStats:
        """How busy the service is; it never waits, so that asyncio may call it, too.

        >>> import lshdb
        >>> with lshdb.Service("news.db") as service:
        ...     arrived = service.add("a", "The fox and the grapes")
        ...     stats = service.stats()
        ...     stats.queued, stats.answered, stats.failed, 0 < stats.slowest_seconds < 60
        (0, 1, 0, True)
        """
        self._threads.check_process()
        return self._threads.stats()

    @takes(ArrivalOptions)
    def add(self, options: ArrivalOptions) -> model.Arrived:
        """Answer what is similar to a document, and add it, in one step.

        Nothing is added between the question and the addition: of equal documents that come at
        the same moment, one is first, and the others' matches name it.

        Raises:
            ContentError: the database cannot take it.
        """
        return _warned(self._ask_writer(self._arrival(options)).result())

    @takes(ArrivalOptions)
    async def add_async(self, options: ArrivalOptions) -> model.Arrived:
        """The same as `add`, for asyncio; a task that is cancelled may still add the document."""
        future = self._ask_writer(self._arrival(options))
        return _warned(await asyncio.wrap_future(future))

    @takes(AdmissionOptions)
    def add_unless_similar(self, options: AdmissionOptions) -> model.Admission:
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

    @takes(AdmissionOptions)
    async def add_unless_similar_async(self, options: AdmissionOptions) -> model.Admission:
        """The same as `add_unless_similar`, for asyncio."""
        return await self.write_async(lambda database: database.add_unless_similar(options))

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

    @takes(RemoveOptions)
    async def remove_async(self, options: RemoveOptions) -> int:
        """The same as `remove`, for asyncio."""
        return await self.write_async(lambda database: database.remove(options))

    @takes(QueryOptions)
    def query(self, options: QueryOptions) -> "Matches":
        """The stored documents similar to one, as Database.query."""
        return self.read(lambda database: database.query(options))

    @takes(QueryOptions)
    async def query_async(self, options: QueryOptions) -> "Matches":
        """The same as `query`, for asyncio."""
        return await self.read_async(lambda database: database.query(options))

    def read(self, use: Callable[[Database], _T]) -> _T:
        """Call a function with the database, which it may only read, and return its result.

        The function runs in another thread. It must read iterators of the database to their end.

        >>> import lshdb
        >>> with lshdb.Service("news.db") as service:
        ...     arrived = service.add("a", "The fox and the grapes")
        ...     service.read(lambda db: db.keys())
        ['a']
        """
        result: _T = self._ask_reader(use).result()
        return result

    async def read_async(self, use: Callable[[Database], _T]) -> _T:
        """The same as `read`, for asyncio."""
        result: _T = await asyncio.wrap_future(self._ask_reader(use))
        return result

    def write(self, use: Callable[[Database], _T]) -> _T:
        """Call a function that may write, such as `lambda db: db.add_files(["news/"])`.

        Returns its result; additions wait until it has returned.
        """
        result: _T = self._ask_writer(use).result()
        return result

    async def write_async(self, use: Callable[[Database], _T]) -> _T:
        """The same as `write`, for asyncio."""
        result: _T = await asyncio.wrap_future(self._ask_writer(use))
        return result

    def _arrival(self, options: ArrivalOptions) -> Arrival:
        document = model.Document(**vars(options.document))
        return Arrival(
            batch_of(document, *self._batch_settings), options.find, options.skip_similar
        )


def _warned(answer: tuple[model.Arrived, Sequence[errors.Cut]]) -> model.Arrived:
    """The answer, after warnings about what limits cut of it."""
    arrived, cuts = answer
    for cut in cuts:
        errors.warn_of_limit(cut)
    return arrived


class _Closing(Exception):
    """The service is being closed: band rows are left to the next writer."""


_Opened = tuple[tuple[Settings, Limits], str, Sequence[errors.Cut]]
"""The settings and limits of a file, the text of a warning, and the cuts of limits."""


class _Threads:
    """The threads of a service. They have no reference to it: it may be collected.

    If one of them ends by an error, the service is of no use any more: calls that wait, and all
    later ones, get that error.

    Attributes:
        path: the file.
        reads, writes: calls that wait for a reader, or the writer.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reads, self.writes = _Calls(), _Calls()
        self._process = os.getpid()
        self._first: Store | None = None
        self._lock = threading.Lock()
        """Guards all that follows; it is held for some microseconds."""
        self._threads: list[tuple[threading.Thread, _Calls | None]] = []
        self._is_closed = False
        self._failure: BaseException | None = None
        self._calls_queued = self._cancelled = self._running = self._answered = self._failed = 0
        self._seconds = deque[float](maxlen=_TIMED)
        self._stop_indexing = threading.Event()
        self._unindexed = 0
        self._index_error: str | None = None

    # for the service

    @property
    def in_same_process(self) -> bool:
        """Whether this is the process that began the threads, no forked one."""
        return os.getpid() == self._process

    def check_process(self) -> None:
        """UsageError in a forked process."""
        if not self.in_same_process:
            raise errors.UsageError(
                f"{self.path} was open as a service when this process was forked: open the service "
                "after the fork, in each process"
            )

    def begin(self, options: OpenOptions, calls: _Calls, max_calls: int) -> _Opened:
        """Begin a thread that answers calls, up to `max_calls` of them at once."""
        return self._begin(options, partial(self._answer, calls, max_calls), calls)

    def begin_indexer(self, options: OpenOptions) -> None:
        """Begin the thread that writes band rows late."""
        rows = min(_LATE_ROWS, options.limits.reindex_rows)
        writing = OpenOptions(
            options.path,
            mode="write",
            timeout=min(_LATE_TIMEOUT, options.timeout),
            limits=dataclasses.replace(options.limits, reindex_rows=rows),
        )
        self._begin(writing, self._index, None)

    def _begin(
        self, options: OpenOptions, work: Callable[[Database], None], calls: _Calls | None
    ) -> _Opened:
        """Begin a thread that opens the file, and works on it until the service is closed.

        Returns what it opened, or raises its error.
        """
        ready: Future[_Opened] = Future()

        def run() -> None:
            try:
                database, result = self._open(options)
                with database:
                    ready.set_result(result)
                    work(database)
            except BaseException as error:
                if ready.done():
                    self._fail(error)
                else:
                    ready.set_exception(error)

        # A daemon, as the interpreter waits for other threads before it runs what ends this one.
        thread = threading.Thread(target=run, name="lshdb.Service", daemon=True)
        self._threads.append((thread, calls))
        try:
            thread.start()
        except RuntimeError as error:
            raise errors.StoreError(
                f"{self.path}: a thread of the service cannot be started: {error}"
            ) from error
        return ready.result()

    def check_begun(self) -> None:
        """StoreError if the file was replaced after the writer opened it, before others did."""
        self.ask(self.writes, lambda database: database.settings).result()
        with self._lock:
            self._calls_queued = self._answered = 0
            self._seconds.clear()

    def ask(self, calls: _Calls, task: Arrival | Callable[[Database], Any]) -> "Future[Any]":
        """Queue a task for the threads that take these calls; return the future of its result."""
        self.check_process()
        if threading.current_thread() in (thread for thread, _ in self._threads):
            # It would wait for itself.
            raise errors.UsageError(
                "a function of read or write uses the Database that it is given"
            )
        call = _Call(Future(), task)
        with self._lock:
            if self._is_closed:
                raise errors.UsageError(f"{self.path} is closed: open another service")
            if self._failure is not None:
                raise self._failed_with(self._failure)
            calls.put(call)
            self._calls_queued += 1
        return call.result

    def end(self) -> None:
        """End the readers, then the writer: the last connection to close removes the log."""
        if not self.in_same_process:
            return
        self._stop_indexing.set()
        with self._lock:
            self._is_closed = True  # no call comes after what ends the threads
        for group in (self._threads[1:], self._threads[:1]):
            for _, calls in group:
                if calls is not None:
                    calls.put(None)
            for thread, _ in group:
                if thread is not threading.current_thread():
                    with suppress(RuntimeError):  # it could not be started
                        thread.join()

    def stats(self) -> model.ServiceStats:
        """How busy the threads are; see Service.stats."""
        with self._lock:
            return model.ServiceStats(
                queued=self._calls_queued - self._cancelled - self._running - self._answered,
                running=self._running,
                answered=self._answered,
                failed=self._failed,
                median_seconds=median(self._seconds) if self._seconds else 0.0,
                slowest_seconds=max(self._seconds, default=0.0),
                unindexed=self._unindexed,
                index_error=self._index_error,
            )

    # in the threads

    def _open(self, options: OpenOptions) -> tuple[Database, _Opened]:
        """Open the file that the first thread opened: the path may lead elsewhere by now."""
        first = self._first
        if first is None:
            with errors.limits_noted() as cuts:  # warnings name a line of the caller's thread
                database, note = opened(options)
            self._first = store = store_of(database)
            return database, ((store.settings, store.limits), note, cuts)
        store = Store.open(
            first.path, options.mode, options.timeout, beside=first, limits=options.limits
        )
        return Database(store), ((store.settings, store.limits), "", ())

    def _answer(self, calls: _Calls, max_calls: int, database: Database) -> None:
        """Answer calls until None comes, up to `max_calls` of them at once."""
        gathered: list[_Call] = []
        try:
            while _gather(calls, max_calls, gathered):
                self._answer_calls(database, gathered)
                gathered.clear()  # texts and results may be large
        except BaseException as error:
            self._fail(error, gathered)

    def _answer_calls(self, database: Database, gathered: Sequence[_Call]) -> None:
        # A call that was cancelled before is left out.
        running = [call for call in gathered if call.result.set_running_or_notify_cancel()]
        with self._lock:
            self._cancelled += len(gathered) - len(running)
        # Arrivals one after another are one transaction; of other calls each is its own.
        for task, group in groupby(
            running, lambda call: Arrival if isinstance(call.task, Arrival) else call
        ):
            calls = list(group)
            with self._lock:
                self._running += len(calls)
            self._do(
                calls,
                partial(take, store_of(database))
                if task is Arrival
                else lambda uses: [use(database) for use in uses],
            )

    def _do(self, calls: Sequence[_Call], do: Callable[[list[Any]], Sequence[object]]) -> None:
        """Run the tasks of some calls, and give each call its result or its error."""
        try:
            results = do([call.task for call in calls])
        except BaseException as error:
            if len(calls) > 1 and not isinstance(error, errors.Busy):
                # None of them was written. Separately, only the call at fault fails.
                for call in calls:
                    self._do([call], do)
                return
            for call in calls:
                self._settle(call, error=error)
        else:
            for call, result in zip(calls, results, strict=True):
                self._settle(call, result)

    def _settle(
        self, call: _Call, result: object = None, *, error: BaseException | None = None
    ) -> None:
        """Count a call that is being answered, and give it its result or its error."""
        with self._lock:
            self._running -= call.result.running()
            self._answered += 1
            self._failed += error is not None
            self._seconds.append(time.monotonic() - call.since)
        if error is None:
            call.result.set_result(result)
        else:
            call.result.set_exception(error)

    def _fail(self, error: BaseException, gathered: Sequence[_Call] = ()) -> None:
        """Give the calls that a thread answers or that wait, and all later ones, its error.

        The error is raised if the service is closed, as no call can get it any more.
        """
        is_closed = self._is_closed
        with self._lock:
            # First: whoever gets the error may ask again at once, or close.
            self._failure = self._failure or error
            waiting = [call for call in gathered if not call.result.done()]
            for calls in (self.reads, self.writes):
                ends = 0
                with suppress(Empty):
                    while True:
                        call = calls.get_nowait()
                        ends += call is None
                        waiting += [call] if call is not None else []
                for _ in range(ends):
                    calls.put(None)
        for call in waiting:
            with suppress(InvalidStateError):  # it was cancelled
                self._settle(call, error=self._failed_with(error))
        if is_closed:
            raise error

    def _failed_with(self, error: BaseException) -> errors.StoreError:
        failure = errors.StoreError(
            f"{self.path}: a thread of the service ended by an error ({error or repr(error)}): "
            "close the service and open another one"
        )
        failure.__cause__ = error
        return failure

    def _index(self, database: Database) -> None:
        """Write band rows that wait, whenever there are some, unless others still add some."""
        store, pause = store_of(database), 0.0
        while not self._stop_indexing.wait(pause):
            error = None
            try:
                self._unindexed = _unindexed(store)
                if self._unindexed:
                    late.complete(store, self._check_indexing)
                    self._unindexed = _unindexed(store)
                pause = _LOOK_SECONDS
            except _Closing:
                return
            except Exception as raised:  # answers go on without them
                error = str(raised) or repr(raised)
                pause = min(_RETRY_SECONDS, max(_LOOK_SECONDS, 2 * pause))
            with self._lock:
                self._index_error = error

    def _check_indexing(self, *_: object) -> None:
        """Raise _Closing once the service is being closed."""
        if self._stop_indexing.is_set():
            raise _Closing


def _unindexed(store: Store) -> int:
    """How many documents wait for band rows."""
    with store.reading():
        return 0 if store.indexed_to is None else store.unindexed()


def _gather(calls: _Calls, max_calls: int, gathered: list[_Call]) -> bool:
    """Wait for the next call, and add it and the calls after it to `gathered`; False at the end."""
    call = calls.get()
    while call is not None:
        gathered.append(call)
        if len(gathered) == max_calls:
            break
        try:
            call = calls.get_nowait()
        except Empty:
            break
        if call is None:
            calls.put(None)  # taken again when these are done
    return bool(gathered)
