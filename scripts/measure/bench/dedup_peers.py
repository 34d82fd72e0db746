"""dedup-peers: what `lshdb dedup`, text-dedup and datatrove drop wrongly. Half an hour.

Documents are pieces of the Python sources of this machine, or your own (--input). All three have
shingles of three words and 16 bands of 6 rows. Every document that was dropped is compared with all
others, exactly: one that no other resembles was dropped wrongly. The peers are installed in
separate environments, which stay in --directory (or the user's cache).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from measure.common.commands import Measured, lshdb_command, measure
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import OWN, PEAK, SECONDS, Values
from measure.harness.lab import Job, Lab, environment, taken
from measure.harness.report import number

PEERS: Final = {
    "text-dedup": ("text-dedup 0.4.0", ("text-dedup==0.4.0",)),
    # spacy makes words of texts
    "datatrove": ("datatrove 0.10.1", ("datatrove[io,processing]==0.10.1", "spacy>=3.8,<4")),
}
"""The version of each, and what is installed for it."""
DROPPED: Final = "dropped"
WRONGLY: Final = "dropped, and no other document at similarity 0.8"
UNLIKE: Final = "dropped, and no other document at similarity 0.5"
_SHINGLE: Final = "word:3"
_OPTIONS: Final = (
    *("--path", "json", "--split", "train", "--column", "text", "--ngram", "3"),
    *("--num_perm", "96", "--b", "16", "--r", "6", "--min_length", "0", "--num_proc", "2"),
)
"""Of text-dedup, as its documentation has them."""
_DATATROVE: Final = """
import sys
from pathlib import Path
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster
from datatrove.pipeline.dedup import MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
corpus, work = map(Path, sys.argv[1:])
# A task reads whole files: as many files as tasks, so that both processes have work.
parts = work / "parts"
parts.mkdir()
lines = corpus.read_text("utf-8").splitlines(keepends=True)
half = -(-len(lines) // 2)
for part in range(2):
    own = lines[part * half : (part + 1) * half]
    (parts / f"{part}.jsonl").write_text("".join(own), "utf-8")
config = MinhashConfig(n_grams=3, num_buckets=16, hashes_per_bucket=6)
reader, output = JsonlReader(str(parts)), JsonlWriter(str(work / "output"), compression=None)
signatures, buckets, clusters = (str(work / name) for name in ("sig", "buckets", "clusters"))
for number, (tasks, pipeline) in enumerate([
    (2, [reader, MinhashDedupSignature(signatures, config)]),
    (16, [MinhashDedupBuckets(signatures, buckets, config=config)]),
    (1, [MinhashDedupCluster(buckets, clusters, config=config)]),
    (2, [reader, MinhashDedupFilter(clusters), output]),
]):
    logs = str(work / "logs" / str(number))
    LocalPipelineExecutor(pipeline, tasks=tasks, workers=min(tasks, 2), logging_dir=logs).run()
"""
_KEPT: Final = """
import sys
from datasets import load_from_disk
print(*load_from_disk(sys.argv[1])["id"])
"""


def run(lab: Lab) -> None:
    """One case, three engines; each is given the same file."""
    count = lab.count(50_000, quick=2_000)
    if lab.options.input is None:
        corpus = corpora.write_pieces(lab.fresh(".jsonl"), count, 3000)
    else:
        corpus = corpora.write_copy(lab.fresh(".jsonl"), lab.options.input, count)
    texts = corpora.read_texts(corpus.path)
    case = f"{_SHINGLE}, {corpus.what}, {corpus.documents:,} documents"
    runs: dict[str, Callable[[Path], tuple[Measured, list[str]]]] = {OWN: partial(_own, corpus)}
    if not lab.options.quick:
        for peer, run in (("text-dedup", _text_dedup), ("datatrove", _datatrove)):
            runs[peer] = partial(run, corpus, environment(lab, *PEERS[peer]))

    def values(one: Callable[[Path], tuple[Measured, list[str]]]) -> Values:
        measured, kept = one(lab.fresh("").parent)
        dropped = sorted({*range(corpus.documents)} - {*map(int, kept)})
        best = nearest(texts, dropped)
        return {
            **taken(measured),
            DROPPED: len(dropped),
            WRONGLY: sum(similarity < 0.8 for similarity in best),
            UNLIKE: sum(similarity < 0.5 for similarity in best),
        }

    lab.measure(
        [Job(case, corpus.documents, partial(values, one), name) for name, one in runs.items()]
    )


def _own(corpus: Corpus, work: Path) -> tuple[Measured, list[str]]:
    output = work / "kept.jsonl"
    measured = measure([*lshdb_command(), "dedup", corpus.path, "-o", output])
    return measured, [*_ids(output)]


def _text_dedup(corpus: Corpus, python: Path, work: Path) -> tuple[Measured, list[str]]:
    output = work / "output"
    places = ("--data_files", corpus.path, "--cache_dir", work / "cache", "--output", output)
    command: list[str | Path] = [python, "-m", "text_dedup.minhash", *_OPTIONS, *places]
    measured = measure(command, directory=work)
    return measured, measure([python, "-c", _KEPT, output], sample=False).out.split()


def _datatrove(corpus: Corpus, python: Path, work: Path) -> tuple[Measured, list[str]]:
    measured = measure([python, "-c", _DATATROVE, corpus.path, work], directory=work)
    return measured, [key for path in (work / "output").iterdir() for key in _ids(path)]


def _ids(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["id"]


def nearest(texts: Sequence[str], indices: Iterable[int]) -> list[float]:
    """Of some texts, the exact Jaccard similarity to the most similar other one, by brute force."""
    sets = [_shingles(text) for text in texts]
    holders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, shingles in enumerate(sets):
        for shingle in shingles:
            holders[shingle].append(index)
    best: list[float] = []
    for index in indices:
        shared = Counter(other for shingle in sets[index] for other in holders[shingle])
        del shared[index]
        size = len(sets[index])
        scores = (n / (size + len(sets[other]) - n) for other, n in shared.items())
        best.append(max(scores, default=0.0))
    return best


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    if 0 < len(words) < 3:
        return {tuple(words)}
    return set(zip(words, words[1:], words[2:], strict=False))


def markdown(results: dict[str, Any]) -> str:
    """The table of the documentation."""
    figures = results["figures"]
    versions = ", ".join(version for version, _ in PEERS.values())
    found = {(figure["engine"], figure["measure"]): figure["median"] for figure in figures}
    lines = [
        f"`scripts/bench dedup-peers`, {figures[0]['case']}; {versions}.",
        "",
        "| | seconds | peak MB | dropped | of these nothing similar at 0.8 | nothing at 0.5 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for engine in dict.fromkeys(figure["engine"] for figure in figures):
        cells = (found.get((engine, name)) for name in (SECONDS, PEAK, DROPPED, WRONGLY, UNLIKE))
        shown = ("" if cell is None else number(cell) for cell in cells)
        lines.append(f"| {engine} | {' | '.join(shown)} |")
    return "\n".join(lines)
