"""Damaged database files: bits flipped, files cut, pages lost, values of wrong types.

A part of scripts/torture. Several commands read each file. An answer is right if it is that of the
whole file, or an error of one line. Any other answer is compared with the rows of the file: it is
wrong if the rows are those that were written. If they differ (a letter of a text, a threshold), no
command can know.
"""

import random
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import lshdb
from measure.torture.trial import Tally, run

QUESTIONS: Final = (
    ("info", "--json"),
    ("query", "--key", "text 3", "--json"),
    ("query", "--key", "text 3", "--json", "--top", "2"),
    ("query", "--text", "PROBE", "--json", "--threshold", "0.3"),
    ("query", "--key", "text 3", "--json", "--exhaustive", "--containment"),
    ("query", "--key", "text 3", "--json", "--estimate"),
    ("pairs", "--json"),
    ("clusters", "--json"),
    ("show", "text 5", "--json"),
    ("compare", "text 3", "text 4", "--json"),
    ("tune", "--json", "--top", "2"),
    ("sql", "SELECT doc_id, key, shingles, digest, content FROM documents ORDER BY doc_id"),
    ("sql", "SELECT count(*) FROM candidate_pairs"), ("passages", "--key", "text 3", "--json"),
    ("passages", "--key", "text 3", "--json", "--reworded"),
    ("passages", "--all", "--passages", "--json"), ("pairs", "--json", "--sort", "weighted"),
    ("pairs", "--json", "--fields", "text"), ("clusters", "--json", "--star", "--min-size", "1"),
    ("folders", "--json"), ("decisions", "--json"),
    ("decisions", "--json", "--drop"),
    ("report", "-o", "-"),
)  # fmt: skip
"""Commands that only read, each with one answer."""
_VARYING: Final = ("info", "report")
"""Info prints the size of the file, which may have been lengthened; a report the time."""
CHANGES: Final = (
    ("add", "-", "--json"), ("add", "-", "--json", "--on-similar", "skip"),
    ("remove", "text 3", "text 11"), ("remove", "text 20"), ("check",), ("check", "--deep"),
    ("check", "--repair"), ("reindex", "--threshold", "0.45"), ("decide", "drop", "text 3"),
    ("trash", "--dry-run"), ("trash", "--yes"), ("sync", "."),
    ("backup", "--replace", "backup.db"),
)  # fmt: skip
TABLES: Final = ("settings", "documents", "signatures", "bands", "decisions")
_ALL_TABLES: Final = (
    *TABLES,
    "indexed",
    "base_texts",
    "files",
    "fingerprints",
)
_NAMES: Final = "SELECT name FROM sqlite_schema WHERE type = 'table'"
_DOCUMENTS: Final = 40
_LINES: Final = (
    b"".join(
        b'{"id": "text %d", "text": "%s"}\n{"id": "new %d", "set": [1, 2, %d]}\n'
        % (i, b"word " * i, i, i)
        for i in range(5)
    )
    + b'{"id": "text 4", "set": ["x", 3]}\n{"id": "new", "text": "entirely new words are here"}\n'
)
ODD: Final = (
    None, 0, -1, 1, 7, 2**31, 2**62, 2**63 - 1, -(2**63), 0.5, 1e308, float("inf"), "", "x",
    "set", "word:3", "word:9999", "and 1, or 1", "and 4, or 4, and 4, or 2", "and 9, " * 100,
    "fast", "[1", "[" * 5000, '["a", null, 1.5]', "\ud7ff\U0010ffff", b"", b"\xff" * 16,
    b"\0" * 512, "a" * 100_000,
)  # fmt: skip


