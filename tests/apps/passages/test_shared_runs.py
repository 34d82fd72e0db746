"""What two texts share is the same through all doors and from both sides, against brute force."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from itertools import chain, combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from helpers import Command, database_of

import lshdb
from lshdb.apps.gate.gate import gate
from lshdb.apps.gate.options import GateOptions
from lshdb.apps.passages import passage_windows
from lshdb.apps.passages.model import CopiedPassage
from lshdb.apps.passages.passages import CopiedShares, Copies
from lshdb.apps.passages.shared_runs import Segments
from lshdb.apps.report import evidence
from lshdb.limits import Limits
from lshdb.progress import silent
from lshdb.sketch.constructions import Construction
from lshdb.sketch.settings import Settings
from lshdb.text.arrays import NO_NUMBERS, int_array, lengths_of
from lshdb.text.shingling import Shingling

Words = list[str]
Figures = tuple[int, float, float]
"""The words of a pair, the share of the first text, and that of the second."""
RUN = 4


def settings(run: int) -> Settings:
    """A database whose texts are compared in runs of this many words."""
    construction = Construction(4, 4)
    return Settings(0.8, 0.9, Shingling("word", 3), 16, construction, "fast", 1, True, run)


def copied_of(texts: list[Words], limits: Limits, run: int = RUN) -> CopiedShares:
    """What finds the passages of texts."""
    contents = [" ".join(words) for words in texts]
    return CopiedShares(
        lambda numbers: [contents[number] for number in numbers.tolist()],
        lengths_of(contents),
        settings(run),
        limits,
        run,
    )


def passages_of(found: Copies) -> Iterator[tuple[int, int, float, CopiedPassage]]:
    """The passages of some texts: both numbers, the share and the passage of each."""
    columns = found.copies.tolist(), found.sources.tolist(), found.shares.tolist()
    for index, (copy, source, share) in enumerate(zip(*columns, strict=True)):
        passage = found.passage(index)
        assert [passage.start, passage.end] == found.spans[index].tolist()
        yield copy, source, share, passage


def repeating_texts(rng: random.Random, times: int) -> list[Words]:
    """Texts that share passages, each up to some times, with other words between."""
    vocabulary = rng.choice([["a"], ["a", "b"], [*"abcd"], [f"w{n}" for n in range(300)]])
    passages = [rng.choices(vocabulary, k=rng.randrange(1, 12)) for _ in range(3)]
    texts: list[Words] = []
    for _ in range(rng.randrange(2, 5)):
        text: Words = rng.choices(vocabulary, k=RUN + 1)
        for _ in range(rng.randrange(4)):
            text += rng.choices(vocabulary, k=rng.randrange(6))
            text += rng.choice(passages) * rng.choice([1, 2, rng.randrange(1, times + 1)])
        texts.append(text)
    return texts


def common_words(a: Words, b: Words, i: int, j: int) -> int:
    """How many words are the same from a place in each text on."""
    pairs = zip(a[i:], b[j:], strict=False)
    return next(
        (n for n, (one, other) in enumerate(pairs) if one != other), min(len(a) - i, len(b) - j)
    )


def longest_at(a: Words, b: Words) -> list[int]:
    """The words of the longest run of the other text that begins at each word."""
    return [
        max((common_words(a, b, i, j) for j in range(len(b))), default=0) for i in range(len(a))
    ]


def covered_words(a: Words, b: Words, run: int) -> set[int]:
    """The words of a text that are in runs of the other one."""
    longest = enumerate(longest_at(a, b))
    return {word for first, size in longest if size >= run for word in range(first, first + size)}


def longest_runs(a: Words, b: Words, run: int) -> set[tuple[int, int]]:
    """First word and length of the longest runs of a text that are within no other one there."""
    longest = longest_at(a, b)
    return {
        (first, size)
        for first, size in enumerate(longest)
        if size >= run and (not first or longest[first - 1] <= size)
    }


def figures(a: Words, b: Words, run: int = RUN) -> Figures:
    """What two texts share, by brute force."""
    sizes = len(covered_words(a, b, run)), len(covered_words(b, a, run))
    return max(sizes), sizes[0] / len(a), sizes[1] / len(b)


@pytest.mark.parametrize("seed", range(30))
def test_runs_of_all_pairs_are_those_of_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    texts = repeating_texts(rng, 6)
    min_units = RUN + rng.choice([0, 0, 1, 4])
    counting = passage_windows.Counting.of(settings(RUN), NO_NUMBERS)
    windows = counting.windows_of([" ".join(words) for words in texts])
    segments = Segments.of(windows, RUN, NO_NUMBERS)
    pairs = [*permutations(range(len(texts)), 2)]
    a, b = (int_array(side) for side in zip(*pairs, strict=True))
    shared = segments.between(a, b, min_units)
    unit = segments.texts.windows["unit"]
    counts = dict[tuple[int, int], int]()
    for number, pair in enumerate(pairs):
        one, other = (texts[text] for text in pair)
        runs = shared.runs.chosen(shared.runs.pair == number)
        rows = [
            *zip(unit[runs.a].tolist(), unit[runs.b].tolist(), runs.length + RUN - 1, strict=True)
        ]
        for i, j, size in rows:
            assert common_words(one, other, i, j) == size
            assert not i or not j or one[i - 1] != other[j - 1]
        expected = longest_runs(one, other, min_units), longest_runs(other, one, min_units)
        assert expected[0] <= {(i, size) for i, _, size in rows}
        assert expected[1] <= {(j, size) for _, j, size in rows}
        assert len(rows) <= sum(map(len, expected))
        counts[pair] = len(rows)
        assert shared.a_units[number] == len(covered_words(one, other, min_units))
        assert shared.b_units[number] == len(covered_words(other, one, min_units))
    assert all(counts[pair] == counts[pair[::-1]] for pair in pairs)
    shares = copied_of(texts, Limits(passage_windows=10) if seed % 2 else Limits()).scores(
        a, b, 0.0
    )
    assert shares.tolist() == [figures(texts[i], texts[j])[1] for i, j in pairs]


def doors(texts: dict[str, Words], path: Path) -> Iterator[tuple[str, str, str, Figures]]:
    """What each door says of each pair of texts that are added in this order."""
    direct = pytest.importorskip("web_pages", exc_type=ImportError).direct
    contents = {key: " ".join(words) for key, words in texts.items()}
    with database_of(path / "lsh.db", contents, shingle=f"word:{RUN}", passages=RUN) as db:
        for pair in db.passage_pairs():
            yield "--all", pair.a, pair.b, (pair.words, pair.a_coverage, pair.b_coverage)
        for key, text in contents.items():
            asked = db.passages(key=key), db.passages(text)
            for door, found in zip(("--key", "FILE"), asked, strict=True):
                for source in found:
                    if source.key != key:
                        shares = source.coverage, source.stored_coverage
                        yield door, key, source.key, (source.words, *shares)
        for connected in evidence.connections(db._store, 0.0, silent).pairs:
            words, a_share, b_share = connected.words, connected.a_coverage, connected.b_coverage
            if words is not None and a_share is not None and b_share is not None:
                yield "report", connected.a, connected.b, (words, a_share, b_share)
        with direct(path / "lsh.db") as site:
            for key in contents:
                page = json.loads(site.get("document.json", key=key).text)
                for row in page["passages"]["sources"]:
                    shares = row["coverage"], row["stored_coverage"]
                    yield "pages", key, row["key"], (row["words"], *shares)
        for a, b in combinations(texts, 2):
            covers = set[int](), set[int]()
            for run in db.compare(a, b).passages or ():
                for covered, key, first in zip(
                    covers, (a, b), (run.a_start, run.b_start), strict=True
                ):
                    begin = contents[key][:first].count(" ")
                    covered.update(range(begin, begin + run.shingles + RUN - 1))
            if covers[0]:
                sizes = len(covers[0]), len(covers[1])
                shares = sizes[0] / len(texts[a]), sizes[1] / len(texts[b])
                yield "compare", a, b, (max(sizes), *shares)


@pytest.mark.parametrize("seed", range(4))
def test_all_doors_say_the_same_in_any_order_under_any_keys(seed: int, tmp_path: Path) -> None:
    """Texts that repeat passages up to 50 times."""
    texts = repeating_texts(random.Random(seed), 50)
    numbers = range(len(texts))
    expected = {(i, j): figures(texts[i], texts[j]) for i, j in permutations(numbers, 2)}
    orders = [*numbers], [*reversed(numbers)]
    for name, (order, keys) in enumerate(product(orders, ("abcde", "edcba"))):
        (directory := tmp_path / str(name)).mkdir()
        seen = dict[str, set[tuple[int, int]]]()
        for door, a, b, values in doors({keys[n]: texts[n] for n in order}, directory):
            pair = keys.index(a), keys.index(b)
            assert values == pytest.approx(expected[pair]), door
            seen.setdefault(door, set()).update((pair, pair[::-1]))
        shared = {pair for pair, (words, *_) in expected.items() if words}
        assert all(pairs == shared for pairs in seen.values())
        assert len(seen) == (6 if shared else 0)


@pytest.mark.parametrize("seed", range(3))
def test_the_gate_counts_the_words_that_files_share_whatever_their_names(
    seed: int, tmp_path: Path
) -> None:
    """Of 10 words and more, the fewest that it takes."""
    texts = repeating_texts(random.Random(seed), 50)
    others = [[*texts[:number], *texts[number + 1 :]] for number in range(len(texts))]
    copied = sum(
        len(set[int]().union(*(covered_words(text, other, 10) for other in rest)))
        for text, rest in zip(texts, others, strict=True)
    )
    for names in ("abcde", "edcba"):
        directory = tmp_path / names
        directory.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=directory, check=True)
        for name, words in zip(names, texts, strict=False):
            (directory / f"{name}.txt").write_text(" ".join(words))
        subprocess.run(["git", "add", "."], cwd=directory, check=True)
        request = GateOptions(min_tokens=10, threshold=1, count_all=True)
        findings = gate([], request, directory=str(directory))
        assert (findings.copied, findings.tokens) == (copied, sum(map(len, texts)))


@pytest.mark.parametrize("seed", range(4))
def test_dedup_drops_and_cuts_what_passages_names(seed: int, tmp_path: Path) -> None:
    texts = repeating_texts(random.Random(seed), 50)[:2]
    for one, other in permutations(texts):
        expected = figures(other, one)
        rows = [{"id": str(n), "text": " ".join(text)} for n, text in enumerate((one, other))]
        dropped = [*lshdb.dedup(rows, rule=f"copied:{RUN}").dropped]
        assert [row.similarity for row in dropped] == pytest.approx(
            [expected[1]] * bool(expected[0])
        )
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "left.jsonl").unlink(missing_ok=True)
        cut = "--cut", str(RUN), "--min-words", "1", "-o", "left.jsonl"
        assert Command(tmp_path)("dedup", "rows.jsonl", *cut).status == 0
        lines = (tmp_path / "left.jsonl").read_text().splitlines()
        left = json.loads(lines[1])["text"].split() if len(lines) > 1 else []
        assert len(left) == len(other) - len(covered_words(other, one, RUN))


def test_what_only_one_text_has_of_a_common_run_cuts_nothing(tmp_path: Path) -> None:
    """From each side: the run is in more documents than the limit."""
    common = [f"common{n}" for n in range(12)]
    copied = [*common[-2:], *(f"copied{n}" for n in range(12))]
    texts = {f"other{n}": [*common, *(f"w{n}x{m}" for m in range(9))] for n in range(8)}
    texts |= {
        "one": [*copied, "end"],
        "two": [*common[:-2], *copied],
        "three": [*common, "x", *copied],
    }
    with database_of(
        tmp_path / "lsh.db", {key: " ".join(text) for key, text in texts.items()}, passages=RUN
    ) as db:
        pairs = {(pair.a, pair.b): pair for pair in db.passage_pairs(common=7)}
        assert {*pairs} == {*combinations(("one", "two", "three"), 2)}
        for (a, b), pair in pairs.items():
            for key, other, sides in ((a, b, "ab"), (b, a, "ba")):
                sources = {source.key: source for source in db.passages(key=key, common=7)}
                shares = [getattr(pair, f"{side}_coverage") for side in sides]
                source = sources[other]
                assert [source.coverage, source.stored_coverage, source.words] == [
                    *shares,
                    pair.words,
                ]
    assert pairs["one", "two"].words == pairs["one", "three"].words == len(copied)
    assert pairs["two", "three"].words == len(copied) - 2


@pytest.mark.parametrize("seed", range(6))
def test_all_pairs_are_those_of_each_text_where_lines_are_common(seed: int, tmp_path: Path) -> None:
    """Lines that end alike, of which texts have whole ones, and some ends."""
    rng = random.Random(seed)
    pool = [[*(f"w{line}x{n}" for n in range(4)), f"end{line % 2}", "end"] for line in range(5)]
    texts = {
        str(n): " ".join(
            word for line in rng.choices(pool, k=4) for word in line[rng.choice([0, 0, 4]) :]
        )
        for n in range(14)
    }
    with database_of(tmp_path / "lsh.db", texts, passages=RUN) as db:
        pairs = {(pair.a, pair.b, pair.words) for pair in db.passage_pairs(common=4)}
        by_key = {
            (*sorted((key, source.key), key=int), source.words)
            for key in texts
            for source in db.passages(key=key, common=4, top=20)
        }
    assert pairs == by_key


def test_rows_of_common_lines_are_no_pairs_and_the_note_has_them(tmp_path: Path) -> None:
    """Each two lines in turn are in a few rows."""
    rng = random.Random(1)
    pool = [" ".join(f"w{line}x{n}" for n in range(12)) for line in range(9)]
    texts = {str(n): "\n".join(rng.choices(pool, k=8)) for n in range(40)}
    copied = " ".join(f"copied{n}" for n in range(15))
    texts |= {key: f"{texts[key]}\n{copied}" for key in "39"}
    with database_of(tmp_path / "lsh.db", texts, passages=13) as db:
        pairs = db.passage_pairs(common=12)
        (pair,) = pairs
        assert (pair.a, pair.b) == ("3", "9")
        assert pair.words >= 15
        sources = {key: [source.key for source in db.passages(key=key, common=12)] for key in texts}
        assert {key: found for key, found in sources.items() if found} == {"3": ["9"], "9": ["3"]}
        for named in (pairs.common, [("", run) for run in db.passages(key="3", common=12).common]):
            text = " ".join(run.text for _, run in named)
            lines = set(pool) if named is pairs.common else {*texts["3"].split("\n")[:-1]}
            # A line of which the index happens to have no sequence is not named.
            middles = [" ".join(line.split()[3:9]) for line in lines]
            assert sum(middle in text for middle in middles) >= len(lines) - 1


@pytest.mark.parametrize("seed", range(20))
def test_cut_passages_cover_all_that_some_sources_have_and_name_one_of_them(seed: int) -> None:
    """Also where not all texts fit into memory."""
    rng = random.Random(seed)
    texts = repeating_texts(rng, 6) + repeating_texts(rng, 6)
    numbers = np.arange(len(texts))
    related = np.tril(np.random.default_rng(seed).random((len(texts),) * 2) < 0.7, -1)
    copied = copied_of(texts, Limits(passage_windows=10) if seed % 2 else Limits())
    covered: list[set[int]] = [set() for _ in texts]
    found = copied.covering(numbers, numbers, lambda a, b: related[a, b], numbers)
    for copy, source, share, passage in chain.from_iterable(map(passages_of, found)):
        assert related[copy, source]
        assert share == figures(texts[copy], texts[source])[1]
        assert passage.text == " ".join(texts[source])[passage.stored_start : passage.stored_end]
        first = " ".join(texts[copy])[: passage.start].count(" ")
        covered[copy].update(range(first, first + passage.words))
    for copy, text in enumerate(texts):
        sources = np.flatnonzero(related[copy])
        expected = [covered_words(text, texts[source], RUN) for source in sources]
        assert covered[copy] == set[int]().union(*expected)


def test_a_row_of_equal_lines_is_one_passage_of_the_first_such_row() -> None:
    """Each window with each would be 400 million comparisons."""
    line = [f"w{n}" for n in range(12)]
    texts = [["title", str(number), *line * 30] for number in range(300)]
    numbers = np.arange(300)
    one, other = np.tril_indices(300, -1)
    copied = copied_of(texts, Limits())
    assert copied.scores(one, other, 0.0) == pytest.approx(360 / 362)
    (found,) = copied.covering(numbers, numbers, lambda a, b: b < a, numbers)
    cut = [*passages_of(found)]
    assert [(copy, source) for copy, source, *_ in cut] == [(n, 0) for n in range(1, 300)]
    assert {passage.words for *_, passage in cut} == {360}
    longest = copied.longest(one, other)
    assert {passage.words for passage in longest if passage is not None} == {360}
