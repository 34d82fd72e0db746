"""Copied passages, beside a search of all words against all words."""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import FORGED_TEXTS, database_of, signed_elsewhere
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.model import Passages, Source
from lshdb.workers import default_workers

RUN = 6
VOCABULARIES = st.sampled_from(
    [["a"], ["a", "b"], ["a", "b", "c", "d", "e"], list(map(str, range(5000)))]
)
HEADER = " ".join(f"header{n}" for n in range(30))
HEADED = 120
"""Documents under the header: more than the 100 that share what is not common."""


def words_of(text: str) -> list[tuple[str, int, int]]:
    return [(m[0].lower(), m.start(), m.end()) for m in re.finditer(r"\w+", text)]


def shared_windows(query: str, stored: str, run: int) -> set[int]:
    """The words of the query at which a run begins that the stored text has, by brute force."""
    one, other = ([word for word, _, _ in words_of(text)] for text in (query, stored))
    windows = {tuple(other[i : i + run]) for i in range(len(other) - run + 1)}
    return {i for i in range(len(one) - run + 1) if tuple(one[i : i + run]) in windows}


def check(found: Passages, query: str, stored: dict[str, str], run: int) -> None:
    """That what is found is there, and that nothing is missing."""
    own = words_of(query)
    assert found.unit == "word"
    by_start = {start: place for place, (_, start, _) in enumerate(own)}
    sources = {source.key: source for source in found}
    for key, text in stored.items():
        expected = shared_windows(query, text, run)
        assert (key in sources) == bool(expected), key
        if not expected:
            continue
        source = sources[key]
        covered: set[int] = set()
        windows: set[int] = set()
        for passage in source.passages:
            mine = words_of(query[passage.start : passage.end])
            its = words_of(text[passage.stored_start : passage.stored_end])
            assert [w for w, _, _ in mine] == [w for w, _, _ in its]
            assert passage.words == len(mine) >= run
            assert passage.text == query[passage.start : passage.end]
            assert passage.line == query.count("\n", 0, passage.start) + 1
            assert passage.stored_end_line == text.count("\n", 0, passage.stored_end) + 1
            first = by_start[passage.start]
            covered.update(range(first, first + len(mine)))
            windows.update(range(first, first + len(mine) - run + 1))
            # As long as it can be.
            before = [w for w, _, end in words_of(text) if end <= passage.stored_start]
            if first and before:
                assert own[first - 1][0] != before[-1]
        assert windows == expected
        assert source.words == len(covered)
        assert source.coverage == pytest.approx(len(covered) / len(own))
    assert [s.words for s in found] == sorted((s.words for s in found), reverse=True)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1 << 30), vocabulary=VOCABULARIES, other=VOCABULARIES)
def test_every_planted_run_is_found_where_it_is(
    tmp_path_factory: pytest.TempPathFactory, seed: int, vocabulary: list[str], other: list[str]
) -> None:
    rng = random.Random(seed)
    query = [rng.choice(vocabulary) for _ in range(rng.randrange(RUN, 80))]
    stored = {}
    for number in range(8):
        words = [rng.choice(other) for _ in range(rng.randrange(60))]
        if number % 2:
            length = rng.choice([RUN, RUN, RUN + 1, RUN + 5])
            first = rng.randrange(max(1, len(query) - length + 1))
            at = rng.randrange(len(words) + 1)
            words[at:at] = query[first : first + length]
        stored[f"d{number}"] = rng.choice([" ", "\n", ", "]).join(words).upper()
    path = tmp_path_factory.mktemp("planted") / "lsh.db"
    with lshdb.open(path, passages=RUN, limits=lshdb.Limits(fingerprints=9)) as db:
        db.add_many([(key, "something else" if rng.random() < 0.3 else "old") for key in stored])
        db.add_many(stored.items())  # each is an update
        asked = " ".join(query)
        check(db.passages(asked), asked, stored, RUN)
        assert lshdb.check(path).ok
        gone = [key for key in stored if rng.random() < 0.5]
        db.remove(gone)
        rest = {key: text for key, text in stored.items() if key not in gone}
        check(db.passages(asked), asked, rest, RUN)
        db.reindex(passages=RUN + 2)
        check(db.passages(asked), asked, rest, RUN + 2)
        db.reindex(passages=0)
        assert next(db.sql("SELECT count(*) FROM fingerprints"))[0] == 0