def make_files(directory: Path) -> dict[Path, str]:
    """Whole files of several kinds, and the text of PROBE for each."""
    shapes: dict[str, dict[str, object]] = {
        "texts": {"shingle": "word:2", "threshold": 0.5},
        "letters": {
            "shingle": "char:5",
            "threshold": 0.6,
            "construction": "and 2, or 4, and 2, or 2",
        },
        "sets": {"shingle": "set", "threshold": 0.4},
        "signatures": {"shingle": "char:5", "threshold": 0.5, "content": False, "permutations": 32},
        "passages": {"shingle": "word:2", "threshold": 0.4, "passages": 4, "reworded": True},
    }
    made: dict[Path, str] = {}
    for name, settings in shapes.items():
        path = directory / f"{name}.db"
        chance = random.Random(name)
        with lshdb.open(path, **settings) as db:  # type: ignore[call-overload]
            words = [f"w{i}" for i in range(30)]
            for i in range(_DOCUMENTS):
                if i % 3 == 0:
                    chosen = chance.sample(words, 12)
                else:
                    chosen[chance.randrange(12)] = f"other{i}"
                content = list(chosen) if name == "sets" else " ".join(chosen)
                db.add(f"text {i}", content if i % 10 else [] if name == "sets" else "")
            if name == "passages":
                _use_all_tables(db, directory)
        with closing(sqlite3.connect(path)) as connection:
            # Small pages: what is damaged is then mostly something that is in use.
            connection.executescript(
                "PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM;"
            )
        # The same with its last changes in the write-ahead log alone.
        changed = copied(path, directory / "changed.db")
        logged = directory / f"{name}-logged.db"
        with lshdb.open(changed) as db:
            db.remove("text 1")
            db.add("text 2", ["w1", "w5"] if name == "sets" else "w1 w5 w7 w9 and others")
            copied(changed, logged)
        made[path] = made[logged] = '["w1", "w2", "w3"]' if name == "sets" else " ".join(words[:12])
    return made


def _use_all_tables(db: lshdb.Database, directory: Path) -> None:
    """Put rows into the tables that documents alone leave empty."""
    db.reindex(base={"task": "a task that all of them were given in these very words"})
    folder = directory / "files"
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.txt").write_text(f"the words of a file that has the number {i}", "utf-8")
    db.add_files([str(folder)])
    db.decide("keep", ["text 3"], who="ann")
    db.decide("drop", ["text 4"], who="bob", note="old")
    db.decide("different", ["text 3", "text 5"], who="ann")


# ways of damage


def flip_bits(path: Path, chance: random.Random) -> None:
    """Turn one to eight bits."""
    with _some_file(path, chance).open("r+b") as file:
        size = file.seek(0, 2)
        for _ in range(chance.choice((1, 1, 1, 2, 8))):
            offset = chance.randrange(100 if chance.random() < 0.2 else size)
            file.seek(offset)
            byte = file.read(1)[0] ^ (1 << chance.randrange(8))
            file.seek(offset)
            file.write(bytes([byte]))


def overwrite(path: Path, chance: random.Random) -> None:
    """Put zeros, noise, or another part of the file in place of a part of it."""
    some = _some_file(path, chance)
    data = bytearray(some.read_bytes())
    length = min(chance.choice((1, 2, 4, 16, 100, 512, 1024, 4096)), len(data))
    offset = chance.randrange(len(data) - length + 1)
    if length >= 512:
        offset -= offset % 512
    start = chance.randrange(len(data) - length + 1) // 512 * 512
    others = (bytes(length), chance.randbytes(length), b"\xff" * length, data[start:][:length])
    part = chance.choice(others)
    data[offset : offset + len(part)] = part
    some.write_bytes(data)


def cut(path: Path, chance: random.Random) -> None:
    """Cut the file short, at a page or anywhere, or lengthen it."""
    some = _some_file(path, chance)
    size = some.stat().st_size
    left = chance.randrange(size)
    if chance.random() < 0.5:
        left -= left % 1024
    with some.open("r+b") as file:
        if chance.random() < 0.1:
            file.seek(0, 2)
            file.write(chance.randbytes(chance.randrange(5000)))
        else:
            file.truncate(left)


def change_values(path: Path, chance: random.Random) -> None:
    """Put odd values where no constraint of the tables allows them."""
    with unchecked(path) as connection:
        for _ in range(chance.choice((1, 1, 2, 5))):
            table = chance.choice(_ALL_TABLES)
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            if columns:  # a file need not have the table
                odd = chance.choice(ODD)
                put(connection, table, chance.choice(columns), odd, chance.randrange(50))


@contextmanager
def unchecked(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for which the tables take any value; their definitions are then as before."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        before = connection.execute("SELECT rowid, sql FROM sqlite_schema").fetchall()
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'STRICT, WITHOUT ROWID', "
            "'WITHOUT ROWID'), ') STRICT', ')'), 'NOT NULL', '') WHERE type = 'table'"
        )
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        yield connection
        connection.execute("PRAGMA writable_schema = ON")
        for rowid, text in before:
            connection.execute("UPDATE sqlite_schema SET sql = ? WHERE rowid = ?", (text, rowid))


