"""Parts that wait to be signed: each is signed, whoever takes it, and not too many at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lshdb.ingest.parts import Part, SignedPart
from lshdb.pending import Pending, Taker, Work


def part(number: int) -> Part:
    return Part([(str(number), "")])


def answer(one: Part) -> SignedPart:
    return SignedPart([one.documents[0][0]], [], [], None, [], 0)


def key(fetched: SignedPart | bytes) -> str:
    assert isinstance(fetched, SignedPart)
    return fetched.keys[0]


@contextmanager
def signing(work: Work, takers: int, dies: random.Random) -> Iterator[list[str]]:
    """Threads that sign; the first one stops at some time and answers no more. What they took."""
    taken: list[str] = []

    def run(number: int) -> None:
        taker = Taker()
        work.begin(taker)
        while (pending := work.take(taker)) is not None:
            taken.append(pending.part.documents[0][0])
            time.sleep(dies.random() / 1000)
            if number == 0 and dies.random() < 0.1:
                work.retire(taker, answers=False)
            else:
                work.answer(taker, answer(pending.part))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(takers)]
    for thread in threads:
        thread.start()
    try:
        yield taken
    finally:
        work.close()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("limit", [0, 25, 10_000])
@pytest.mark.parametrize("takers", [0, 1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_all_are_signed_in_order_whoever_dies(limit: int, takers: int, seed: int) -> None:
    drawn = random.Random(seed)
    work = Work(limit)
    here: list[str] = []
    inside: list[int] = []

    def sign(one: Part) -> SignedPart:
        inside.append(work._under_way)
        here.append(one.documents[0][0])
        time.sleep(0.0005)
        return answer(one)

    with signing(work, takers, random.Random(seed)) as taken:
        submitted = [work.put(part(i), drawn.randrange(20)) for i in range(200)]
        for number, pending in enumerate(submitted):
            assert key(work.fetch(pending, sign)) == str(number)
        assert work._under_way == 0
    assert {*here, *taken} == {str(i) for i in range(200)}
    assert len(here) + len(taken) <= 200 + 3, "only what the dead one had is signed again"
    assert max(inside, default=0) <= max(limit, 20)
    assert bool(taken) or not takers or not limit


def test_the_next_parts_are_signed_here_while_one_is_waited_for() -> None:
    work, slow = Work(40), Taker()
    work.begin(slow)
    submitted = [work.put(part(i), 10) for i in range(6)]
    assert work.take(slow) is submitted[0]
    here: list[str] = []

    def sign(one: Part) -> SignedPart:
        here.append(one.documents[0][0])
        if len(here) == 3:  # there is room for no more
            threading.Timer(0.05, work.answer, (slow, b"done")).start()
        return answer(one)

    assert work.fetch(submitted[0], sign) == b"done"
    assert here == ["1", "2", "3"]
    assert [key(work.fetch(pending, sign)) for pending in submitted[1:]] == [*"12345"]
    assert here == [*"12345"]


def test_what_is_larger_than_the_limit_is_let_through_when_it_is_next() -> None:
    work, taker = Work(10), Taker()
    work.begin(taker)
    first, large = work.put(part(0), 5), work.put(part(1), 1000)
    assert work.take(taker) is first
    found: list[Pending | None] = []
    thread = threading.Thread(target=lambda: found.append(work.take(taker)))
    thread.start()
    work.answer(taker, b"first")
    thread.join(0.05)
    assert thread.is_alive(), "what was answered is still in memory"
    assert work.fetch(first, answer) == b"first"
    thread.join(60)
    assert found == [large]


def test_a_retired_one_answers_what_it_has_and_is_asked_for_no_more() -> None:
    work, taker = Work(1000), Taker()
    work.begin(taker)
    first, second = work.put(part(0), 1), work.put(part(1), 1)
    assert work.take(taker) is first
    work.retire(taker, answers=True)
    assert work.take(taker) is None
    work.answer(taker, b"first")
    assert work.fetch(first, answer) == b"first"
    assert key(work.fetch(second, answer)) == "1"


def test_one_that_is_not_ready_or_has_enough_is_not_asked() -> None:
    work, taker = Work(1000), Taker()
    for i in range(9):
        work.put(part(i), 1)
    found: list[Pending | None] = []

    def take_all() -> None:
        while (pending := work.take(taker)) is not None:
            found.append(pending)

    thread = threading.Thread(target=take_all)
    thread.start()
    thread.join(0.05)
    assert not found
    work.begin(taker)
    thread.join(0.1)
    assert len(found) == len(taker.taken) == 3
    work.close()
    thread.join(60)
    assert len(found) == 3
