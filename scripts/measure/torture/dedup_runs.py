"""Kill runs of `lshdb dedup -d` at any moment, while another process writes to the same database.

    python scripts/measure torture.dedup_runs [--kill-points 100] [--seed 1]

Takes ten minutes for 100 kills, of tables of every format and of both orders of decisions. A run is
whole or not at all: killed before its output has its name, it has changed nothing; in any case the
same command again leaves the output and the database as a run that nobody killed. The file must be
whole each time (check --deep), with all that the other process wrote.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather
import pyarrow.parquet as pq

import lshdb
from measure.common.commands import lshdb_command
from measure.torture.trial import Tally

_FORMATS: Final = ("jsonl", "csv", "parquet", "arrow", "directory")
_WORDS: Final = [f"word{number}" for number in range(2_000)]


def rows_of(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows of which one in three resembles an earlier one."""
    texts: list[str] = []
    for _ in range(count):
        if texts and chance.random() < 1 / 3:
            texts.append(f"{chance.choice(texts)} once more")
        else:
            texts.append(" ".join(chance.choices(_WORDS, k=60)))
    return [{"id": f"row {number}", "text": text} for number, text in enumerate(texts)]


def write(directory: Path, rows: list[dict[str, Any]]) -> None:
    """The rows in all formats."""
    table = pa.Table.from_pylist(rows)
    (directory / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arrow_csv.write_csv(table, directory / "in.csv")
    pq.write_table(table, directory / "in.parquet")
    pyarrow.feather.write_feather(table, directory / "in.arrow")
    (directory / "in").mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * 1_000, 1_000), directory / "in" / f"{part}.parquet")


def command(directory: Path, format: str, keep: str, database: str) -> list[str]:
    """A run over the rows in a format."""
    names = ("in", "out") if format == "directory" else (f"in.{format}", f"out.{format}")
    source, output = (str(directory / name) for name in names)
    words = ["dedup", source, "-o", output, "-d", str(directory / database), "--keep", keep]
    return [*map(str, lshdb_command()), *words]


def outputs(directory: Path) -> dict[str, bytes]:
    """The files that a run has written, by their names, without what a killed one left."""
    paths = [*directory.glob("out*"), *directory.glob("out/*")]
    complete = (path for path in paths if path.is_file() and path.suffix != ".partial")
    return {path.name: path.read_bytes() for path in complete}


def clear(directory: Path) -> None:
    """Remove what a run has written."""
    for path in [*directory.glob("out*"), *directory.glob("out/*"), *directory.glob("seen.db*")]:
        if path.is_file():
            path.unlink()


def first(path: Path) -> None:
    """A database of an earlier run."""
    with lshdb.open(path) as db:
        db.add_many([("earlier 1", "an earlier text"), ("row 1", "another text of a key")])


def sweep(directory: Path, kills: int, seed: int) -> Tally:
    """Kill runs, and see what they leave."""
    chance, tally = random.Random(seed), Tally()
    write(directory, rows_of(chance, 3_000))
    expected: dict[tuple[str, str], tuple[dict[str, bytes], set[str], float]] = {}
    for kill in range(kills):
        format, keep = _FORMATS[kill % len(_FORMATS)], chance.choice(["first", "longest"])
        if (format, keep) not in expected:
            clear(directory)
            first(directory / "seen.db")
            begun = time.monotonic()
            subprocess.run(command(directory, format, keep, "seen.db"), check=True, stderr=-3)
            seconds = time.monotonic() - begun
            with lshdb.open(directory / "seen.db") as db:
                expected[format, keep] = outputs(directory), {*db}, seconds
        written, keys, seconds = expected[format, keep]
        clear(directory)
        first(directory / "seen.db")
        again = command(directory, format, keep, "seen.db")
        process = subprocess.Popen(again, stderr=-3)
        time.sleep(chance.uniform(0.1, 1.1 * seconds))
        with lshdb.open(directory / "seen.db") as db:
            db.add(f"beside {kill}", "what another process has written")
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
        tally.faults += process.wait() != 0
        tally.operations += 1
        where = f"kill {kill}, {format}, {keep}"
        before = judge(directory, where, tally) - {f"beside {kill}"}
        is_merged = before != {"earlier 1", "row 1"}
        if is_merged and (before != keys or outputs(directory) != written):
            tally.wrong += 1
            tally.notes.append(f"{where}: the database has what the output lacks")
        subprocess.run(again, check=True, stderr=-3)
        if not is_merged and outputs(directory) != written:
            tally.lost += 1
            tally.notes.append(f"{where}: the same command again writes another output")
        if judge(directory, where, tally) != keys | {f"beside {kill}"}:
            tally.lost += 1
            tally.notes.append(f"{where}: the database is not that of a run that nobody killed")
    return tally


def judge(directory: Path, where: str, tally: Tally) -> set[str]:
    """The keys of the database, which must be whole."""
    report = lshdb.check(directory / "seen.db", deep=True)
    if not report.ok:
        tally.wrong += 1
        tally.notes.append(f"{where}: {report.problems}")
    with lshdb.open(directory / "seen.db") as db:
        return {*db}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kill-points", type=int, default=100, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lshdb-dedup-runs-") as directory:
        tally = sweep(Path(directory), given.kill_points, given.seed)
    print(
        f"{tally.faults} killed of {tally.operations}; {tally.lost} lost, {tally.wrong} wrong",
        *tally.notes,
        sep="\n",
    )
    return int(bool(tally.notes))
