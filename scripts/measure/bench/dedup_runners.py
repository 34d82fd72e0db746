"""Runs text-dedup or datatrove as its documentation does; in an environment where it is installed.

usage: dedup_runners.py PEER run CORPUS.jsonl WORK, then dedup_runners.py PEER kept WORK IDS
"""

# mypy: ignore-errors

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

_PROCESSES = 2


def _run_text_dedup(corpus: Path, work: Path) -> None:
    options = {
        "path": "json",
        "data_files": corpus,
        "split": "train",
        "cache_dir": work / "cache",
        "output": work / "output",
        "column": "text",
        "ngram": 3,
        "num_perm": 96,
        "b": 16,
        "r": 6,
        "min_length": 0,
        "num_proc": _PROCESSES,
    }
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    subprocess.run([sys.executable, "-m", "text_dedup.minhash", *given], check=True)


def _kept_text_dedup(work: Path) -> list[str]:
    from datasets import load_from_disk

    return load_from_disk(str(work / "output"))["id"]


def _run_datatrove(corpus: Path, work: Path) -> None:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    # A task reads whole files: as many files as tasks, so that both processes have work.
    parts = work / "parts"
    parts.mkdir()
    lines = corpus.read_text("utf-8").splitlines(keepends=True)
    share = -(-len(lines) // _PROCESSES)
    for part in range(_PROCESSES):
        own = lines[part * share : (part + 1) * share]
        (parts / f"{part}.jsonl").write_text("".join(own), "utf-8")
    config = MinhashConfig(n_grams=3, num_buckets=16, hashes_per_bucket=6)
    reader = JsonlReader(str(parts))
    signatures, buckets, clusters = (str(work / name) for name in ("sig", "buckets", "clusters"))
    stages = [
        ([reader, MinhashDedupSignature(signatures, config)], _PROCESSES, _PROCESSES),
        ([MinhashDedupBuckets(signatures, buckets, config=config)], 16, _PROCESSES),
        ([MinhashDedupCluster(buckets, clusters, config=config)], 1, 1),
        (
            [reader, MinhashDedupFilter(clusters), JsonlWriter(str(work / "output"))],
            _PROCESSES,
            _PROCESSES,
        ),
    ]
    for number, (pipeline, tasks, workers) in enumerate(stages):
        logs = str(work / "logs" / str(number))
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=workers, logging_dir=logs).run()


def _kept_datatrove(work: Path) -> list[str]:
    kept = []
    for path in sorted((work / "output").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            kept += [json.loads(line)["id"] for line in lines]
    return kept


_PEERS = {
    "text-dedup": (_run_text_dedup, _kept_text_dedup),
    "datatrove": (_run_datatrove, _kept_datatrove),
}

if __name__ == "__main__":
    peer, what, first, second = sys.argv[1:]
    run, kept = _PEERS[peer]
    if what == "run":
        run(Path(first), Path(second))
    else:
        Path(second).write_text("\n".join(kept(Path(first))), "utf-8")
