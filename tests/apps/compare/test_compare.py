"""compare: what two documents have in common."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from string import ascii_letters
from typing import Any

import numpy as np
import oracles
import pytest
from helpers import database_of, set_families, text_families
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import jaccard, s_curve, shingles

import lshdb
from lshdb import Comparison, Document, Limits, LimitWarning
from lshdb.apps.compare.model import SharedBucket

TEXTS = text_families(6, families=3, copies=3, words=80, most_edits=12) | {"empty": "...", "?": ""}
SETS = set_families(6, families=3, copies=3, size=30)


def passage_texts(compared: Comparison) -> list[str]:
    """The passages as they stand in the first text."""
    assert isinstance(compared.a_content, str)
    assert compared.passages is not None
    return [compared.a_content[p.a_start : p.a_end] for p in compared.passages]


# the library


@pytest.mark.parametrize(
    ("shingle", "documents"), [("word:2", TEXTS), ("set", SETS)], ids=["texts", "sets"]
)
def test_a_comparison_agrees_with_plain_sets(
    path: Path, shingle: str, documents: dict[str, Any]
) -> None:
    similar = 0
    with database_of(path, documents, threshold=0.5, shingle=shingle) as db:
        stored = {key: db.get(key) for key in documents}
        kind, _, size = shingle.partition(":")
        sets = {k: {*shingles(c, kind, int(size or 0))} for k, c in documents.items()}
        construction = db.settings.construction
        for a, b in product(documents, documents):
            compared, one, other = db.compare(a, b), sets[a], sets[b]
            shared, keys = len(one & other), (stored[a].bucket_keys, stored[b].bucket_keys)
            agreeing, buckets = 0, tuple[SharedBucket, ...]()
            if one and other:
                agreeing = int(np.sum(stored[a].signature == stored[b].signature))
                equal = enumerate(zip(*keys, strict=True))  # type: ignore[arg-type]
                buckets = tuple(SharedBucket(band, int(x)) for band, (x, y) in equal if x == y)
            similarity = jaccard(one, other)
            probability = s_curve(similarity, construction.rows, construction.bands)
            similar += similarity > 0.5
            assert (compared.a, compared.b, compared.lanes) == (a, b, 128)
            assert (compared.a_shingles, compared.b_shingles) == (len(one), len(other))
            assert (compared.shared, compared.union) == (shared, len(one | other))
            assert compared.similarity == similarity
            assert compared.a_in_b == shared / max(len(one), 1)
            assert compared.b_in_a == shared / max(len(other), 1)
            assert (compared.passages is None) == (kind == "set")
            assert (compared.agreeing_lanes, compared.shared_buckets) == (agreeing, buckets)
            assert compared.candidates == bool(buckets)
            assert compared.estimate == pytest.approx(oracles.estimate(agreeing, 128), rel=1e-15)
            error = oracles.standard_error(similarity, 128)
            assert compared.standard_error == pytest.approx(error, rel=1e-12)
            assert compared.candidate_probability == pytest.approx(probability)
            assert math.copysign(1, compared.candidate_probability) == 1
    assert similar > 20


def test_stored_or_given_documents_compare_alike(path: Path) -> None:
    """Without contents by their signatures, unless both are given."""
    a, b, c = [[key, Document(key, TEXTS[key])] for key in ("0/base", "0/1", "empty")]
    bare_path = path.with_name("bare.db")
    with (
        database_of(path, TEXTS, shingle="word:2") as db,
        database_of(bare_path, TEXTS, shingle="word:2", content=False) as bare,
    ):
        for pair in product(a, b):
            assert db.compare(*pair) == db.compare(a[0], b[0])
        assert bare.compare(a[1], b[1]) == db.compare(a[0], b[0])
        for pair in ((a[0], b[0]), (a[0], b[1]), (a[0], c[0])):
            compared, whole = bare.compare(*pair), db.compare(*pair)
            for name in ("a_shingles", "shared", "similarity", "passages", "a_in_b", "a_content"):
                assert getattr(compared, name) is None
            for name in ("estimate", "agreeing_lanes", "shared_buckets", "lanes", "bands"):
                assert getattr(compared, name) == getattr(whole, name)
            error = oracles.standard_error(compared.estimate, 128)
            assert compared.standard_error == pytest.approx(error, rel=1e-12)


def test_elements_that_sets_share_are_in_order(path: Path) -> None:
    """Integers come before strings, and 1 is not "1"."""
    mixed: Any = [1, "1", 2, "zwei", 1 << 70], {1 << 70, "1", 3, 2}
    with lshdb.open(path, shingle="set") as db:
        compared = db.compare(*(Document(str(i), own) for i, own in enumerate(mixed)))
        assert compared.shared_elements == (2, 1 << 70, "1")


# passages


UNITS = st.sampled_from(["a", "ab", "abcde", ascii_letters]).flatmap(
    lambda alphabet: st.builds(
        lambda units, times: units * times,
        st.lists(st.sampled_from(alphabet), max_size=60),
        st.integers(1, 6),
    )
)


@given(UNITS, UNITS, st.sampled_from(["word", "char"]), st.integers(1, 3))
@example([*"xcdef", *"a" * 20], [*"ycdef", *"a" * 20], "char", 1)
def test_passages_are_all_shared_runs_as_long_as_they_can_be(
    tmp_path_factory: Any, a: list[str], b: list[str], kind: str, size: int
) -> None:
    """Also where a text has the same shingle many times."""
    separator = "\n" if kind == "word" else ""
    step = 1 + len(separator)
    texts = separator.join(a), separator.join(b)
    own, other = (shingles(text, kind, size) for text in texts)
    with lshdb.open(
        tmp_path_factory.getbasetemp() / f"{kind}{size}.db", shingle=f"{kind}:{size}"
    ) as db:
        compared = db.compare(Document("a", texts[0]), Document("b", texts[1]))
    covered: set[int] = set()
    for p in compared.passages or ():
        i, j, n = p.a_start // step, p.b_start // step, p.shingles
        assert own[i : i + n] == other[j : j + n]
        units = min(len(a), n + size - 1)
        assert (p.a_end, p.b_end) == (step * (i + units) - step + 1, step * (j + units) - step + 1)
        assert (p.a_line, p.b_line) == ((i + 1, j + 1) if kind == "word" else (1, 1))
        assert not i or not j or own[i - 1] != other[j - 1]
        assert own[i + n : i + n + 1] != other[j + n : j + n + 1] or i + n == len(own)
        covered.update(range(i, i + n))
    assert covered == {i for i, shingle in enumerate(own) if shingle in other}


def test_of_equal_runs_the_nearest_is_taken(path: Path) -> None:
    with lshdb.open(path, shingle="word:1") as db:
        compared = db.compare(Document("a", "b c x b c"), Document("b", "b c y b c"))
    assert [(p.a_start, p.b_start) for p in compared.passages or ()] == [(0, 0), (6, 6)]


def test_passages_are_offsets_into_the_texts_as_given(path: Path) -> None:
    a = "He said: \xabDie STRASSE ist e\u0301troite\xbb, \ufb01nally."
    b = "\u3000die stra\xdfe\n\nist \xe9troite! Finally? he SAID"
    with lshdb.open(path, shingle="word:2") as db:
        compared = db.compare(Document("a", a), Document("b", b))
        assert compared.passages is not None
        assert passage_texts(compared) == [
            "He said",
            "Die STRASSE ist e\u0301troite\xbb, \ufb01nally",
        ]
        assert [b[p.b_start : p.b_end] for p in compared.passages] == [
            "he SAID",
            "die stra\xdfe\n\nist \xe9troite! Finally",
        ]
        assert [p.shingles for p in compared.passages] == [1, 4]


def test_limits_are_reported(path: Path) -> None:
    words = [f"w{i}" for i in range(1_000)]
    a, b = (" ".join(text) for text in (words, [w if i % 10 else "x" for i, w in enumerate(words)]))
    given = Document("a", a), Document("b", b)
    with lshdb.open(path, limits=Limits(passages=100)) as db:
        whole = db.compare(*given)
    # A text cut in the midst of w700 has no shingle "w698 w699 w7"; its last passage may end there.
    for limits, message, number in (
        (Limits(passages=99), "100 passages, of which the first 99", 99),
        (Limits(text_characters=a.index("w700") + 2), "the first 3,3..", 70),
    ):
        with lshdb.open(path, limits=limits) as db:
            with pytest.warns(LimitWarning, match=message) as said:
                cut = db.compare(*given)
            assert said[0].filename == __file__
        assert cut.passages is not None
        assert whole.passages is not None
        assert len(cut.passages) == number
        assert cut.passages[:-1] == whole.passages[: number - 1]
        assert cut.passages[-1].a_end <= a.index("w700") or number == 99
        assert (cut.similarity, cut.shared) == (whole.similarity, whole.shared)