@pytest.fixture(scope="module")
def headed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lshdb.Database]:
    path = tmp_path_factory.mktemp("headed") / "lsh.db"
    with database_of(path, under_header(HEADED), passages=8) as db:
        yield db


def under_header(count: int) -> dict[str, str]:
    """Documents under one header, of which each quotes the one before."""
    own = [" ".join(f"own{number}x{word}" for word in range(20)) for number in range(count)]
    return {
        f"d{number}": f"{HEADER}\n{own[number]}\n{' '.join(own[number - 1].split()[:9])}"
        for number in range(count)
    }


def test_a_run_in_many_documents_is_common_and_no_evidence(headed: lshdb.Database) -> None:
    found = headed.passages(key="d7")
    assert [source.key for source in found] == ["d6", "d8"]
    assert [source.words for source in found] == [9, 9]
    (common,) = found.common
    assert (common.text, common.words, common.line) == (HEADER, 30, 1)
    assert not headed.passages(HEADER).sources
    pairs = headed.passage_pairs()
    assert not pairs.common
    next(pairs)
    ((key, run),) = pairs.common
    assert (key, run) == ("d0", common)


def test_a_rare_run_around_a_common_sequence_leads_to_no_document(tmp_path: Path) -> None:
    run = [f"run{n}" for n in range(8)]
    parts = [run[n : n + 5] for n in range(4)]  # one of them is the fingerprint of the run
    others = [[f"{side}{n}" for side in "abcd"] for n in range(160)]
    rest = [f"rest{n}" for n in range(8)]
    with lshdb.open(tmp_path / "lsh.db", passages=8) as db:
        db.add_many(
            (f"d{n}", " ".join([*own, *parts[n % 4], *own[::-1]])) for n, own in enumerate(others)
        )
        db.add_many([("one", " ".join(run)), ("two", "and " + " ".join(run))])
        assert [(p.a, p.b) for p in db.passage_pairs(common=200)] == [("one", "two")]
        assert not list(db.passage_pairs(common=8))
        assert not db.passages(key="one", common=8).sources
        db.add_many([("more", " ".join(run + rest)), ("most", " ".join(run + rest))])
        (pair,) = db.passage_pairs(common=8)
        (source,) = db.passages(key="more", common=8)
        assert (pair.a, pair.b, pair.words) == ("more", "most", 16)
        assert pair.passages == source.passages


def test_what_is_rarer_than_the_limit_counts(headed: lshdb.Database) -> None:
    found = headed.passages(key="d7", common=HEADED)
    assert len(found) == HEADED - 1
    assert not found.common


def test_a_base_text_does_not_count_and_a_copy_goes_on_where_it_ends(tmp_path: Path) -> None:
    body = " ".join(f"body{n}" for n in range(12))
    with lshdb.open(tmp_path / "lsh.db", passages=8) as db:
        db.add_many([("a", f"{HEADER} {body} {HEADER}"), ("c", f"Header. {HEADER} No more.")])
        db.add("b", f"Other words. {HEADER} {body} {HEADER}")
        (pair,) = db.passage_pairs(base=[f"Some task. {HEADER}"])
        (source,) = db.passages(key="a", base=[f"Some task. {HEADER}"])
    assert [one.text for one in pair.passages] == [body]
    assert (source.key, pair.passages) == ("b", source.passages)


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_base_text_counts_in_neither_document_in_whatever_order(
    tmp_path: Path, order: str
) -> None:
    body = [f"body{n}" for n in range(12)]
    texts = {"a": ["new"] * 3 + body, "b": [*HEADER.split(), *body, "end"]}
    base = [" ".join([*HEADER.split(), *body[:2]])]
    with lshdb.open(tmp_path / "lsh.db", passages=4) as db:
        db.add_many([(key, " ".join(texts[key])) for key in order])
        (pair,) = db.passage_pairs(base=base)
        found = [db.passages(key=key, base=base).sources for key in order]
        of_text = {one.key: one.words for one in db.passages(" ".join(texts["a"]), base=base)}
    assert [one.text for one in pair.passages] == [" ".join(body[2:])]
    assert [source.passages for source in found[0]] == [pair.passages]
    assert [one.text for source in found[1] for one in source.passages] == [" ".join(body[2:])]
    assert of_text == {"a": 15, "b": 10}


