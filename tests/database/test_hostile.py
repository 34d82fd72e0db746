"""Values and documents that mean harm: damage is reported, and forged hashes have no effect."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal

import inspection
import pytest
from helpers import FORGED_TEXTS, Command, database_of
from measure.torture import damage

import lshdb
from lshdb.errors import DamagedFile, LshdbError
from lshdb.maintain.findings import CheckReport
from lshdb.offers import is_there

TEXTS = [("a", "the fox and the grapes of the vine"), ("b", "the fox and the grapes of a vine")]


@pytest.fixture
def filled(path: Path) -> Path:
    with lshdb.open(path, threshold=0.3) as db:
        db.add_many(TEXTS)
    return path


def alter(path: Path, *statements: str) -> None:
    """Change a file as an opponent would, past all that lshdb allows."""
    with inspection.sqlite(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)


# damage

VALUES = [
    "UPDATE documents SET key = x'ff' WHERE doc_id = 1",
    "UPDATE documents SET content = NULL WHERE doc_id = 1",
    "UPDATE documents SET content = CAST(x'61ff' AS TEXT) WHERE doc_id = 1",
    "UPDATE documents SET shingles = 2.5 WHERE doc_id = 2",
    "UPDATE documents SET digest = 'text' WHERE doc_id = 2",
    "UPDATE signatures SET signature = x'00' WHERE doc_id = 1",
    "UPDATE signatures SET signature = x'' WHERE doc_id = 1",
    "UPDATE signatures SET signature = zeroblob(516) WHERE doc_id = 2",
    "UPDATE signatures SET signature = 5 WHERE doc_id = 2",
    "UPDATE bands SET doc_id = 2.5 WHERE doc_id = 2",
    "UPDATE bands SET doc_id = 99 WHERE doc_id = 2",
    "DELETE FROM documents WHERE doc_id = 2",
    "UPDATE settings SET threshold = 'x'",
    "UPDATE settings SET permutations = 128.5",
    "UPDATE settings SET seed = 1.5",
    "UPDATE settings SET shingle = x'00'",
]


@pytest.mark.parametrize("statement", VALUES)
def test_values_that_no_table_allows_are_reported_as_damage(filled: Path, statement: str) -> None:
    with inspection.sqlite(filled) as connection:
        before = connection.execute("SELECT rowid, sql FROM sqlite_schema").fetchall()
    alter(
        filled,
        "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'STRICT, ', ''), "
        "') STRICT', ')'), 'NOT NULL', '') WHERE type = 'table'",
    )
    with inspection.sqlite(filled) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)
        connection.execute("PRAGMA writable_schema = ON")
        for rowid, text in before:
            connection.execute("UPDATE sqlite_schema SET sql = ? WHERE rowid = ?", (text, rowid))

    def ask() -> None:
        with lshdb.open(filled, mode="read") as db:
            for key in db.keys():  # noqa: SIM118
                db.get(key)
            db.query(key="a")
            list(db.pairs())
            db.query(key="b", containment=True, exhaustive=True)

    with pytest.raises(DamagedFile):
        ask()


@pytest.mark.parametrize(("shingles", "content"), [((1 << 63) - 1, True), (900_000_001, False)])
def test_more_shingles_than_a_document_can_have_are_damage(
    command: Command, shingles: int, content: bool
) -> None:
    with lshdb.open(command.directory / "lsh.db", threshold=0.3, content=content) as db:
        db.add_many([*TEXTS, ("c", TEXTS[0][1] + " and the fox")])
    alter(command.directory / "lsh.db", f"UPDATE documents SET shingles = {shingles}")
    message = f"lsh.db is damaged: a document has {shingles:,} shingles instead of 0 to"
    for words in (
        "pairs",
        "clusters --star --keep longest",
        "query --key a",
        *["compare a b"] * is_there("compare"),
        "show a",
    ):
        assert command.fails(*words.split()).startswith(message)
    assert command("check").out.startswith("documents.shingles\ta\t")


def test_fewer_shingles_than_a_document_has_are_damage(filled: Path) -> None:
    alter(filled, "UPDATE documents SET shingles = 1")
    with lshdb.open(filled, mode="read") as db, pytest.raises(DamagedFile, match="more shingles"):
        list(db.pairs())


@pytest.mark.app("compare", "dedup", "passages", "review")
def test_a_damaged_file_is_read_rightly_or_refused(tmp_path: Path) -> None:
    """The short form of scripts/torture's damaged files."""
    tally = damage.work(0, 60, str(tmp_path), files=4)
    assert tally.faults == 4
    assert tally.clean, "\n".join(tally.notes)


# hash flooding


