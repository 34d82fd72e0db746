"""compare: what two documents have in common."""

from __future__ import annotations

import math
import random
import warnings
from itertools import chain
from pathlib import Path
from typing import Any

import inspection
import numpy as np
import pytest
from helpers import set_families, text_families
from hypothesis import given
from hypothesis import strategies as st
from oracles import NASTY, char_shingles, jaccard, word_shingles

import lshdb
from lshdb import Comparison, ContentError, Document, KeyNotFound, LimitWarning
from lshdb.model import Passage, SharedBucket
from lshdb.search import compare as compare_module
from lshdb.search import passage_texts as passage_texts_module

TEXTS = text_families(6, families=3, copies=3, words=80, most_edits=12) | {"empty": "...", "?": ""}
SETS = set_families(6, families=3, copies=3, size=30)


def passage_texts(compared: Comparison) -> list[str]:
    """The passages as they stand in the first text."""
    assert isinstance(compared.a_content, str)
    assert compared.passages is not None
    return [compared.a_content[p.a_start : p.a_end] for p in compared.passages]


# the library


def test_a_comparison_agrees_with_plain_sets(path: Path) -> None:
    similar = 0
    with lshdb.open(path, threshold=0.5, shingle="word:2") as db:
        db.add_many(TEXTS.items())
        stored = {key: db.get(key) for key in TEXTS}
        for a in TEXTS:
            for b in TEXTS:
                compared = db.compare(a, b)
                one, other = (set(word_shingles(TEXTS[key], 2)) for key in (a, b))
                shared = len(one & other)
                assert (compared.a, compared.b) == (a, b)
                assert compared.a_shingles == len(one)
                assert compared.b_shingles == len(other)
                assert compared.shared == shared
                assert compared.union == len(one | other)
                assert compared.similarity == jaccard(one, other)
                assert compared.a_in_b == shared / max(len(one), 1)
                assert compared.b_in_a == shared / max(len(other), 1)
                assert compared.shared_elements is None
                similar += compared.similarity > 0.5
                if not one or not other:
                    assert compared.agreeing_lanes == compared.estimate == 0
                    assert compared.standard_error == compared.candidate_probability == 0
                    assert math.copysign(1, compared.candidate_probability) == 1
                    assert (compared.shared_buckets, compared.passages) == ((), ())
                    assert not compared.candidates
                    continue
                lanes = stored[a].signature == stored[b].signature
                assert compared.agreeing_lanes == int(np.sum(lanes))
                assert compared.estimate == compared.agreeing_lanes / 128
                expected = compared.similarity
                assert compared.standard_error == math.sqrt(expected * (1 - expected) / 128)
                bands, rows = db.settings.construction.bands, db.settings.construction.rows
                probability = 1 - (1 - expected**rows) ** bands
                assert compared.candidate_probability == pytest.approx(probability)
                assert (compared.lanes, compared.bands) == (128, bands)
                keys_a, keys_b = stored[a].bucket_keys, stored[b].bucket_keys
                assert keys_a is not None
                assert keys_b is not None
                assert compared.shared_buckets == tuple(
                    SharedBucket(band, int(key))
                    for band, (key, also) in enumerate(zip(keys_a, keys_b, strict=True))
                    if key == also
                )
                assert compared.candidates == bool(compared.shared_buckets)
    assert similar > 20


def test_stored_or_given_documents_compare_alike(path: Path) -> None:
    with lshdb.open(path, shingle="char:4") as db:
        db.add_many(TEXTS.items())
        before = inspection.contents(path)
        a, b = "0/base", "0/1"
        expected = db.compare(a, b)
        for one in (a, Document(a, TEXTS[a])):
            for other in (b, Document(b, TEXTS[b])):
                assert db.compare(one, other) == expected
        assert inspection.contents(path) == before
        with pytest.raises(KeyNotFound, match="no document has the key 'nobody'"):
            db.compare(a, "nobody")
        with pytest.raises(ContentError, match="this is a set"):
            db.compare(a, Document("new", ["x"]))


