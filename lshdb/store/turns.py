"""The threads of this process take turns: writers at a file, and all of them at Python's lock.

SQLite has no queue: a writer that finds the file locked tries again after a while, and 32 threads
that do so write a third as many documents a second as one. Here each waits for the one that came
before it, and only the first tries to lock the file. What the others have to write they may offer
to the first, which writes it in its own transaction: they wait for the disk once.
`scripts/bench service` shows what turns save.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Any

_queues: dict[Hashable, "deque[Turn]"] = {}
_LOST = 1.0
"""Seconds after which one that waits looks whether it is the first: an interrupt may have come
between another's leaving and its waking the next."""
_ALONG = 127
"""Maximum number of offers that one takes besides its own: later ones wait for them all."""
_SHARE = 0.005
"""Seconds for which one works alone: as long as five queries with texts of 1 to 10 KB take."""


class Turn:
    """A place in the queue of a file's writers.

    No lock guards the queue, as an interrupt could leave it locked: each change is one call of a
    deque or a dict, which other threads see whole.

    Args:
        file: what the writers of one file have in common.
        offer: what is to be written; None if only its own thread can write it.

    Attributes:
        along: the others whose offers it has taken.
        results: what writing the offers gave, in order.
        result: of its own offer, once that is committed, by this thread or another.
    """

    def __init__(self, file: Hashable, offer: object = None) -> None:
        self._queue = _queues.setdefault(file, deque())
        self._reached = threading.Lock()
        self._reached.acquire()
        self._offer = offer
        self._taken = threading.Lock()
        self.along: list[Turn] = []
        self.result: Any = None
        self.results: Sequence[Any] = ()

    def wait(self, seconds: float) -> bool:
        """Enter the queue, and wait until it is the first or has its result.

        Returns:
            False if that takes longer than `seconds`, and nobody has taken the offer.
        """
        end = time.monotonic() + seconds
        self._queue.append(self)
        while self._queue[0] is not self and self.result is None:
            left = end - time.monotonic()
            if left <= 0 and self._taken.acquire(blocking=False):
                return False
            self._reached.acquire(timeout=min(left, _LOST) if left > 0 else _LOST)
        return True

    def offers(self) -> Iterator[Any]:
        """What this one offers, then what others do, also those that come meanwhile.

        Only the first takes others' offers: none of these can then become the first, and write its
        own again, before it has its result. One whose time was over may write without being first.
        """
        yield self._offer
        while len(self.along) < _ALONG and self._queue[0] is self:
            others = tuple(self._queue)[1:]
            offering = (turn for turn in others if turn._offer is not None)
            other = next((turn for turn in offering if turn._taken.acquire(blocking=False)), None)
            if other is None:
                return
            self.along.append(other)
            yield other._offer

    def settle(self) -> None:
        """Give each its result, once they are committed; those without one write themselves.

        They wake one after another, as each leaves the queue.
        """
        for turn, result in zip((self, *self.along), self.results, strict=False):
            turn.result = result

    def end(self) -> None:
        """Leave the queue, from any place in it, and wake the first; safe to call twice."""
        with suppress(ValueError):
            self._queue.remove(self)
        with suppress(IndexError, RuntimeError):  # nobody waits, or it is awake
            self._queue[0]._reached.release()


class Alone:
    """Work for which other threads of lshdb wait, for some milliseconds at most.

    Each row that SQLite reads, each look at a file and each operation on an array gives up Python's
    lock, and wakes another thread that waits for it. Threads that query, each with a file opened
    for itself, get 26% fewer answers a second without turns if they are 8, and 36% fewer if they
    are 32; one alone gets as many. What takes longer than its share, such as
    a query with 1 MB, mostly leaves the lock to others: the next begins beside it. Nothing relies
    on being alone, and a turn that an interrupt leaves without an end costs the next one a share.
    """

    _next = threading.Lock()
    """Held by the one that watches the time."""
    _now = threading.Lock()
    _last: "Alone | None" = None
    """The one that came last to work, and ends the turn."""

    def __enter__(self) -> None:
        with Alone._next:
            Alone._now.acquire(timeout=_SHARE)  # or go on beside the one that has it
            Alone._last = self

    def __exit__(self, *_: object) -> None:
        if Alone._last is self:
            with suppress(RuntimeError):  # another has ended it meanwhile
                Alone._now.release()


def _begin_child() -> None:
    """Nobody waits in a forked process; its connections find new queues."""
    _queues.clear()
    Alone._next = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
