"""A function for many items, in another process and this one."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from lshdb.workers import Pending, Workers, default_workers

T = TypeVar("T")
R = TypeVar("R")
_AHEAD = 4
"""Items under way: the worker has the next ones while this process does one."""


def in_processes(run: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The results of a function for items, in their order, from another process and this one.

    More would need too much memory, as each job has large arrays of its own. One saves a third of
    the time of passages of all pairs: `scripts/bench passages` shows 10 seconds of CPU in 6.1.

    Args:
        run: the function.
        items: read as they are needed.
    """
    with Workers(run, min(default_workers(), 1)) as pool:
        waiting = deque[Pending[R]]()
        for item in items:
            waiting.append(pool.submit(item))
            if len(waiting) == _AHEAD:
                yield pool.result(waiting.popleft())
        while waiting:
            yield pool.result(waiting.popleft())
