"""Parts that wait to be signed, and who takes which.

Worker processes take the next one each, and so does the writing thread while the one it needs is
not there yet: all processors have something to do, whether signing or writing takes longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition
from typing import Final

from lshdb.ingest.parts import Part, SignedPart

_ASKED: Final = 3
"""Parts that a process is asked for at once: it never waits for its next one."""


@dataclass(slots=True, eq=False)
class Pending:
    """A part that is to be signed.

    Attributes:
        part: what it was.
        answer: the part signed, or the message of a process that has it so; None until then.
        size: about how many bytes it has, of those that may be under way.
        number: its place in the order of submission, from 0.
    """

    part: Part
    answer: SignedPart | bytes | None = None
    size: int = 0
    number: int = -1

    @classmethod
    def done(cls, signed: SignedPart) -> Pending:
        """One that is signed, and never waited."""
        return cls(Part(), signed)


@dataclass(slots=True, eq=False)
class Taker:
    """Who signs parts one after the other, and is asked for the next before it has done the last.

    Attributes:
        ready: whether it takes parts.
        retired: whether it takes no more.
        taken: those that it was asked for and has not answered.
    """

    ready: bool = False
    retired: bool = False
    taken: deque[Pending] = field(default_factory=deque)


class Work:
    """Parts in the order in which they are wanted.

    Only so many bytes of them are under way at once: being signed, or signed and not fetched yet.
    The one that is wanted next is let through in any case.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[Pending] = deque()
        self._put = 0
        self._fetched = 0
        self._under_way = 0
        self._closed = False
        self._changed = Condition()

    def put(self, part: Part, size: int) -> Pending:
        """Add a part of about `size` bytes."""
        with self._changed:
            pending = Pending(part, None, size, self._put)
            self._put += 1
            self._waiting.append(pending)
            self._changed.notify_all()
        return pending

    def begin(self, taker: Taker) -> None:
        """Let somebody take parts."""
        with self._changed:
            taker.ready = True
            self._changed.notify_all()

    def take(self, taker: Taker) -> Pending | None:
        """Wait for the next one and take it; None if there will be none for this one."""

        def is_open() -> bool:
            return taker.ready and len(taker.taken) < _ASKED and self._is_open()

        with self._changed:
            self._changed.wait_for(lambda: self._closed or taker.retired or is_open())
            if self._closed or taker.retired:
                return None
            taker.taken.append(self._next())
            return taker.taken[-1]

    def answer(self, taker: Taker, answer: SignedPart | bytes) -> None:
        """Tell what became of the first part that somebody has taken and not answered."""
        with self._changed:
            taker.taken.popleft().answer = answer
            self._changed.notify_all()

    def retire(self, taker: Taker, *, answers: bool) -> None:
        """Let somebody take no more, who answers what was taken before, or will not."""
        with self._changed:
            taker.retired = True
            if not answers:
                taker.ready = False
                self._under_way -= sum(pending.size for pending in taker.taken)
                waiting = [*taker.taken, *self._waiting]
                self._waiting = deque(sorted(waiting, key=lambda pending: pending.number))
                taker.taken.clear()
            self._changed.notify_all()

    def fetch(self, pending: Pending, sign: Callable[[Part], SignedPart]) -> SignedPart | bytes:
        """The answer for a part; until it is there, the next ones are signed by `sign`.

        Call this in the order of submission, each once.
        """
        while True:
            with self._changed:
                self._changed.wait_for(lambda: pending.answer is not None or self._is_open())
                if pending.answer is not None:
                    if pending.number >= 0:
                        self._under_way -= pending.size
                        self._fetched += 1
                        self._changed.notify_all()
                    answer, pending.answer = pending.answer, None
                    return answer
                other = self._next()
            other.answer = sign(other.part)

    def close(self) -> None:
        """Let nobody take any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _is_open(self) -> bool:
        """Whether the next one may be taken."""
        if not self._waiting:
            return False
        first = self._waiting[0]
        return first.number <= self._fetched or self._under_way + first.size <= self._limit

    def _next(self) -> Pending:
        pending = self._waiting.popleft()
        self._under_way += pending.size
        return pending