def test_the_same_document_twice(path: Path) -> None:
    with lshdb.open(path) as db:
        db.add("fox", "The fox\nand the  grapes!")
        compared = db.compare("fox", "fox")
    assert (compared.similarity, compared.a_in_b, compared.estimate) == (1, 1, 1)
    assert (compared.standard_error, compared.candidate_probability) == (0, 1)
    assert len(compared.shared_buckets) == compared.bands
    assert compared.passages == (Passage(0, 23, 0, 23, 3, 1, 1),)


def test_without_content_only_signatures_are_compared(path: Path) -> None:
    with (
        lshdb.open(path, shingle="word:2", content=False) as db,
        lshdb.open(path.with_name("kept.db"), shingle="word:2") as kept,
    ):
        for one in (db, kept):
            one.add_many(TEXTS.items())
        for other in ("0/1", Document("0/1", TEXTS["0/1"]), "empty"):
            compared, whole = db.compare("0/base", other), kept.compare("0/base", other)
            exact = ("a_shingles", "b_shingles", "shared", "union", "similarity", "passages")
            for name in (*exact, "a_in_b", "b_in_a", "shared_elements", "a_content"):
                assert getattr(compared, name) is None
            for name in ("estimate", "agreeing_lanes", "shared_buckets", "lanes", "bands"):
                assert getattr(compared, name) == getattr(whole, name)
            expected = compared.estimate * (1 - compared.estimate) / 128
            assert compared.standard_error == math.sqrt(expected)
        given = [Document(key, TEXTS[key]) for key in ("0/base", "0/1")]
        assert db.compare(*given) == kept.compare(*given), "both contents are at hand"


def test_sets_share_elements(path: Path) -> None:
    with lshdb.open(path, shingle="set", threshold=0.5) as db:
        db.add_many(SETS.items())
        for a in SETS:
            for b in SETS:
                compared = db.compare(a, b)
                assert compared.shared_elements == tuple(sorted(set(SETS[a]) & set(SETS[b])))
                assert compared.shared == len(compared.shared_elements)
                assert compared.passages is None
        mixed: Any = [1, "1", 2, "zwei", 1 << 70], {1 << 70, "1", 3, 2}
        compared = db.compare(*(Document(str(i), elements) for i, elements in enumerate(mixed)))
        assert compared.shared_elements == (2, 1 << 70, "1")


# passages


@pytest.mark.parametrize("shingle", ["word:1", "word:3", "char:2", "char:5"])
def test_passages_cover_what_both_share(path: Path, shingle: str) -> None:
    rng = random.Random(3)
    kind, size = shingle.split(":")
    shingles_of: Any = char_shingles if kind == "char" else word_shingles
    with lshdb.open(path, shingle=shingle) as db:
        for key in list(TEXTS)[:4]:
            other = "  ".join(rng.sample(TEXTS["0/base"].split(" "), 60)) + TEXTS["0/base"][90:220]
            compared = db.compare(Document("a", TEXTS[key]), Document("b", other))
            assert compared.passages
            covered = set()
            for p in compared.passages:
                here, there = TEXTS[key][p.a_start : p.a_end], other[p.b_start : p.b_end]
                if not (here + there)[-1].isspace() and not (here[0] + there[0]).isspace():
                    assert shingles_of(here, int(size)) == shingles_of(there, int(size))
                    assert len(shingles_of(here, int(size))) == p.shingles
                covered.update(shingles_of(" " + here + " ", int(size)))
            common = set(shingles_of(TEXTS[key], int(size))) & set(shingles_of(other, int(size)))
            assert (
                {s for s in common if s == s.strip()} <= covered
                if kind == "char"
                else (common <= covered)
            )
            ends = [(p.a_start, p.a_end) for p in compared.passages]
            assert ends == sorted(ends)


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


