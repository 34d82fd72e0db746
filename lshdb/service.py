"""One object for all threads of a program, and for asyncio, that asks a file and adds to it.

A Database belongs to a thread, and each write waits for the disk. Here a thread writes, and takes
all that has gathered while it waited as one transaction; some threads read. Callers wait for their
answers. `scripts/bench service` shows what that saves.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from lshdb.database import Database
from lshdb.errors import Busy, Cut, UsageError, warn_of_limit
from lshdb.groups import Option, check_value, takes
from lshdb.ingest.arrivals import Arrival, take
from lshdb.ingest.batches import batch_of
from lshdb.model import Arrived, Document
from lshdb.opening import open_database
from lshdb.options import ArrivalOptions, QueryOptions

if TYPE_CHECKING:
    from lshdb.exchange.results import Matches

_T = TypeVar("_T")
_GATHERED = 128
"""Maximum number of calls that one transaction takes: those that wait behind it wait for it."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What a thread is asked to do, and where its result goes."""

    result: "Future[Any]"
    what: Arrival | Callable[[Database], Any]


_Calls = SimpleQueue[_Call | None]
"""None ends the thread that takes it."""


class Service:
    """A database for all threads of a program, and for asyncio.

    Use it as a context manager, or call `close`. Methods raise what those of lshdb.Database raise;
    each has a twin for asyncio, whose name ends in `_async`. What an `add` or `write` has returned
    from is on the disk, and every later call sees it. Forked processes open a service themselves,
    and may not do so while the parent has it open: open it after the fork.

    Args:
        path: the file, which is made if there is none.
        readers: how many calls read at once.
        settings: the other options of lshdb.open.

    >>> import lshdb
    >>> with lshdb.Service("news.db", threshold=0.5) as service:
    ...     first = service.add("a", "The fox and the grapes")
    ...     second = service.add("b", "The FOX and the grapes!", skip_similar=True)
    ...     first.outcome, second.outcome, second.matches[0].key, len(service.query("the fox"))
    ('added', 'similar', 'a', 0)
    """

    def __init__(
        self, path: str | os.PathLike[str] = "lsh.db", *, readers: int = 2, **settings: Any
    ) -> None:
        check_value("readers", readers, int, Option("", min=1, max=64))
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._reads, self._writes = _Calls(), _Calls()
        self._threads: list[tuple[threading.Thread, _Calls]] = []
        self._end = weakref.finalize(self, _end, self._process, self._threads)
        try:
            opened = partial(open_database, path, **settings)
            self._made_for = _begin(opened, self._writes, _GATHERED, self._threads)
            kept = {name: settings[name] for name in ("timeout", "limits") if name in settings}
            opened = partial(open_database, path, **kept, mode="read")
            for _ in range(readers):
                _begin(opened, self._reads, 1, self._threads)
        except BaseException:
            self._end()
            raise
        self.path = Path(path)

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
        """Finish what was asked for, and close the file; safe to call twice, and after a fork."""
        if os.getpid() == self._process:
            with self._lock:
                self._end()

    @takes(ArrivalOptions)
    def add(self, options: ArrivalOptions) -> Arrived:
        """Answer what is similar to a document, and add it, in one step.

        Nothing is added between the question and the addition: of equal documents that come at
        the same moment, one is first, and the others' matches name it.

        Raises:
            ContentError: the database cannot take it.
        """
        return _warned(self._call(self._writes, self._arrival(options)).result())

    @takes(ArrivalOptions)
    async def add_async(self, options: ArrivalOptions) -> Arrived:
        """The same as `add`, for asyncio; a task that is cancelled may still add the document."""
        future = self._call(self._writes, self._arrival(options))
        return _warned(await asyncio.wrap_future(future))

    @takes(QueryOptions)
    def query(self, options: QueryOptions) -> "Matches":
        """The stored documents similar to one, as Database.query."""
        return self.read(lambda database: database.query(options))

    @takes(QueryOptions)
    async def query_async(self, options: QueryOptions) -> "Matches":
        """The same as `query`, for asyncio."""
        return await self.read_async(lambda database: database.query(options))

    def read(self, use: Callable[[Database], _T]) -> _T:
        """What a function returns of the database, which it only reads.

        The function runs in another thread. An iterator that it makes is read within it.

        >>> import lshdb
        >>> with lshdb.Service("news.db") as service:
        ...     arrived = service.add("a", "The fox and the grapes")
        ...     service.read(lambda db: db.keys())
        ['a']
        """
        result: _T = self._call(self._reads, use).result()
        return result

    async def read_async(self, use: Callable[[Database], _T]) -> _T:
        """The same as `read`, for asyncio."""
        result: _T = await asyncio.wrap_future(self._call(self._reads, use))
        return result

    def write(self, use: Callable[[Database], _T]) -> _T:
        """What a function returns that also writes, such as `lambda db: db.remove("a")`.

        Additions wait until it has returned.
        """
        result: _T = self._call(self._writes, use).result()
        return result

    async def write_async(self, use: Callable[[Database], _T]) -> _T:
        """The same as `write`, for asyncio."""
        result: _T = await asyncio.wrap_future(self._call(self._writes, use))
        return result

    def _arrival(self, options: ArrivalOptions) -> Arrival:
        document = Document(options.key, options.content, options.metadata)
        return Arrival(batch_of(document, *self._made_for), options.find, options.skip_similar)

    def _call(self, calls: _Calls, what: Arrival | Callable[[Database], Any]) -> "Future[Any]":
        if os.getpid() != self._process:
            raise UsageError(
                f"{self.path} was open as a service when this process was forked: open the service "
                "after the fork, in each process"
            )
        if threading.current_thread() in (thread for thread, _ in self._threads):
            # It would wait for itself.
            raise UsageError("a function of read or write uses the Database that it is given")
        call = _Call(Future(), what)
        with self._lock:
            if not self._end.alive:
                raise UsageError(f"{self.path} is closed: open another service")
            calls.put(call)
        return call.result


