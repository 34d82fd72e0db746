"""Winnowing, beside the textbook's way of it and its guarantee."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lshdb.apps.passages.positions import cut
from lshdb.apps.passages.winnowing import fingerprints, shingle_values, window_fingerprints
from lshdb.text import shingles as shingles_module
from lshdb.text.shingling import Shingling

RUNS = st.integers(3, 24)
KINDS = st.sampled_from(["word:3", "char:5"])
WORDS = st.lists(st.sampled_from(["a", "b", "c", "ä", "longer", "1", "東京"]), max_size=60)
TEXTS = st.lists(st.one_of(WORDS.map(" ".join), st.text(max_size=80)), max_size=5)


@given(TEXTS, KINDS, RUNS, st.integers(0, 5))
def test_a_batch_has_the_fingerprints_of_the_textbook(
    texts: list[str], kind: str, run: int, seed: int
) -> None:
    shingling = Shingling.parse(kind)
    found = fingerprints(texts, shingling, run, seed)
    rows = zip(
        found.values.tolist(), found.documents.tolist(), found.positions.tolist(), strict=True
    )
    expected = [
        (value, index, position)
        for index, text in enumerate(texts)
        for value, position in oracles.fingerprints(text, shingling.kind, run, seed).items()
    ]
    assert sorted(rows) == sorted(expected)
    assert (np.diff(found.values) >= 0).all()
    for index, text in enumerate(texts):
        values = shingle_values(cut([text], shingling.kind), shingling.kind, run, seed)
        of_runs = window_fingerprints(values, run)
        assert {*of_runs[: 1 - run].tolist()} == {row[0] for row in expected if row[1] == index}


@given(WORDS, WORDS, WORDS, WORDS, st.data())
def test_texts_that_share_a_run_share_a_fingerprint(
    before: list[str], behind: list[str], other: list[str], last: list[str], data: st.DataObject
) -> None:
    run = data.draw(RUNS)
    shared = data.draw(st.lists(st.sampled_from("abcdefgh"), min_size=run, max_size=run + 9))
    one, two = (" ".join([*x, *shared, *y]) for x, y in ((before, behind), (other, last)))
    found = fingerprints([one, two], Shingling("word", 3), run, 1)
    values = [set(found.values[found.documents == index].tolist()) for index in (0, 1)]
    assert values[0] & values[1]


@pytest.mark.parametrize("kind", ["word:3", "char:5"])
def test_a_text_in_pieces_has_the_fingerprints_of_the_whole(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    text = " ".join(f"w{word}" for word in rng.integers(0, 300, 5_000).tolist())
    whole = fingerprints([text], Shingling.parse(kind), 8, 1)
    for size in (50, 777):
        monkeypatch.setitem(shingles_module.BLOCK, kind.split(":")[0], size)
        pieces = fingerprints(["short", text], Shingling.parse(kind), 8, 1)
        mine = pieces.documents == 1
        assert (pieces.values[mine] == whole.values).all()
        assert (pieces.positions[mine] == whole.positions).all()
