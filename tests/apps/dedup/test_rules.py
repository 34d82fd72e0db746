"""What each rule of dedup drops, against sets of Python."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable
from typing import Any

import oracles
import pytest
from helpers import Command
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb import Deduplicated, DroppedRow, Limits
from lshdb.apps.dedup.containing import Codes
from lshdb.text.shingling import Shingles

SIMILAR: dict[str, Any] = {"threshold": 0.5, "recall": 0.9999999}
WORDS = st.sampled_from(["ann", "Bob", "bob", "Étude", "d\x1ce", "\0", "7"])
SIGNS = [
    "",
    " ",
    "C++",
    "C#",
    "c#",
    "+5",
    "-5",
    "\U0001f44d",
    "\U0001f44e",
    "Caf\u00e9",
    "Cafe\u0301",
]
TABLES = st.lists(st.lists(WORDS, max_size=14).map(" ".join), max_size=12)
Like = Callable[[int, int], bool]
SMALL = st.sampled_from([Limits(), Limits(batch_documents=2, text_batch=20, dedup_documents=2)])


def dedup(texts: list[str], limits: Limits, **options: Any) -> Deduplicated[Any]:
    rows = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    options |= {} if "rule" in options else SIMILAR
    return lshdb.dedup(rows, shingle="word:2", limits=limits, workers=0, **options)


def dropped(result: Deduplicated[Any]) -> dict[int, int]:
    found = {int(row.key): int(row.kept) for row in result.dropped}
    assert [number in found for number in range(len(result.mask))] == [*~result.mask]
    return found


def sets_of(texts: list[str]) -> list[set[tuple[str, ...]]]:
    return [{*oracles.word_shingles(text, 2)} for text in texts]


def runs(text: str, size: int) -> list[tuple[str, ...]]:
    words = oracles.words(text)
    return [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]


def check_all_dropped(texts: list[str], result: Deduplicated[Any], like: Like) -> None:
    """Assert that with drop_all each row goes that is like any other, and names such a one."""
    found = dropped(result)
    for number in range(len(texts)):
        others = {other for other in range(len(texts)) if other != number and like(number, other)}
        assert (number in found) == bool(others)
        assert number not in found or found[number] in others


@given(TABLES, SMALL)
def test_a_row_is_dropped_that_a_kept_one_contains(texts: list[str], limits: Limits) -> None:
    sets = sets_of(texts)

    def within(a: int, b: int) -> bool:
        return bool(sets[a]) and (sets[a] < sets[b] or (sets[a] == sets[b] and b < a))

    result = dedup(texts, limits, rule="contained")
    found = dropped(result)
    numbers = range(len(texts))
    assert {*found} == {a for a in numbers if any(within(a, b) for b in numbers)}
    for row in result.dropped:
        a, b = int(row.key), int(row.kept)
        assert within(a, b)
        assert b not in found
        same = texts[a] == texts[b]
        how = oracles.jaccard(sets[a], sets[b]), True, same
        assert (row.similarity, row.exact, row.identical) == how


@given(TABLES, SMALL, st.sampled_from([3, 5]))
def test_a_row_is_dropped_that_copies_from_a_kept_one(
    texts: list[str], limits: Limits, size: int
) -> None:
    has, kept = [{*runs(text, size)} for text in texts], list[int]()
    result = dedup(texts, limits, rule=f"copied:{size}")
    found = dropped(result)
    for number, own in enumerate(has):
        reasons = {other for other in kept if own & has[other]}
        assert (number in found) == bool(reasons)
        if reasons:
            assert found[number] in reasons
        else:
            kept.append(number)
    for row in result.dropped:
        check_passage(row, texts, size)
    every = dedup(texts, limits, rule=f"copied:{size}", drop_all=True)
    check_all_dropped(texts, every, lambda a, b: bool(has[a] & has[b]))


@given(st.lists(st.sampled_from(SIGNS), max_size=30), SMALL, st.sampled_from(["first", "last"]))
def test_a_row_is_dropped_that_has_the_characters_of_a_kept_one(
    texts: list[str], limits: Limits, keep: str
) -> None:
    numbers = [*range(len(texts))][:: 1 if keep == "first" else -1]
    stays = {texts[number]: number for number in reversed(numbers)}
    result = dedup(texts, limits, rule="identical", keep=keep)
    every = dedup(texts, limits, rule="identical", drop_all=True)
    assert dropped(result) == {
        number: stays[text] for number, text in enumerate(texts) if text and stays[text] != number
    }
    assert all(
        (row.similarity, row.exact, row.identical) == (1, True, True) for row in result.dropped
    )
    check_all_dropped(texts, every, lambda a, b: bool(texts[a]) and texts[a] == texts[b])


def test_files_with_the_same_bytes_are_listed(command: Command) -> None:
    """Not those with the same text; also beside a reference, and those of an earlier run."""
    text = "The caf\u00e9 is open on Sundays.\nIt was C++ at +5.\n"
    files = {
        "a.txt": text.encode(),
        "b.txt": text.encode(),
        "bom.txt": b"\xef\xbb\xbf" + text.encode(),
        "lines.txt": text.replace("\n", "\r\n").encode(),
        "marks.txt": unicodedata.normalize("NFD", text).encode(),
        "page.html": f"<p>{text}".encode(),
        "page2.html": f"<p>{text}<!-- -->".encode(),
        "page3.html": f"<p>{text}".encode(),
        "nothing.txt": b"",
        "nothing2.txt": b"",
    }
    for name, data in files.items():
        command.path(name).write_bytes(data)

    def listed(*words: str) -> list[list[str]]:
        done = command.done("dedup", *words, "--rule", "identical")
        return [line.split("\t")[2:] for line in done.lines]

    found = [["b.txt", "a.txt"], ["page3.html", "page.html"]]
    assert listed(".") == listed(".", "-d", "seen.db") == found
    assert listed(".", "--keep", "last") == [pair[::-1] for pair in found]
    command.path("new").mkdir()
    command.path("new/c.txt").write_bytes(files["bom.txt"])
    command.path("new/d.txt").write_bytes(files["marks.txt"] + b".")
    found = [["new/c.txt", "bom.txt"]]
    assert listed("new", "--against", "bom.txt") == found
    assert listed("new", "--against", "seen.db") == found
    assert listed("new", "-d", "seen.db") == found


@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
@given(TABLES, TABLES, st.sampled_from(["word:2", "char:2"]))
@example(["\0 ann bob", "\0\0\0"], ["\0\0\0"], "char:2")
@example(["ann \0 bob", "\0\0\0"], ["\0\0\0", "\0"], "word:2")
def test_a_text_of_a_reference_that_is_too_short_for_a_run_matches_as_a_whole(
    texts: list[str], short: list[str], shingle: str
) -> None:
    """Its units are in a row there; if they are fewer than five, they are all of the row."""

    def units(text: str) -> list[str]:
        return oracles.words(text) if shingle == "word:2" else [*" ".join(text.lower().split())]

    def is_like(text: str, other: str) -> bool:
        row, whole = units(text), units(other)
        windows = [row[i : i + len(whole)] for i in range(len(row) - len(whole) + 1)]
        return bool(whole) and (row == whole or (len(whole) > 4 and whole in windows))

    short += ["none", *(text[2:14] for text in texts)]
    rows, references = (
        [{"id": str(number), "text": text} for number, text in enumerate(some)]
        for some in (texts, short)
    )
    result = lshdb.dedup(
        rows, against=references, rule="copied:200", shingle=shingle, only_against=True, workers=0
    )
    found = {int(row.key): row for row in result.dropped}
    for number, text in enumerate(texts):
        longest = max((len(units(other)) for other in short if is_like(text, other)), default=0)
        assert (number in found) == bool(longest)
        if longest:
            row = found[number]
            assert row.passage is not None
            assert units(row.passage.text) == units(short[int(row.kept)])
            assert (row.passage.words, row.similarity) == (longest, longest / len(units(text)))


@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
@pytest.mark.parametrize("door", ["library", "command"])
def test_a_reference_of_signs_matches_the_same_signs(command: Command, door: str) -> None:
    """However many signs it has, and not as a part of more of them."""
    dashes = "-" * 40
    signs = ["\U0001f44d", "***", "+++ ---", dashes, f"{dashes} {dashes}"]
    others = ["\U0001f44e", "**", "****", "+++", "\U0001f44d!", "\U0001f44d the fox", " ", ""]
    rows = [{"id": f"{n}", "text": text} for n, text in enumerate([*signs, "+++  --- ", *others])]
    references = [{"id": f"r{n}", "text": text} for n, text in enumerate([*signs, " ", ""])]
    expected = {f"{n}": f"r{n}" for n in range(5)} | {"5": "r2"}
    if door == "library":
        result = lshdb.dedup(
            rows, against=references, rule="copied:13", on_null="keep", only_against=True, workers=0
        )
        assert {row.key: row.kept for row in result.dropped} == expected
        return
    command.write("rows.jsonl", rows)
    command.write("known.jsonl", references)
    given = [
        "--rule",
        "copied:13",
        "--on-null",
        "keep",
        "--only-against",
        "--against",
        "known.jsonl",
    ]
    command.done("dedup", "rows.jsonl", *given, "-o", "kept.jsonl", "--dropped", "gone.jsonl")
    gone = [*map(json.loads, command.path("gone.jsonl").read_text().splitlines())]
    assert {row["key"]: row["kept"] for row in gone} == expected
    assert [row["same_text"] for row in gone] == [True] * 5 + [False]


def check_passage(row: DroppedRow, texts: list[str], size: int) -> None:
    """Assert that the passage is where the row says, in both texts, and how much it covers."""
    text, other, passage = texts[int(row.key)], texts[int(row.kept)], row.passage
    assert passage is not None
    assert passage.text == text[passage.start : passage.end]
    words = oracles.words(passage.text)
    assert words == oracles.words(other[passage.stored_start : passage.stored_end])
    assert passage.words == len(words) >= size
    shared, covered = {*runs(other, size)}, set[int]()
    for first, run in enumerate(runs(text, size)):
        covered |= {*range(first, first + size)} if run in shared else set()
    assert row.similarity == len(covered) / len(oracles.words(text))


@given(TABLES, SMALL)
def test_all_of_similar_rows_are_dropped(texts: list[str], limits: Limits) -> None:
    sets = sets_of(texts)
    result = dedup(texts, limits, drop_all=True)
    check_all_dropped(texts, result, lambda a, b: oracles.jaccard(sets[a], sets[b]) >= 0.5)


def test_rules_hold_between_runs_and_beside_a_reference(command: Command) -> None:
    page = "the quick brown fox jumps over the lazy dog and runs home"
    command.write("seen.jsonl", json.dumps({"id": "seen", "text": f"{page} again today"}) + "\n")
    rows = [
        {"id": "part", "text": page},
        {"id": "own", "text": "what nobody has written before in any of these rows"},
        {"id": "quote", "text": f"they say that {page} which is true"},
    ]
    command.write("new.jsonl", rows)
    for rule, gone in (("contained", ["part"]), ("copied:6", ["part", "quote"])):
        for known in (["--against", "seen.jsonl"], ["-d", "seen.db"]):
            if known[0] == "-d":
                if rule == "contained":
                    continue
                command.done("dedup", "seen.jsonl", "-o", "first.jsonl", "--rule", rule, *known)
            listed = ["-o", "out.jsonl", "--dropped", "gone.jsonl"]
            command.done("dedup", "new.jsonl", *listed, "--rule", rule, *known)
            found = [*map(json.loads, command.path("gone.jsonl").read_text().splitlines())]
            assert [(row["key"], row["kept"]) for row in found] == [(key, "seen") for key in gone]
            assert ("words" in found[0]) == (rule != "contained")


def test_what_a_rule_needs_is_said(command: Command) -> None:
    command.write("a.jsonl", '{"id": 1, "text": "a"}\n')
    command.done("init", "-d", "none.db", "--no-content")
    command.done("init", "-d", "short.db")
    asked = ["dedup", "a.jsonl", "-o", "o.jsonl"]
    for options, message in (
        ("--cut 5 --keep last", "give no rule, order or reference"),
        ("--cut 5 --text-field text,b", "in one field only"),
        ("--cuts c.jsonl", "give --cut WORDS"),
        ("--cut 2", "cut"),
        ("--rule contained --against none.db", "keeps no contents"),
        ("--rule contained -d short.db", "decide on all rows at once"),
        ("--rule contained --drop-all", "no drop_all"),
        ("--rule contained --all-references --against short.db", "no all_references"),
        ("--rule copied:5 -d short.db", "lshdb reindex --passages 5"),
        ("--keep-max v", "no row has a value in field 'v'"),
        ("--rule near", "similar, contained or copied:WORDS"),
        ("--rule contained --keep last", "give no order"),
        ("--keep-max v --keep-min v", "give one of"),
        ("--drop-all -d short.db", "give no database"),
    ):
        assert message in command.fails(*asked, *options.split(), status=2)
    assert not command.path("o.jsonl").exists()


LINES = [" ".join(f"w{line}-{word}" for word in range(9)) for line in range(7)]


@pytest.mark.parametrize("kind", ["equal", "nested", "subsets"])
def test_each_row_is_shingled_a_few_times_only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rule `contained`, not once for each pair of rows with the same rarest shingle."""
    rng, shingled, shingles = random.Random(1), list[str](), Codes.shingles
    texts = ["\n".join(rng.sample(LINES, rng.randrange(2, 6))) for _ in range(150)]
    if kind != "subsets":
        words = [f"w{word}" for word in range(160)]
        texts = [" ".join(words[: 9 if kind == "equal" else n + 5]) for n in range(150)]

    def counted(codes: Codes, stored: list[str]) -> Shingles:
        shingled.extend(stored)
        return shingles(codes, stored)

    monkeypatch.setattr(Codes, "shingles", counted)
    found = dropped(dedup(texts, Limits(), rule="contained"))
    assert len(found) > 100
    assert len(shingled) <= 3 * len(texts)
