"""What the extra `speed` brings changes no result, and its absence none either."""

from __future__ import annotations

import json
from contextlib import nullcontext
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.sources import text_rows
from lshdb.sources.records import Lines, RecordParser, documents_among
from lshdb.sources.text_rows import json_documents

pytest.importorskip("orjson", reason="the extra `speed` is not installed")

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(1 << 70), 1 << 70),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(["\\ud800", "\x00", "\x7f", ""]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
RECORDS = st.fixed_dictionaries(
    {}, optional={"id": VALUES, "text": VALUES, "set": st.lists(VALUES, max_size=3), "x": VALUES}
)
LINES = st.one_of(
    RECORDS.map(json.dumps).map(str.encode),
    RECORDS.map(lambda record: json.dumps(record, ensure_ascii=False)).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    ),
    st.binary(max_size=20),
    st.text('{}[]":,id text set0123456789.-+eE\\u\ufeff \t\r', max_size=30).map(str.encode),
)


@given(LINES, st.booleans(), st.booleans(), st.booleans())
@example(b'{"id": 18446744073709551616, "text": "t"}', False, False, False)
@example(b'{"id": 1e400, "text": "t"}', False, False, False)
@example(b'{"id": NaN, "text": "t", "x": NaN}', False, False, True)
@example(b'{"id": 1, "text": "t", "x": [Infinity, -0, -0.0]}', False, False, False)
@example(b'{"id": -0, "text": "first", "text": "last"}', False, False, False)
@example(b'{"id": 1, "set": [1, 18446744073709551616, -9223372036854775809]}', True, False, False)
@example(b'\xef\xbb\xbf{"id": 1, "text": "t"} ', False, False, False)
@example(b'{"id": 1, "text": "\\ud800"}', False, False, False)
@example(b'{"id": 1, "text": "\xff"}', False, True, False)
@example(b"[" * 2000, False, False, False)
def test_lines_are_read_alike(line: bytes, of_sets: bool, strict: bool, auto_key: bool) -> None:
    block = Lines("x", 1, line.count(b"\n") + 1, line)
    found = []
    for fast in (True, False):
        parser = RecordParser(of_sets, "id", "text", "set", strict, auto_key)
        with (
            nullcontext() if fast else mock.patch.object(text_rows, "_fast_json", return_value=None)
        ):
            found.append((list(documents_among(json_documents(block, parser))), parser.replaced))
    assert text_rows._fast_json() is not None
    assert repr(found[0]) == repr(found[1])


def test_an_environment_variable_keeps_to_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSHDB_SPEED", "0")
    assert text_rows._fast_json.__wrapped__() is None
