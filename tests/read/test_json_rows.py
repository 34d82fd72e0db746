"""Values that are printed as JSON."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshdb.errors import InputError
from lshdb.read.json_rows import in_ascii, json_of, record_of

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), 1 << 63)
    | st.text("aé\x1b\x7f\x9b\u202e😀"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_a_terminal_obeys_nothing_in_it_and_it_is_read_as_what_it_was(value: object) -> None:
    printed = in_ascii(json_of(value)).decode("ascii")
    assert printed.isprintable()
    assert json.loads(printed) == value


@pytest.mark.parametrize("line", [b'{"id": 2, "text":', b"broken", b'{"a": tru}', b"[1,]"])
def test_a_line_that_is_no_json_is_refused_in_the_words_of_the_parser(line: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError) as parser:
        orjson.loads(line)
    with pytest.raises(InputError, match="not JSON: ") as refused:
        record_of(line)
    said, _, place = str(refused.value).removeprefix("not JSON: ").partition(" at character ")
    assert parser.value.msg.casefold().startswith(said.casefold())
    assert said[0].islower()
    assert place == str(parser.value.colno)
