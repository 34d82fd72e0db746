"""The writers of this process take turns at a file, in the order in which they came.

SQLite has no queue: a writer that finds the file locked tries again after a while, and 32 threads
that do so write a third as many documents a second as one. Here each waits for the one before it,
and only the first tries to lock the file. `scripts/bench service` shows what that saves.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Hashable
from contextlib import suppress

_queues: dict[Hashable, "deque[Turn]"] = {}
_LOST = 1.0
"""Seconds after which one that waits looks whether it is the first: an interrupt may have come
between another's leaving and its waking the next."""


class Turn:
    """A place in the queue of a file's writers.

    No lock guards the queue, as an interrupt could leave it locked: each change is one call of a
    deque or a dict, which other threads see whole.

    Args:
        file: what the writers of one file have in common.
    """

    def __init__(self, file: Hashable) -> None:
        self._queue = _queues.setdefault(file, deque())
        self._reached = threading.Lock()
        self._reached.acquire()

    def wait(self, seconds: float) -> bool:
        """Enter the queue, and wait until it is the first; False if that takes longer."""
        end = time.monotonic() + seconds
        self._queue.append(self)
        while self._queue[0] is not self:
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._reached.acquire(timeout=min(left, _LOST))
        return True

    def end(self) -> None:
        """Leave the queue, from any place in it, and wake the first; safe to call twice."""
        with suppress(ValueError):
            self._queue.remove(self)
        with suppress(IndexError, RuntimeError):  # nobody waits, or it is awake
            self._queue[0]._reached.release()


if hasattr(os, "register_at_fork"):
    # Nobody waits in the child; its connections find new queues.
    os.register_at_fork(after_in_child=_queues.clear)
