"""Signing by worker processes alone, for tests of what they bring back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from lshdb.ingest.parts import Part, SignedPart
from lshdb.pending import Pending, Work

_fetch = Work.fetch


def _wait_and_fetch(
    work: Work, pending: Pending, sign: Callable[[Part], SignedPart]
) -> SignedPart | bytes:
    with work._changed:
        assert work._changed.wait_for(lambda: pending.answer is not None, timeout=60)
    return _fetch(work, pending, sign)


@contextmanager
def signed_elsewhere() -> Iterator[None]:
    """Have processes sign all that they are asked to: the writing thread only waits for them."""
    with mock.patch.object(Work, "fetch", _wait_and_fetch):
        yield