def _warned(answer: tuple[Arrived, Sequence[Cut]]) -> Arrived:
    """The answer, after warnings about what limits cut of it."""
    arrived, cuts = answer
    for cut in cuts:
        warn_of_limit(cut)
    return arrived


# the threads, which hold no reference to the service: it may be collected


def _begin(opened: Callable[[], Database], calls: _Calls, most: int, threads: list[Any]) -> Any:
    """Begin a thread with its own database; return its settings and limits, or raise its error."""
    ready: Future[Any] = Future()
    # A daemon, as the interpreter waits for other threads before it runs what ends this one.
    thread = threading.Thread(target=_work, args=(opened, calls, most, ready), daemon=True)
    thread.start()
    threads.append((thread, calls))
    return ready.result()


def _end(process: int, threads: list[tuple[threading.Thread, _Calls]]) -> None:
    """End the readers, then the writer: the last connection to close removes the log."""
    if os.getpid() != process:
        return
    for some in (threads[1:], threads[:1]):
        for _, calls in some:
            calls.put(None)
        for thread, _ in some:
            if thread is not threading.current_thread():
                thread.join()


def _work(opened: Callable[[], Database], calls: _Calls, most: int, ready: "Future[Any]") -> None:
    """Do what is asked for until None is."""
    try:
        database = opened()
    except BaseException as error:
        ready.set_exception(error)
        return
    with database:
        ready.set_result((database.settings, database.store.limits))
        while some := _gathered(calls, most):
            for are_arrivals, group in groupby(some, lambda call: isinstance(call.what, Arrival)):
                # A call that was cancelled before is left out.
                calling = [one for one in group if one.result.set_running_or_notify_cancel()]
                if are_arrivals:
                    _answer(calling, partial(take, database.store))
                else:
                    for call in calling:
                        _answer([call], lambda uses: [use(database) for use in uses])
            some.clear()  # texts and results may be large


def _gathered(calls: _Calls, most: int) -> list[_Call]:
    """The next call, and those that have gathered behind it; none at the end."""
    call = calls.get()
    some = [] if call is None else [call]
    while some and len(some) < most:
        try:
            call = calls.get_nowait()
        except Empty:
            break
        if call is None:
            calls.put(None)  # taken again when these are done
            break
        some.append(call)
    return some


def _answer(calls: Sequence[_Call], do: Callable[[list[Any]], Sequence[object]]) -> None:
    """Do what some calls ask for, and give each its result or its error."""
    try:
        results = do([call.what for call in calls]) if calls else []
    except BaseException as error:
        if len(calls) > 1 and not isinstance(error, Busy):
            # Nothing of them was written. Alone, only the one at fault fails.
            for call in calls:
                _answer([call], do)
            return
        for call in calls:
            call.result.set_exception(error)
    else:
        for call, result in zip(calls, results, strict=True):
            call.result.set_result(result)