@given(st.text(NASTY, max_size=30), st.text(NASTY, max_size=30))
def test_any_two_texts_can_be_compared(tmp_path_factory: Any, a: str, b: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.db"
    with lshdb.open(path, shingle="char:2") as db:
        compared = db.compare(Document("a", a), Document("b", b))
    assert isinstance(compared.a_content, str)
    assert isinstance(compared.b_content, str)
    assert compared.passages is not None
    assert bool(compared.passages) == bool(compared.shared)
    for p in compared.passages:
        assert 0 <= p.a_start < p.a_end <= len(compared.a_content) == len(a)
        assert 0 <= p.b_start < p.b_end <= len(compared.b_content) == len(b)
        assert p.shingles > 0


def test_a_passage_names_the_lines_in_which_it_begins(path: Path) -> None:
    a = "One line.\n\nThe fox jumps\nover the dog. And on."
    b = "the fox\njumps over the dog\nOn: one\nline the"
    with lshdb.open(path, shingle="word:2") as db:
        compared = db.compare(Document("a", a), Document("b", b))
    found = [
        (text, p.a_line, p.b_line)
        for text, p in zip(passage_texts(compared), compared.passages or (), strict=True)
    ]
    assert found == [
        ("One line.\n\nThe", 1, 3),
        ("The fox jumps\nover the dog", 3, 1),
    ]


@pytest.mark.parametrize("shingle", ["word:3", "char:5"])
def test_passages_are_those_of_the_index(path: Path, shingle: str) -> None:
    """With shingles as long as its shortest run: in the same places and lines, however repeated."""
    rng = random.Random(4)
    words = [rng.choice(["wells", "ran", "dry", "İ", "and", "the\n", "ﬁne"]) for _ in range(400)]
    parts = [words[i : i + 8] for i in range(0, 400, 8)]
    a, b = (" ".join(chain(*rng.sample(parts, 40))) for _ in range(2))
    with lshdb.open(path, shingle=shingle, passages=int(shingle[5:])) as db:
        db.add("b", b)
        (source,) = db.passages(a)
        found = db.compare(Document("a", a), "b").passages
    assert found is not None
    assert len(found) > 10
    assert [(p.a_start, p.a_end, p.b_start, p.b_end, p.a_line, p.b_line) for p in found] == [
        (p.start, p.end, p.stored_start, p.stored_end, p.line, p.stored_line)
        for p in source.passages
    ]


def test_texts_of_some_megabytes(path: Path) -> None:
    rng = random.Random(1)
    vocabulary = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(30_000)]
    words = rng.choices(vocabulary, k=300_000)
    a = " ".join(words)
    b = " ".join((*words[150_000:], "here", *words[:150_000]))
    with lshdb.open(path) as db:
        compared = db.compare(Document("a", a), Document("b", b))
        assert len(a) > 2_000_000
        assert compared.passages is not None
        half = 7 * 150_000
        assert compared.passages == (
            Passage(0, half - 1, half + 5, len(b), 149_998, 1, 1),
            Passage(half, len(a), 0, half - 1, 149_998, 1, 1),
        )
        same = "one and the same " * 100_000
        compared = db.compare(Document("a", same), Document("b", same))
        assert [p.shingles for p in compared.passages or ()] == [400_000 - 2]


def test_limits_are_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = " ".join(f"w{i}" for i in range(1_000))
    b = " ".join(f"w{i}" if i % 10 else "other" for i in range(1_000))
    with lshdb.open(path) as db:
        given = Document("a", a), Document("b", b)
        whole = db.compare(*given)
        assert whole.passages is not None
        assert len(whole.passages) == 100
        monkeypatch.setattr(passage_texts_module, "PASSAGES", 100)
        assert db.compare(*given) == whole, "nothing is cut, nothing said"
        monkeypatch.setattr(passage_texts_module, "PASSAGES", 99)
        with pytest.warns(LimitWarning, match="only the first 99 passages") as said:
            cut = db.compare(*given)
        assert cut.passages == whole.passages[:99]
        assert said[0].filename == __file__
        # A text cut in the midst of w700 has no shingle "w698 w699 w7".
        monkeypatch.setattr(compare_module, "TEXT_CHARACTERS", a.index("w700") + 2)
        with pytest.warns(LimitWarning, match="only the first 3,3.. characters") as said:
            cut = db.compare(*given)
        assert said[0].filename == __file__
        assert cut.passages is not None
        assert cut.passages == whole.passages[: len(cut.passages)]
        assert 60 < len(cut.passages) <= 70
        assert (cut.similarity, cut.shared) == (whole.similarity, whole.shared)


def test_a_limit_warning_is_a_warning(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not want it filters it like any other."""
    monkeypatch.setattr(compare_module, "TEXT_CHARACTERS", 10)
    with lshdb.open(path) as db, warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        db.compare(Document("a", "one two three four"), Document("b", "one"))