COLLIDING = [51777, 49969, 53472, 52230, 43444, 38967]
"""Under the seed 1 each of these has, of 60,000 integers, the smallest hash in one of six lanes."""
FORGED_STRINGS = [
    *("='{%<u(p9)GKOY*R", "63C&<$jXXq0>eQoc", "oOHL)uYil>09AKCN", "s_5H%vXT!ySB`2E#"),
    *("tU]qPL::Crcz14!P", ";g1O%kT-?NNU82.y", "OqdZ&/#*08gud=qv", "d!e&2iN5u_9-]*Gx"),
    "k'IkD?~n<<;e<b'#",
]
"""Under the seed 1 these have the hashes of "tag 0" to "tag 8"."""


def largest_bucket(path: Path, seed: int | Literal["random"]) -> int:
    """Of documents with the colliding elements, and 20 of their own."""
    made: list[tuple[str, list[str | int]]] = [
        (f"d{i}", [*COLLIDING, *(f"{i}.{j}" for j in range(20))]) for i in range(100)
    ]
    with lshdb.open(path, seed=seed, shingle="set", threshold=0.8) as db:
        db.add_many(made, workers=0)
        ((documents,),) = db.sql("SELECT max(documents) FROM buckets")
    assert isinstance(documents, int | None)
    return documents or 0


def test_documents_made_to_collide_do_not_under_a_random_seed(tmp_path: Path) -> None:
    assert largest_bucket(tmp_path / "known.db", 1) > 90
    for name in ("one", "other"):
        # 90 share a bucket if the lowest hashes of the 6 common elements in its 5 lanes add up to
        # 0.0053: by chance in 12 bands once in a hundred million files.
        assert largest_bucket(tmp_path / f"{name}.db", "random") < 90


@pytest.fixture(params=["words", "strings"])
def forged_pair(request: pytest.FixtureRequest, path: Path) -> Iterator[lshdb.Database]:
    """Two documents with nothing in common whose hashes are equal under the seed of the file."""
    if request.param == "words":
        made: list[tuple[str, str | list[str]]] = [*zip("ab", FORGED_TEXTS, strict=True)]
    else:
        made = [("a", [f"tag {i}" for i in range(9)]), ("b", FORGED_STRINGS)]
    shingle, passages = ("word:3", 3) if request.param == "words" else ("set", None)
    with lshdb.open(path, shingle=shingle, passages=passages) as db:
        db.add_many(made)
        yield db


@pytest.mark.app("compare", "frames", "passages")
def test_documents_made_to_have_the_hashes_of_others_are_not_similar(
    forged_pair: lshdb.Database, tmp_path: Path
) -> None:
    db = forged_pair
    a, b = (db["a"].content, db["b"].content)
    assert a is not None
    assert b is not None
    compared = db.compare("a", "b")
    assert (compared.estimate, compared.candidates) == (1, True)
    assert (compared.similarity, compared.shared, compared.passages or ()) == (0, 0, ())
    assert not [*db.pairs(), *db.pairs(key="a"), *db.clusters(), *db.clusters(star=True)]
    several: list[dict[str, Any]] = [{}, {"containment": True}, {"exhaustive": True}]
    for options in several:
        assert [match.key for match in db.query(a, **options)] == ["a"]
        assert not db.query(key="a", **options)
    answers = db.query_many([("of a", a), ("of b", b)])
    assert [[match.key for match in matches] for _, matches in answers] == [["a"], ["b"]]
    if is_there("measuring"):
        measured = db.measure(sample=2)
        assert (measured.candidates, measured.recall.pairs) == (1, 0)
    field = "text" if isinstance(a, str) else "set"
    rows = [
        {"id": key, field: given if field == "text" else [*given]}
        for key, given in zip("ab", (a, b), strict=True)
    ]
    shingle = str(db.settings.shingling)
    assert lshdb.dedup(rows, shingle=shingle).mask.all()
    assert lshdb.dedup(rows[:1], against=rows[1:], shingle=shingle).mask.all()
    with lshdb.open(tmp_path / "kept.db", shingle=shingle) as kept:
        assert kept.add_many([("a", a), ("b", b)], on_similar="skip").added == 2
    if db.settings.passages:
        assert [one.key for one in db.passages(str(a)).sources] == ["a"]
        assert not db.passages(key="a").sources
        assert [*db.passage_pairs()] == []


def test_a_random_seed_is_another_in_each_file_and_stays(tmp_path: Path) -> None:
    seeds = set()
    for name in ("a.db", "a.db", "b.db"):
        with lshdb.open(tmp_path / name, seed="random") as db:
            seeds.add(db.settings.seed)
    assert len(seeds) == 2
    assert all((1 << 32) <= seed < (1 << 63) for seed in seeds)
    lshdb.open(tmp_path / "chosen.db").close()
    with pytest.raises(lshdb.SettingsMismatch, match="seed 1, not a random one"):
        lshdb.open(tmp_path / "chosen.db", seed="random")


