"""Records, beside the definition of their similarity, computed pair by pair."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import inspection
import oracles
import pytest
from helpers import Command

import lshdb
from lshdb.apps.records import records
from lshdb.apps.records.record_index import spaced

DRAW = random.Random(88)
WORDS = ["".join(DRAW.choices("abcdefgh", k=DRAW.randint(1, 5))) for _ in range(60)]


def made(count: int) -> dict[str, str]:
    """Records of one to eight words, some of which are parts or copies of others."""
    texts: dict[str, str] = {}
    for number in range(count):
        words = DRAW.choices(WORDS, k=DRAW.randint(1, 8))
        if number % 3 == 0 and texts:
            words = DRAW.choice([*texts.values()]).split()[: DRAW.randint(1, 8)]
            words += DRAW.choices(WORDS, k=DRAW.randint(0, 1))
        texts[f"r{number}"] = " ".join(words)
    return texts | {"signs": "?!", "none": ""}


def units(text: str, size: int) -> frozenset[Any]:
    """The shingles of a text, with the one that all records have; of pages those of even hashes."""
    shingles = oracles.char_shingles(spaced(text), size)
    if size == 5:
        even = [one for one in shingles if oracles.shingle_hash(one, "char", 1) % 2 == 0]
        shingles = even or shingles
    return frozenset([*shingles, "every"] if shingles else ())


def similar(texts: Mapping[str, str], size: int = 3) -> dict[tuple[str, str], Any]:
    """The similarity of each pair of records, if it is high enough and one shingle is followed."""
    threshold, min_part = (0.55, 0) if size == 3 else (0.28, records.OF_LARGER)
    sets = {key: units(text, size) for key, text in texts.items() if units(text, size)}
    counts: dict[Any, int] = {}
    for shingle in (shingle for shingles in sets.values() for shingle in shingles):
        counts[shingle] = counts.get(shingle, 0) + 1

    def weight(shingle: Any) -> float:
        count = counts[shingle]
        if count > records.MANY:
            return 1e-4
        rarity = math.log(max(len(sets), 4) / (2 * max(1, count - 1)))
        return max(rarity, 0.01) ** 2

    def total(shingles: Iterable[Any]) -> float:
        return sum(map(weight, shingles))

    single = max(math.log(max(len(sets), 4) / 2), 0.01) ** 2
    found = {}
    for a, b in combinations(sets, 2):
        share = 1.0
        if sets[a] != sets[b]:
            totals = total(sets[a]), total(sets[b])
            smaller = max(min(totals), min_part * max(totals), records.LEAST * single)
            share = total(sets[a] & sets[b]) / smaller
        is_followed = any(counts[shingle] <= records.MANY for shingle in sets[a] & sets[b])
        if share >= threshold and (is_followed or texts[a] == texts[b]):
            found[a, b] = pytest.approx(share, abs=1e-9)
    return found


def pairs_of(db: lshdb.Database) -> dict[tuple[str, str], float]:
    return {(pair.a, pair.b): pair.similarity for pair in db.pairs()}


@pytest.mark.parametrize(
    ("purpose", "size", "many"), [("records", 3, 1_000), ("records", 3, 12), ("scans", 5, 1_000)]
)
@pytest.mark.filterwarnings("ignore::lshdb.LimitWarning")
def test_pairs_are_those_of_the_definition_in_any_order_of_addition(
    path: Path, monkeypatch: pytest.MonkeyPatch, purpose: Any, size: int, many: int
) -> None:
    monkeypatch.setattr(records, "MANY", many)
    texts = made(120)
    expected = similar(texts, size)
    assert len(expected) > 30
    keys = DRAW.sample([*texts], len(texts))
    with lshdb.open(path, purpose=purpose) as db:
        db.add_many([("gone", "abc"), (keys[0], "another text")])
        db.add_many([(key, texts[key]) for key in keys[:50]])
        db.add_many([(key, texts[key]) for key in keys[50:]])
        db.remove("gone")
        found = {tuple(sorted(pair)): share for pair, share in pairs_of(db).items()}
        assert found == {tuple(sorted(pair)): share for pair, share in expected.items()}
        of_keys = {key: {match.key: match for match in db.query(key=key)} for key in texts}
        ((_, matches),) = db.query_many([("asked", texts[keys[3]])])
        assert {match.key for match in matches} == {keys[3], *of_keys[keys[3]]}
        for key, found_matches in of_keys.items():
            others = {other for pair in expected if key in pair for other in {*pair} - {key}}
            assert found_matches.keys() == others
            for match in found_matches.values():
                assert match.weighted_share == match.similarity
        clusters = {frozenset(cluster.members) for cluster in db.clusters()}
        assert clusters == oracles.connected(expected)
        kept = {cluster.keep: {*cluster.members} for cluster in db.clusters(star=True)}
        order = [key for (key,) in db.sql("SELECT key FROM documents ORDER BY doc_id")]
        stars = oracles.stars(order, expected)
        assert kept == stars
    assert lshdb.check(path, deep=True).ok


def test_a_file_of_records_is_kept_checked_and_copied(path: Path, tmp_path: Path) -> None:
    with lshdb.open(path, purpose="records") as db:
        db.add_many([("a", "kdl40 bravia"), ("b", "Sony KDL40, Bravia; 40 inch"), ("c", "grill")])
        assert pairs_of(db).keys() == {("a", "b")}
        [pair], compared = db.pairs(), db.compare("a", "b")
        assert compared.similarity == pytest.approx(pair.similarity)
        assert compared.candidates
        compared = db.compare("a", "c")
        assert compared.similarity == pytest.approx(0, abs=0.001)
        assert not compared.candidates
        db.backup(tmp_path / "copy.db")
        db.reindex(threshold=0.9)
        assert db.settings.records
        db.reindex(base={"maker": "sony"})
        assert [match.key for match in db.query("sony")] == []
    with inspection.sqlite(path) as connection:
        connection.execute("UPDATE record_counts SET documents = 7 WHERE documents = 2")
    report = lshdb.check(path, repair=True)
    assert [problem.table for problem in report.problems] == ["record_shingles"]
    assert lshdb.check(path, deep=True).ok
    with lshdb.open(tmp_path / "copy.db", purpose="records") as db:
        assert pairs_of(db).keys() == {("a", "b")}


def test_copies_are_similar_though_no_shingle_is_rare(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MANY", 3)
    with lshdb.open(path, purpose="records") as db:
        db.add_many([(str(number), "main street") for number in range(5)])
        with pytest.warns(lshdb.LimitWarning, match="too many to be followed: 12"):
            assert len([*db.query("main street")]) == 5
        with pytest.warns(lshdb.LimitWarning, match="too many to be followed: 60"):
            assert len([*db.pairs()]) == 10


def test_dedup_drops_what_is_similar_to_a_kept_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {key: text for key, text in made(60).items() if text}
    rows = [{"id": key, "text": text} for key, text in texts.items()]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    stars = oracles.stars([*texts], similar(texts))
    dropped = {key for kept, members in stars.items() for key in members - {kept}}
    kept = [key for key in texts if key not in dropped]
    assert 10 < len(kept) < len(texts) - 10

    def kept_keys(*words: str) -> list[str]:
        command("dedup", "rows.jsonl", "-o", "kept.jsonl", *words)
        lines = Path("kept.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line)["id"] for line in lines]

    assert kept_keys("--for", "records") == kept
    assert kept_keys("-d", "rows.db", "--for", "records") == kept
    with lshdb.open("rows.db") as db:
        assert db.settings.records
        assert len(db) == len(kept)
        for options in ({"estimate": True}, {"distinguish": "numbers"}):
            with pytest.raises(
                lshdb.UsageError, match="records and scans are compared by the share"
            ):
                [*db.pairs(**options)]
    with pytest.raises(lshdb.SettingsError, match=r"records and scans .* estimate"):
        lshdb.dedup(rows, purpose="records", estimate=True)
    result = lshdb.dedup(rows, purpose="records")
    assert [row["id"] for row in result.kept] == kept


def test_a_scan_is_found_by_its_transcription_and_not_by_other_forms(path: Path) -> None:
    """One letter of eight is wrong, and half of each page is the same form."""
    words = ["".join(DRAW.choices("abcdefghijklmnop", k=DRAW.randint(2, 9))) for _ in range(900)]
    form = " ".join(DRAW.choices(words, k=60))
    pages = {str(number): " ".join(DRAW.choices(words, k=60)) for number in range(30)}

    def scanned(text: str) -> str:
        return "".join(DRAW.choice("lrtuxz") if DRAW.random() < 0.12 else sign for sign in text)

    with lshdb.open(path, purpose="scans") as db:
        db.add_many([(key, f"{form} {text}") for key, text in pages.items()])
        db.add_many([(f"{key} scan", scanned(f"{form} {text}")) for key, text in pages.items()])
        assert {*pairs_of(db)} == {(key, f"{key} scan") for key in pages}
        matches = [match.key for match in db.query(scanned(f"{form} {pages['7']}"))]
        assert matches[0] == "7"
        assert {*matches} <= {"7", "7 scan"}


def test_nothing_is_said_of_a_search_that_is_refused(command: Command) -> None:
    command.write("rows.jsonl", [{"id": "a", "text": "main street"}])
    command.done("init", "--for", "records")
    (said,) = command("query", "rows.jsonl", "--containment").err.splitlines()
    assert said.startswith("lshdb: records and scans are compared by the share")
