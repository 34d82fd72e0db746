"""spark-dedup: `spark-dedup` on local[2], step by step, beside `lshdb dedup`. An hour.

Of one and of three million rows in partitions of Parquet, or as many as are asked for: the time,
CPU time and bytes shuffled of each step by itself, and of the whole; and how many rows the list of
dropped ones has that one machine's has not, and the other way round. The smaller table also by the
rule contained, with parts of documents in place of near duplicates. Not part of `all`, for it needs
Java and PySpark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from measure.bench.spark import run_task
from measure.common.commands import lshdb
from measure.harness import corpora
from measure.harness.figures import CPU, OWN, RATE, SECONDS
from measure.harness.lab import Lab

ON_SPARK: Final = "lshdb.spark"
KEY: Final = 12
"""Characters of a key on Spark, whose order of documents is that of their keys."""
_FULL: Final = (1_000_000, 3_000_000)
_PARTITIONS: Final = 16
_SIZE: Final = 1000


def run(lab: Lab) -> None:
    """Once each: a run takes a quarter of an hour for a million rows."""
    full = [2_000] if lab.options.quick else _FULL
    counts = [lab.options.documents] if lab.options.documents else full
    for count in counts:
        _compared(lab, count, "similar")
    _compared(lab, counts[0], "contained")


def _compared(lab: Lab, count: int, rule: str) -> None:
    size, path = lab.options.size or _SIZE, lab.fresh(".jsonl")
    if rule == "contained":
        corpus = corpora.write_parts(path, count, size, share=0.05)
    else:
        corpus = corpora.write_generated(path, count, size, duplicates=0.05)
    case = f"dedup, {rule}, {lab.describe(corpus)}"
    lab.say(f"spark-dedup: {OWN}: {case}")
    listed, output = lab.fresh(".parquet"), lab.fresh(".jsonl")
    given = ("--threshold", "0.8", "--shingle", lab.shingle, "--dropped", listed)
    done = lshdb("dedup", "-q", corpus.path, "-o", output, "--rule", rule, *given)
    output.unlink()
    lab.keep(case, count, [{SECONDS: done.seconds, CPU: done.cpu, RATE: count / done.seconds}])
    lab.say(f"spark-dedup: {ON_SPARK}: {case}")
    rows = _partitioned(corpus.path, lab.fresh(""))
    corpus.path.unlink()
    places = {"output": str(lab.fresh("")), "dropped": str(lab.fresh(""))}
    places |= {"listed": str(listed), "key": str(KEY), "rule": rule}
    printed, run = run_task(lab, "dedup", rows, **places)
    values = {name: float(value) for name, value in printed.items()}
    values[SECONDS] = run.seconds
    values[RATE] = count / printed["dedup seconds"]
    lab.keep(case, count, [values], ON_SPARK)


def _partitioned(path: Path, directory: Path) -> Path:
    """The rows of JSON lines in partitions of Parquet, with keys that sort as the lines do."""
    import pyarrow.compute as pc
    import pyarrow.json
    import pyarrow.parquet as pq

    directory.mkdir()
    block = pyarrow.json.ReadOptions(block_size=max(1 << 20, path.stat().st_size // _PARTITIONS))
    with pyarrow.json.open_json(path, read_options=block) as batches:
        for number, batch in enumerate(batches):
            table = pyarrow.Table.from_batches([batch])
            keys = pc.utf8_lpad(table["id"], KEY, "0")
            table = table.set_column(table.column_names.index("id"), "id", keys)
            pq.write_table(table, directory / f"part-{number:03}.parquet")
    return directory
