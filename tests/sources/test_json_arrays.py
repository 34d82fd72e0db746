"""Files that are a JSON array: their elements are rows, read as a stream."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from itertools import islice, repeat
from typing import Any

import pytest
from helpers import new_session
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.limits import Limits
from lshdb.model import Document, Failure


def read(data: bytes, chunk: int = 1 << 20) -> list[Document | Failure]:
    class Pipe(io.BytesIO):
        def read1(self, _: int | None = -1) -> bytes:
            return super().read(chunk)

    limits = Limits(largest_document=200_000)
    return list(new_session(False, format="json", stdin=Pipe(data), limits=limits).read(["-"]))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(
    st.lists(VALUES, max_size=6),
    st.integers(1, 40),
    st.sampled_from([None, 2]),
    st.booleans(),
)
@example([12, 3.5, True, "\\"], 1, None, True)
def test_elements_are_the_same_however_the_array_comes(
    values: list[Any], chunk: int, indent: int | None, ascii: bool
) -> None:
    rows = [{"id": i, "text": "t", "x": value} for i, value in enumerate(values)]
    data = json.dumps(rows, indent=indent, ensure_ascii=ascii).encode()
    expected = [Document(str(i), "t", {"x": value}) for i, value in enumerate(values)]
    assert read(data, chunk) == expected


ROW = '{"id": 1, "text": "t"}'
OTHER = "not an array of objects: format jsonl reads lines of JSON, format text all as one text"


@pytest.mark.parametrize("chunk", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("text", "documents", "reason"),
    [
        ("[]", 0, None),
        (f"\ufeff [ {ROW} ,\n{ROW}\n]\n", 2, None),
        ("", 0, ": " + OTHER),
        (ROW, 0, ": " + OTHER),
        (f"{ROW}\n{ROW}\n", 0, ": " + OTHER),
        ('"text"', 0, ": " + OTHER),
        (f"[{ROW}, 12, {ROW}]", 2, ":2: not a JSON object but a number"),
        (f"[{ROW}", 1, ": cut off behind element 1"),
        (f"[{ROW},", 1, ": cut off behind element 2"),
        (f'[{ROW}, {{"id": "cut', 1, ":2: not JSON: "),
        (f'[{ROW}, {{"id": "1\n", "text": ""}}, {ROW}]', 2, ":2: not JSON: "),
        (f"[{ROW},]", 1, ": element 2: not JSON: expecting value"),
        (f"[,{ROW}]", 0, ": element 1: not JSON: expecting value"),
        (f"[{ROW} {ROW}, {ROW}]", 1, ":1: not JSON: "),
        (f"[{ROW}, {{1: 2}}, {ROW}]", 2, ":2: not JSON: "),
        (f"[{ROW}}}", 1, ": behind element 1: not JSON: expecting nothing more"),
        (f"[{ROW}] x", 1, ": behind element 1: not JSON: expecting nothing more"),
        ("[" * 100_000, 0, ":1: not JSON: "),
        (f'[{ROW}, {{"id": "{"x" * 260_000}"}}, {ROW}]', 2, ":2: longer than 200,000 bytes, the"),
    ],
    ids=range(19),
)
def test_what_is_wrong_is_named_and_what_stands_before_it_read(
    text: str, documents: int, reason: str | None, chunk: int
) -> None:
    found = read(text.encode(), chunk if len(text) < 1_000 else 1 << 20)
    failures = [one for one in found if isinstance(one, Failure)]
    assert len(found) - len(failures) == documents
    assert [reason is None or reason in f"{one.where}: {one.reason}" for one in failures] == (
        [True] if reason else []
    )


def endless() -> Iterator[bytes]:
    """A hundred elements of 100 KB, then one without an end, which is refused, for ever."""
    yield b"["
    for i in range(100):
        yield b'{"id": %d, "text": "%s"},' % (i, b"word " * 20_000)
    yield b'{"id": 2, "text": "'
    yield from repeat(b" " * (1 << 20))


def test_an_array_without_end_is_read_piece_by_piece() -> None:
    class Pipe(io.BytesIO):
        pieces = endless()

        def read1(self, _: int | None = -1) -> bytes:
            return next(self.pieces)

    limits = Limits(largest_document=1_000_000)
    items = new_session(False, format="json", stdin=Pipe(), limits=limits).read(["-"])
    tracemalloc.start()
    try:
        kinds = [type(item) for item in islice(items, 101)]
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert kinds == [Document] * 100 + [Failure]