TEXT = "the fox and the grapes of the vine that grow along the old wall near the river"


@pytest.fixture
def made(path: Path) -> Path:
    documents = {"a": TEXT, "b": f"{TEXT} and so on", "c": "a text of other words entirely"}
    with database_of(path, documents, threshold=0.3, passages=5) as database:
        database.decide("keep", ["a"], who="ann")
        database.decide("different", ["a", "b"], who="ann")
    return path


def execute(path: Path, *statements: str, **values: Any) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            plain.execute(statement, values)


def problems(report: CheckReport) -> set[str]:
    return {problem.table for problem in report.problems}


METHODS: dict[str, Callable[[lshdb.Database], object]] = {
    "info": lambda database: database.info(),
    "query": lambda database: [*database.query(TEXT), *database.query(key="a", exhaustive=True)],
    "pairs": lambda database: [*database.pairs(), *database.clusters()],
    "passages": lambda database: [database.passages(TEXT), *database.passage_pairs()],
    "get": lambda database: [database.get(key) for key in database],
    "decisions": lambda database: database.decisions(),
    "tune": lambda database: database.tune(),
    "decide": lambda database: database.decide("drop", ["b"], who="eve"),
    "add": lambda database: database.add_many([("a", "changed text of the fox"), ("n", TEXT)]),
    "reindex": lambda database: database.reindex(threshold=0.4),
}
ODD_VALUES: list[tuple[str, str, object]] = [
    ("settings", "indexed_to", 2**62),
    ("indexed", "doc_id", 2**62),
    ("decisions", "decision", 2**63 - 1),
    ("documents", "doc_id", 2**63 - 1),
    ("documents", "key", "\x1b[31m" * 1000),
    ("documents", "metadata", "[[["),
    ("fingerprints", "position", 2**63 - 1),
]


@pytest.mark.app("review", "passages")
@pytest.mark.parametrize(
    ("table", "column", "value"), ODD_VALUES, ids=lambda value: repr(value)[:20]
)
def test_no_value_is_a_traceback(made: Path, table: str, column: str, value: object) -> None:
    if table == "indexed":
        execute(made, "INSERT INTO indexed VALUES (1)")
    execute(
        made,
        f"UPDATE OR REPLACE {table} SET {column} = :value WHERE rowid = 1"
        if table not in ("decisions", "fingerprints")
        else f"UPDATE OR REPLACE {table} SET {column} = :value WHERE {column} = "
        f"(SELECT min({column}) FROM {table})",
        value=value,
    )
    stored = made.read_bytes()
    for method in METHODS.values():
        with suppress(LshdbError), lshdb.open(made) as database:
            method(database)
        made.write_bytes(stored)
    report = lshdb.check(made, deep=True)
    assert report.problems or column == "key"
    lshdb.check(made, repair=True)


@pytest.mark.app("review", "passages")
def test_a_missing_value_is_named(made: Path) -> None:
    execute(
        made,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'who         TEXT    NOT NULL', "
        "'who         TEXT            ') WHERE name = 'decisions'",
    )
    execute(made, "UPDATE decisions SET who = NULL WHERE decision = 1")
    execute(
        made,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'who         TEXT            ', "
        "'who         TEXT    NOT NULL') WHERE name = 'decisions'",
    )
    assert problems(lshdb.check(made)) == {"file", "decisions"}


@pytest.mark.app("review", "passages")
def test_numbers_that_nothing_can_follow_are_named(command: Command, made: Path) -> None:
    execute(made, "UPDATE settings SET indexed_to = :to", to=2**62)
    report = lshdb.check(made)
    assert "settings" in problems(report)
    execute(made, "UPDATE settings SET indexed_to = NULL")
    execute(made, "UPDATE decisions SET decision = :last WHERE decision = 1", last=2**63 - 1)
    assert "decisions" in problems(lshdb.check(made))
    reason = command.fails("decide", "drop", "b")
    assert reason.endswith("a decision has the number 9223372036854775807, so none can follow")


@pytest.mark.app("review", "passages")
def test_few_documents_of_very_large_numbers_are_sampled(made: Path) -> None:
    """Numbers are drawn among all up to the largest: as many as memory has not."""
    for table, number in (("documents", "3"), ("signatures", "3"), ("bands", "3")):
        execute(made, f"UPDATE {table} SET doc_id = 1 << 39 WHERE doc_id = {number}")
    with lshdb.open(made, mode="read") as database:
        assert database.tune()