def put(connection: sqlite3.Connection, table: str, column: str, value: object, row: int) -> None:
    """Put a value into a row, counted and again from the first one after the last.

    A BLOB is in an odd row a text of these bytes, whatever its encoding; where not even a table
    without constraints takes the value, nothing changes.
    """
    kinds = connection.execute(f"PRAGMA table_info({table})").fetchall()
    key = ", ".join(kind[1] for kind in kinds if kind[5]) or "rowid"
    rows = connection.execute(f"SELECT {key} FROM {table}").fetchall()
    if not rows:
        return
    marks = ", ".join("?" * len(rows[0]))
    given = "CAST(? AS TEXT)" if isinstance(value, bytes) and row % 2 else "?"
    with suppress(sqlite3.Error):
        connection.execute(
            f"UPDATE {table} SET {column} = {given} WHERE ({key}) = ({marks})",
            (value, *rows[row % len(rows)]),
        )


def _some_file(path: Path, chance: random.Random) -> Path:
    """The file itself or its log."""
    log = Path(f"{path}-wal")
    return log if log.exists() and log.stat().st_size and chance.random() < 0.5 else path


WAYS: Final = (flip_bits, flip_bits, overwrite, cut, change_values)


# asking


def rows_of(path: Path, tables: Sequence[str]) -> object:
    """All rows of those tables that there are, as plain SQLite reads them; None where it cannot."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = bytes
            if connection.execute("PRAGMA integrity_check").fetchall() != [(b"ok",)]:
                return None
            there = {name.decode() for (name,) in connection.execute(_NAMES)}
            return {
                name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr)
                for name in there.intersection(tables)
            }
    except (sqlite3.Error, ValueError, OverflowError):
        return None


def ask(path: Path, question: tuple[str, ...], probe: str) -> tuple[str, ...]:
    """The arguments of a question to a file."""
    return (*(probe if word == "PROBE" else word for word in question), "--db", str(path))


def answers(path: Path, probe: str) -> list[tuple[str, int]]:
    """What is answered to each question."""
    ended = [run(ask(path, question, probe)) for question in QUESTIONS]
    return [(one.out.replace(path.name, "FILE"), one.status) for one in ended]


def copied(path: Path, copy: Path) -> Path:
    """A copy of a file with its log, in place of an earlier copy."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{copy}{suffix}").unlink(missing_ok=True)
        if suffix != "-shm" and Path(f"{path}{suffix}").exists():
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    return copy


def damage_one(
    whole: Path, right: list[tuple[str, int]], probe: str, copy: Path, chance: random.Random
) -> Tally:
    """Damage a copy of a file, ask it some questions, and change it."""
    tally = Tally(faults=1, operations=6)
    copied(whole, copy)
    way = chance.choice(WAYS)
    way(copy, chance)
    for i in chance.sample(range(len(QUESTIONS)), 5):
        ended = run(ask(copy, QUESTIONS[i], probe))
        if ended.defect:
            tally.defect(f"{way.__name__} {QUESTIONS[i]}: {ended.defect}")
        out, answer = ended.out.replace(copy.name, "FILE"), right[i]
        is_another = ended.status == 0 == answer[1] and out != answer[0]
        if is_another and QUESTIONS[i][0] not in _VARYING:
            # Fingerprints say how rare something is; passages are verified.
            tables = (*TABLES, "fingerprints")
            aside = copy.with_name("aside.db")
            written = rows_of(copied(whole, aside), tables)
            if written == rows_of(copied(copy, aside), tables):
                tally.error(f"{way.__name__} {QUESTIONS[i]}: another answer: {out[:200]}")
    ended = run(ask(copy, chance.choice(CHANGES), probe), _LINES)
    if ended.defect:
        tally.defect(f"{way.__name__} change: {ended.defect}")
    return tally


def work(number: int, seconds: float, directory: str, files: int = 1 << 60) -> Tally:
    """Damage files for some seconds, or up to a number of them."""
    here = Path(directory)
    (here / "whole").mkdir()
    probes = make_files(here / "whole")
    right = {
        path: answers(copied(path, here / "right.db"), probe) for path, probe in probes.items()
    }
    tally = Tally()
    end = time.monotonic() + seconds
    for case in range(files):
        if time.monotonic() > end:
            break
        chance = random.Random(f"{number}/{case}")
        path = chance.choice(list(probes))
        damaged = damage_one(path, right[path], probes[path], here / "copy.db", chance)
        damaged.notes = [f"damage {number}/{case} {path.name}: {note}" for note in damaged.notes]
        tally += damaged
    return tally
