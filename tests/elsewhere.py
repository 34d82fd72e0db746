"""Signing by worker processes alone, for tests of what they bring back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from unittest import mock

from lshdb.ingest.parts import SignedPart
from lshdb.ingest.workers import Pending, Workers

_result = Workers._result


def _wait_and_take(workers: Workers, pending: Pending) -> SignedPart:
    if pending.future is not None:
        done, _ = wait([pending.future], timeout=60)
        assert done
    return _result(workers, pending)


@contextmanager
def signed_elsewhere() -> Iterator[None]:
    """Have processes sign all that they are asked to: the writing thread only waits for them."""
    with mock.patch.object(Workers, "_result", _wait_and_take):
        yield
