"""Values that are printed as JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from lshdb.read.json_rows import in_ascii, json_of

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