def test_a_copy_beside_a_common_run_is_shown_to_its_last_word(headed: lshdb.Database) -> None:
    found = headed.passages(
        " ".join(["new"] * 4 + HEADER.split() + [f"own3x{n}" for n in range(8)])
    )
    assert [source.key for source in found] == ["d3", "d4"]
    assert found[0].passages[0].text == " ".join(f"own3x{n}" for n in range(8))


def test_gaps_are_bridged_where_that_is_asked(headed: lshdb.Database) -> None:
    words = [f"own5x{n}" for n in range(20)]
    words[9:10] = ["changed", "here"]
    text = " ".join(words)
    plain = headed.passages(text)
    assert [p.words for p in plain[0].passages] == [9, 10]
    (merge_gaps,) = headed.passages(text, gap=2)[0].passages
    assert (merge_gaps.words, merge_gaps.text) == (19, text)
    assert merge_gaps.similarity == pytest.approx(19 / 21)
    assert len(headed.passages(text, gap=1)[0].passages) == 2
    own = " ".join(f"own6x{n}" for n in range(14))
    found = headed.passages(f"{own} {own}", gap=2)[0]
    assert [p.words for p in found.passages] == [14, 14], "the same place twice is no gap"


def test_a_text_from_several_sources_names_them_all(headed: lshdb.Database) -> None:
    parts = [[f"own{n}x{word}" for word in range(20 - n)] for n in (1, 2, 3)]
    found = headed.passages(" and then ".join(" ".join(part) for part in parts))
    assert [source.key for source in found][:3] == ["d2", "d3", "d1"]
    assert [source.words for source in found][:3] == [18 + 9, 17 + 9, 19]
    assert len(headed.passages(" ".join(parts[0]), top=1)) == 1


def test_characters_are_the_units_of_char_shingles(tmp_path: Path) -> None:
    with lshdb.open(tmp_path / "lsh.db", shingle="char:5", passages=12) as db:
        db.add("zen", "Beautiful is better than ugly.\nExplicit is better than implicit.")
        found = db.passages("xx EXPLICIT  is better, yy")
        (passage,) = found[0].passages
        assert (passage.text, passage.words, passage.stored_line) == (" EXPLICIT  is better", 19, 1)
        assert (found.unit, len(db.passages("is better"))) == ("character", 0)


def test_all_pairs_come_in_the_order_of_addition_and_as_many_as_wanted(
    headed: lshdb.Database,
) -> None:
    pairs = [(p.a, p.b) for p in headed.passage_pairs()]
    assert pairs == [
        ("d0", "d1"),
        ("d0", f"d{HEADED - 1}"),
        *((f"d{number}", f"d{number + 1}") for number in range(1, HEADED - 1)),
    ]
    assert len(list(headed.passage_pairs(common=HEADED, top=5))) == 5
    assert not list(headed.passage_pairs(min_words=10))
    assert headed.passages("of seven words there is no run").words == 0


