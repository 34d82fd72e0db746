"""Copied passages, beside a search of all words against all words."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from helpers import FORGED_TEXTS, database_of, signed_elsewhere
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.apps.passages import processes
from lshdb.apps.passages.model import Passages

RUN = 6
SEEDS = st.integers(0, 1 << 30)
VOCABULARIES = st.sampled_from([["a"], ["a", "b"], [*"abcde"], [*map(str, range(5000))]])
HEADER = " ".join(f"header{n}" for n in range(30))
HEADED = 120
"""Documents under the header: more than the 100 that share what is not common."""


def words_of(text: str) -> list[tuple[str, int, int]]:
    return [(m[0].lower(), m.start(), m.end()) for m in re.finditer(r"\w+", text)]


def shared_windows(query: str, stored: str, run: int) -> set[int]:
    """The words of the query at which a run begins that the stored text has, by brute force."""
    words, others = ([word for word, _, _ in words_of(text)] for text in (query, stored))
    windows = {tuple(others[i : i + run]) for i in range(len(others) - run + 1)}
    return {i for i in range(len(words) - run + 1) if tuple(words[i : i + run]) in windows}


def covered_words(text: str, other: str, run: int) -> set[int]:
    """The words of a text that are in runs that another one has, by brute force."""
    starts = shared_windows(text, other, run)
    return {index for start in starts for index in range(start, start + run)}


def check(found: Passages, query: str, stored: dict[str, str], run: int) -> None:
    """That what is found is there, and that nothing is missing."""
    words = words_of(query)
    index_of = {start: index for index, (_, start, _) in enumerate(words)}
    sources = {source.key: source for source in found}
    expected = {key: shared_windows(query, text, run) for key, text in stored.items()}
    assert sources.keys() == {key for key, windows in expected.items() if windows}
    for key, source in sources.items():
        text, covered, windows = stored[key], set[int](), set[int]()
        for passage in source.passages:
            copied = [word for word, *_ in words_of(passage.text)]
            there = words_of(text[passage.stored_start : passage.stored_end])
            assert copied == [word for word, *_ in there]
            assert passage.words == len(copied) >= run
            assert passage.text == query[passage.start : passage.end]
            assert passage.line == query.count("\n", 0, passage.start) + 1
            assert passage.stored_end_line == text.count("\n", 0, passage.stored_end) + 1
            first = index_of[passage.start]
            covered |= {*range(first, first + len(copied))}
            windows |= {*range(first, first + len(copied) - run + 1)}
            # As long as it can be.
            before = [word for word, _, end in words_of(text) if end <= passage.stored_start]
            assert not (first and before and words[first - 1][0] == before[-1])
        assert windows == expected[key]
        stored_covered = covered_words(text, query, run)
        assert covered == covered_words(query, text, run)
        assert source.words == max(len(covered), len(stored_covered))
        assert source.stored_coverage == pytest.approx(len(stored_covered) / len(words_of(text)))
        assert source.coverage == pytest.approx(len(covered) / len(words))
    assert [s.words for s in found] == sorted((s.words for s in found), reverse=True)


@settings(max_examples=20)
@given(seed=SEEDS, vocabulary=VOCABULARIES, other=VOCABULARIES)
def test_every_planted_run_is_found_where_it_is(
    tmp_path_factory: pytest.TempPathFactory, seed: int, vocabulary: list[str], other: list[str]
) -> None:
    rng = random.Random(seed)
    query = rng.choices(vocabulary, k=rng.randrange(RUN, 80))
    stored = {}
    for number in range(8):
        words = rng.choices(other, k=rng.randrange(60))
        if number % 2:
            first = rng.randrange(len(query))
            words[9:9] = query[first : first + RUN + rng.choice([0, 0, 1, 5])]
        stored[f"d{number}"] = rng.choice([" ", "\n", ", ", "\x1c"]).join(words).upper()
    path, text = tmp_path_factory.mktemp("planted") / "lsh.db", " ".join(query)
    with lshdb.open(path, passages=RUN, limits=Limits(fingerprints=9)) as db:
        db.add_many([(key, "something else" if rng.random() < 0.3 else "old") for key in stored])
        db.add_many(stored.items())  # each is an update
        check(db.passages(text), text, stored, RUN)
        assert lshdb.check(path).ok
        for key in [key for key in stored if rng.random() < 0.5]:
            db.remove(key)
            del stored[key]
        check(db.passages(text), text, stored, RUN)
        db.reindex(passages=RUN + 2)
        check(db.passages(text), text, stored, RUN + 2)


@settings(max_examples=4)
@given(seed=SEEDS, vocabulary=VOCABULARIES)
def test_all_pairs_are_those_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory, seed: int, vocabulary: list[str]
) -> None:
    rng = random.Random(seed)
    pool, texts = rng.choices(vocabulary, k=60), {}
    for number in range(9):
        words, first = rng.choices(vocabulary, k=rng.randrange(30)), rng.randrange(50)
        words[9:9] = pool[first : first + rng.randrange(12)]
        texts[f"d{number}"] = " ".join(words)
    path = tmp_path_factory.mktemp("pairs") / "lsh.db"
    with database_of(path, texts, passages=RUN) as db:
        found = {(pair.a, pair.b): pair for pair in db.passage_pairs()}
        few = [*db.passage_pairs(common=3)]
        with lshdb.open(path, limits=Limits(passage_windows=40)) as parts:
            assert [*parts.passage_pairs()] == [*found.values()]
            assert [*parts.passage_pairs(common=3)] == few
        for a, b in combinations(texts, 2):
            assert ((a, b) in found) == bool(shared_windows(texts[a], texts[b], RUN))
        sources = {key: {source.key: source for source in db.passages(key=key)} for key in texts}
        for (a, b), pair in found.items():
            source = sources[a][b]
            assert (pair.passages, pair.words) == (source.passages, source.words)
            assert (pair.a_coverage, pair.b_coverage) == (source.coverage, source.stored_coverage)
        assert all(pair.words <= found[pair.a, pair.b].words for pair in few)


REPEATING = st.builds(
    lambda seed, words: random.Random(seed).choices(words, k=50),
    SEEDS,
    st.sampled_from(["aaab", "aaabc", "ab"]),
)
"""Texts of two or three words, some runs of which come again and again."""


@settings(max_examples=4)
@given(REPEATING, REPEATING)
@example(
    [*"baaabaaaabaaaaaabaaabaaabaabaaaaaabbbbbbabaaabbbababaaaaaaaa"],
    [*"aaaaabaaabbbbbbbaaabaaaaaaaaaaaaaaaaabaaaaaaaaaaaaaaaaaaaaba"],
)
def test_runs_of_any_length_are_found_in_texts_that_repeat_themselves(
    tmp_path_factory: pytest.TempPathFactory, a: list[str], b: list[str]
) -> None:
    path, texts = tmp_path_factory.mktemp("repeating") / "lsh.db", (" ".join(a), " ".join(b))
    with database_of(path, zip("ab", texts, strict=True), passages=3) as db:
        for length in [*range(3, 12), *range(12, 63, 6)]:
            covered = (covered_words(*side, length) for side in (texts, texts[::-1]))
            expected = max(map(len, covered))
            sources = db.passages(key="a", min_words=length).sources
            assert sum(source.words for source in sources) == expected
            pairs = [*db.passage_pairs(min_words=length)]
            assert sum(pair.words for pair in pairs) == expected
            assert all(run.words >= length for pair in pairs for run in pair.passages)
            if not expected:
                break


# what many documents share


def under_header(count: int) -> dict[str, str]:
    """Documents under one header, of which each quotes the one before."""
    texts = [" ".join(f"own{number}x{word}" for word in range(20)) for number in range(count)]
    return {
        f"d{number}": f"{HEADER}\n{texts[number]}\n{' '.join(texts[number - 1].split()[:9])}"
        for number in range(count)
    }


@pytest.fixture(scope="module")
def headed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lshdb.Database]:
    path = tmp_path_factory.mktemp("headed") / "lsh.db"
    with database_of(path, under_header(HEADED), passages=8) as db:
        yield db


def test_a_run_in_many_documents_is_common_and_no_evidence(headed: lshdb.Database) -> None:
    found = headed.passages(key="d7")
    assert [(source.key, source.words) for source in found] == [("d6", 9), ("d8", 9)]
    (common,) = found.common
    assert (common.text, common.words, common.line) == (HEADER, 30, 1)
    assert not headed.passages(HEADER).sources
    pairs = headed.passage_pairs()
    next(pairs)
    assert pairs.common == [("d0", common)]
    rarer = headed.passages(key="d7", common=HEADED)
    assert (len(rarer), len(rarer.common)) == (HEADED - 1, 0)
    assert len(headed.passages(key="d7", top=1)) == 1
    # A copy beside the common run is shown to its last word.
    copy = " ".join(f"own3x{n}" for n in range(8))
    first, second = headed.passages(f"new new {HEADER} {copy}")
    assert (first.key, second.key, first.passages[0].text) == ("d3", "d4", copy)


def test_all_pairs_come_in_the_order_of_addition_and_as_many_as_wanted(
    headed: lshdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbours = [(f"d{number}", f"d{number + 1}") for number in range(HEADED - 1)]
    neighbours.insert(1, ("d0", f"d{HEADED - 1}"))
    assert [(p.a, p.b) for p in headed.passage_pairs()] == neighbours
    assert len([*headed.passage_pairs(common=HEADED, top=5)]) == 5
    assert not [*headed.passage_pairs(min_words=10)]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(lshdb.StoreError, match="gone: no such file or directory; TMPDIR names"):
        next(headed.passage_pairs())


def test_gaps_are_bridged_where_that_is_asked(headed: lshdb.Database) -> None:
    words = [f"own5x{n}" for n in range(20)]
    words[9:10] = ["changed", "here"]
    text = " ".join(words)
    for gap in (0, 1):
        assert [p.words for p in headed.passages(text, gap=gap)[0].passages] == [9, 10]
    (bridged,) = headed.passages(text, gap=2)[0].passages
    assert (bridged.words, bridged.text) == (19, text)
    assert bridged.similarity == pytest.approx(19 / 21)
    twice = " ".join(f"own6x{n}" for n in range(14)) + " "
    found = headed.passages(twice * 2, gap=2)[0]
    assert [p.words for p in found.passages] == [14, 14], "the same place twice is no gap"


def test_a_rare_run_around_a_common_sequence_leads_to_no_document(path: Path) -> None:
    run = [f"run{n}" for n in range(8)]
    texts = {}
    for n in range(160):
        side = [f"{letter}{n}" for letter in "abcd"]
        # One of four parts is the fingerprint of the run.
        texts[f"d{n}"] = " ".join([*side, *run[n % 4 : n % 4 + 5], *side[::-1]])
    texts |= {"one": " ".join(run), "two": "and " + " ".join(run)}
    with database_of(path, texts, passages=8) as db:
        assert [(p.a, p.b) for p in db.passage_pairs(common=200)] == [("one", "two")]
        assert not [*db.passage_pairs(common=8)]
        assert not db.passages(key="one", common=8).sources
        longer = " ".join([*run, *(f"rest{n}" for n in range(8))])
        db.add_many([("more", longer), ("most", longer)])
        (pair,) = db.passage_pairs(common=8)
        (source,) = db.passages(key="more", common=8)
        assert (pair.a, pair.b, pair.words) == ("more", "most", 16)
        assert pair.passages == source.passages


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_base_text_counts_in_neither_document_in_whatever_order(path: Path, order: str) -> None:
    body = [f"body{n}" for n in range(12)]
    texts = {"a": ["new"] * 3 + body, "b": [*HEADER.split(), *body, "end"]}
    base = [" ".join([*HEADER.split(), *body[:2]])]
    with database_of(path, [(key, " ".join(texts[key])) for key in order], passages=4) as db:
        (pair,) = db.passage_pairs(base=base)
        ((first,), (second,)) = (db.passages(key=key, base=base).sources for key in order)
    assert first.passages == pair.passages
    for found in (pair, second):
        assert [passage.text for passage in found.passages] == [" ".join(body[2:])]


# units, processes and forged hashes


def test_characters_are_the_units_of_char_shingles(path: Path) -> None:
    with lshdb.open(path, shingle="char:5", passages=12) as db:
        db.add("zen", "Beautiful is better than ugly.\nExplicit is better than implicit.")
        found = db.passages("xx EXPLICIT  is better, yy")
        (passage,) = found[0].passages
        assert (passage.text, passage.words, passage.stored_line) == (" EXPLICIT  is better", 19, 1)
        assert (found.unit, len(db.passages("is better"))) == ("character", 0)


def test_a_worker_process_finds_the_same_pairs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, before = [], os.times().children_user
    database_of(path, under_header(12), passages=8).close()
    with lshdb.open(path) as db:
        found.append([[*db.passage_pairs(gap=2, common=9)], [*db.passage_pairs(top=9)]])
    monkeypatch.setattr(processes, "default_workers", lambda: 1)
    with signed_elsewhere(), lshdb.open(path, limits=Limits(passage_windows=100)) as db:
        found.append([[*db.passage_pairs(gap=2, common=9)], [*db.passage_pairs(top=9)]])
    assert found[0] == found[1]
    assert os.times().children_user > before


def test_words_decide_where_others_were_made_to_have_their_hashes(path: Path) -> None:
    shared = " ".join(f"shared{n}" for n in range(9))
    a, b = (f"{forged} {shared} {name}" for forged, name in zip(FORGED_TEXTS, "ab", strict=True))
    with database_of(path, {"a": a, "b": b, "other": f"other {shared}"}, passages=4) as db:
        found = {(pair.a, pair.b): pair.passages for pair in db.passage_pairs()}
        sources = {source.key: source.passages for source in db.passages(key="a")}
        compared = db.compare("a", "b").passages or ()
    assert {*found} == {("a", "b"), ("a", "other"), ("b", "other")}
    assert {run.text for passages in found.values() for run in passages} == {shared}
    assert sources == {"b": found["a", "b"], "other": found["a", "other"]}
    assert [(a[run.a_start : run.a_end], run.shingles) for run in compared] == [(shared, 7)]


# scripts without blanks

SENTENCES = {
    "Thai": "ทุกคนมีสิทธิในชีวิตเสรีภาพและความมั่นคงแห่งร่างกาย",
    "Lao": "ທຸກຄົນມີສິດໃນຊີວິດເສລີພາບແລະຄວາມປອດໄພຂອງຕົນ",
    "Khmer": "មនុស្សគ្រប់រូបមានសិទ្ធិរស់រានមានជីវិតសេរីភាពនិងសន្តិសុខ",
    "Burmese": "လူတိုင်းသည်အသက်ရှင်ခွင့်လွတ်လပ်ခွင့်နှင့်လုံခြုံခွင့်ရှိသည်",
    "Javanese": "\ua9b1\ua9a7\ua9ba\ua9a4\ua9b4\ua9a5\ua9a0\ua9b6\ua9a9\ua9b8\ua98f\ua9bc" * 2,
    "Balinese": "\u1b32\u1b36\u1b13\u1b38\u1b22\u1b3e\u1b29\u1b36\u1b2e\u1b38\u1b27\u1b36" * 2,
}
OTHERS = {"Thai": "แมวดำ", "Lao": "ແມວດຳ", "Khmer": "ឆ្មាខ្មៅ", "Burmese": "ကြောင်မည်း"}


@pytest.mark.parametrize("script", SENTENCES)
@pytest.mark.parametrize("sign", ["", "\u200b"])
def test_a_sentence_within_another_text_is_found_where_it_is(
    path: Path, script: str, sign: str
) -> None:
    sentence, other = SENTENCES[script], OTHERS.get(script, "\ua98f\ua9ba\u1b13\u1b3e")
    text = sign.join(f"{other} {other}{sentence}{other}")
    with lshdb.open(path, threshold=0.3, passages=8) as db:
        db.add("source", f"{sentence} one")
        [passage] = db.passages(text).sources[0].passages
        plain = passage.text.replace(sign, "") if sign else passage.text
        assert len(plain) > 0.7 * len(sentence)
        assert plain in sentence
        assert text[passage.start : passage.end] == passage.text
        changed = sentence[: len(sentence) // 2] + other + sentence[len(sentence) // 2 :]
        [match] = db.query(sign.join(f"{changed} one"), exhaustive=True)
        assert match.similarity > 0.4