def test_a_missing_directory_of_temporary_files_is_named(
    headed: lshdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(lshdb.StoreError, match="gone: no such file or directory; TMPDIR names"):
        list(headed.passage_pairs())


def test_a_worker_process_finds_the_same_pairs(path: Path) -> None:
    with database_of(path, under_header(30), passages=8) as db:
        alone = list(db.passage_pairs(gap=2, common=9)), list(db.passage_pairs(top=9))
    few = Limits(passage_windows=100)
    before = os.times().children_user
    with signed_elsewhere(), lshdb.open(path, limits=few) as db:
        found = list(db.passage_pairs(gap=2, common=9)), list(db.passage_pairs(top=9))
    assert found == alone
    assert os.times().children_user > before or default_workers() < 1


def test_words_decide_where_others_were_made_to_have_their_hashes(tmp_path: Path) -> None:
    shared = " ".join(f"shared{n}" for n in range(9))
    a, b = (f"{forged} {shared} {name}" for forged, name in zip(FORGED_TEXTS, "ab", strict=True))
    with lshdb.open(tmp_path / "lsh.db", passages=4) as db:
        db.add_many([("a", a), ("b", b), ("other", f"other {shared}")])
        found = {(pair.a, pair.b): pair.passages for pair in db.passage_pairs()}
        sources = {one.key: one.passages for one in db.passages(key="a")}
        compared = db.compare("a", "b").passages or ()
    assert set(found) == {("a", "b"), ("a", "other"), ("b", "other")}
    assert {one.text for passages in found.values() for one in passages} == {shared}
    assert sources == {"b": found["a", "b"], "other": found["a", "other"]}
    assert [(a[one.a_start : one.a_end], one.shingles) for one in compared] == [(shared, 7)]


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1 << 30), vocabulary=VOCABULARIES)
def test_all_pairs_are_those_of_brute_force(
    tmp_path_factory: pytest.TempPathFactory, seed: int, vocabulary: list[str]
) -> None:
    rng = random.Random(seed)
    pool = [rng.choice(vocabulary) for _ in range(60)]
    texts = {}
    for number in range(12):
        words = [rng.choice(vocabulary) for _ in range(rng.randrange(30))]
        first = rng.randrange(50)
        words[9:9] = pool[first : first + rng.randrange(12)]
        texts[f"d{number}"] = " ".join(words)
    with lshdb.open(tmp_path_factory.mktemp("pairs") / "lsh.db", passages=RUN) as db:
        db.add_many(texts.items())
        found = {(pair.a, pair.b): pair for pair in db.passage_pairs()}
        few = list(db.passage_pairs(common=3))
        with lshdb.open(db.path, limits=Limits(passage_windows=40)) as parts:
            assert [*parts.passage_pairs()] == [*found.values()]
            assert [*parts.passage_pairs(common=3)] == few
        expected = {
            (a, b)
            for a, b in itertools.combinations(texts, 2)
            if shared_windows(texts[a], texts[b], RUN)
        }
        assert set(found) == expected
        for a, pairs in itertools.groupby(found.values(), lambda pair: pair.a):
            sources = {source.key: source for source in db.passages(key=a)}
            for pair in pairs:
                check_pair(sources[pair.b], pair)
        for pair in few:
            assert pair.words <= found[pair.a, pair.b].words


REPEATING = st.builds(
    lambda seed, words: random.Random(seed).choices(words, k=60),
    st.integers(0, 1 << 30),
    st.sampled_from(["aaab", "aaabc", "ab"]),
)
"""Texts of two or three words, some runs of which come again and again."""


def in_runs(one: list[str], other: list[str], least: int) -> int:
    """How many words of a text are in runs of at least some words that another has."""
    covered: set[int] = set()
    for i in shared_windows(" ".join(one), " ".join(other), least):
        covered.update(range(i, i + least))
    return len(covered)


@settings(max_examples=6, deadline=None)
@given(REPEATING, REPEATING)
@example(
    list("baaabaaaabaaaaaabaaabaaabaabaaaaaabbbbbbabaaabbbababaaaaaaaa"),
    list("aaaaabaaabbbbbbbaaabaaaaaaaaaaaaaaaaabaaaaaaaaaaaaaaaaaaaaba"),
)
def test_runs_of_any_length_are_found_in_texts_that_repeat_themselves(
    tmp_path_factory: pytest.TempPathFactory, one: list[str], other: list[str]
) -> None:
    with lshdb.open(tmp_path_factory.mktemp("repeating") / "lsh.db", passages=3) as db:
        db.add_many([("one", " ".join(one)), ("other", " ".join(other))])
        for least in range(3, len(one) + 2):
            expected = in_runs(one, other, least)
            sources = db.passages(key="one", min_words=least).sources
            assert sum(source.words for source in sources) == expected
            pairs = [*db.passage_pairs(min_words=least)]
            assert sum(pair.words for pair in pairs) == expected
            assert all(words.words >= least for pair in pairs for words in pair.passages)
            if not expected:
                break


def check_pair(source: Source, pair: lshdb.PassagePair) -> None:
    """That a query for the one document finds the same passages in the other."""
    assert pair.passages == source.passages
    assert (pair.words, pair.a_coverage) == (source.words, source.coverage)
    assert pair.b_coverage == source.stored_coverage
