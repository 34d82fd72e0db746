"""dedup-peers: what `lshdb dedup`, text-dedup and datatrove drop wrongly. An hour.

Documents are pieces of the Python sources of this machine. First all three have shingles of three
words, the peers 16 bands of 6 rows; then each has its own defaults. Every document that was dropped
is compared with all others, exactly, by the shingles that decided: one that no other reaches the
threshold with was dropped wrongly. The peers are installed in separate environments, which stay in
--directory (or the user's cache).
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from measure.common.commands import Measured, lshdb, measure
from measure.harness import corpora
from measure.harness.corpora import Corpus
from measure.harness.figures import OWN, PEAK, SECONDS, Results, Values
from measure.harness.lab import Lab, environment, taken
from measure.harness.report import medians, table

PEERS: Final = {
    "text-dedup": ("text-dedup 0.4.0", ("text-dedup==0.4.0",)),
    # spacy makes words of texts
    "datatrove": ("datatrove 0.10.1", ("datatrove[io,processing]==0.10.1", "spacy>=3.8,<4")),
}
"""The version of each, and what is installed for it."""
DROPPED: Final = "dropped"
WRONGLY: Final = "dropped, and no other document at the threshold"
UNLIKE: Final = "dropped, and no other document at similarity 0.5"
SETTINGS: Final = {
    "alike": dict.fromkeys((OWN, *PEERS), (3, 0.8)),
    "own defaults": {OWN: (3, 0.8), "text-dedup": (5, 0.7), "datatrove": (5, 0.72)},
}
"""The words of a shingle and the threshold of each. datatrove asks for none: 0.72 is where its 14
buckets of 8 hashes are steepest, (1/14)**(1/8)."""
_OPTIONS: Final = (
    *("--path", "json", "--split", "train", "--column", "text", "--min_length", "0"),
    *("--num_proc", "2"),
)
"""Of text-dedup, as its documentation has them."""
_ALIKE: Final = ("--ngram", "3", "--num_perm", "96", "--b", "16", "--r", "6")
_DATATROVE: Final = """
import sys
from pathlib import Path
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster
from datatrove.pipeline.dedup import MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
corpus, work = map(Path, sys.argv[1:3])
# A task reads whole files: as many files as tasks, so that both processes have work.
parts = work / "parts"
parts.mkdir()
lines = corpus.read_text("utf-8").splitlines(keepends=True)
half = -(-len(lines) // 2)
for part in range(2):
    own = lines[part * half : (part + 1) * half]
    (parts / f"{part}.jsonl").write_text("".join(own), "utf-8")
alike = dict(n_grams=3, num_buckets=16, hashes_per_bucket=6)
config = MinhashConfig(**(alike if sys.argv[3] == "alike" else {}))
reader, output = JsonlReader(str(parts)), JsonlWriter(str(work / "output"), compression=None)
signatures, buckets, clusters = (str(work / name) for name in ("sig", "buckets", "clusters"))
for number, (tasks, pipeline) in enumerate([
    (2, [reader, MinhashDedupSignature(signatures, config)]),
    (config.num_buckets, [MinhashDedupBuckets(signatures, buckets, config=config)]),
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
    """Two cases, three engines; each is given the same file."""
    corpus = corpora.write_pieces(lab.fresh(".jsonl"), lab.count(50_000, quick=2_000), 3000)
    texts = corpora.read_texts(corpus.path)
    runs: dict[str, Callable[[str, Path], tuple[Measured, Iterable[str]]]] = {
        OWN: partial(_own, corpus)
    }
    if not lab.options.quick:
        for peer, run in (("text-dedup", _text_dedup), ("datatrove", _datatrove)):
            runs[peer] = partial(run, corpus, environment(lab, *PEERS[peer]))

    def values(settings: str, engine: str) -> Values:
        measured, kept = runs[engine](settings, lab.fresh().parent)
        dropped = sorted({*range(corpus.documents)} - {*map(int, kept)})
        words, threshold = SETTINGS[settings][engine]
        best = nearest(texts, dropped, words)
        return {
            **taken(measured),
            DROPPED: len(dropped),
            WRONGLY: sum(similarity < threshold for similarity in best),
            UNLIKE: sum(similarity < 0.5 for similarity in best),
        }

    described = f"{corpus.what}, {corpus.documents:,} documents"
    cases = {
        (f"{settings}, {described}", name): partial(values, settings, name)
        for settings in SETTINGS
        for name in runs
    }
    lab.measure(corpus.documents, cases)


def _own(corpus: Corpus, _settings: str, work: Path) -> tuple[Measured, Iterable[str]]:
    output = work / "kept.jsonl"
    return lshdb("dedup", corpus.path, "-o", output), _ids(output)


def _text_dedup(
    corpus: Corpus, python: Path, settings: str, work: Path
) -> tuple[Measured, Iterable[str]]:
    output = work / "output"
    places = ("--data_files", corpus.path, "--cache_dir", work / "cache", "--output", output)
    options = [*_OPTIONS, *(_ALIKE if settings == "alike" else ())]
    command: list[str | Path] = [python, "-m", "text_dedup.minhash", *options, *places]
    measured = measure(command, directory=work)
    return measured, measure([python, "-c", _KEPT, output]).out.split()


def _datatrove(
    corpus: Corpus, python: Path, settings: str, work: Path
) -> tuple[Measured, Iterable[str]]:
    command: list[str | Path] = [python, "-c", _DATATROVE, corpus.path, work, settings]
    measured = measure(command, directory=work)
    return measured, chain.from_iterable(map(_ids, (work / "output").iterdir()))


def _ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]


def nearest(texts: Sequence[str], indices: Iterable[int], words: int = 3) -> list[float]:
    """Of some texts, the exact Jaccard similarity to the most similar other one, by brute force."""
    sets = [shingles_of(text, words) for text in texts]
    holders: defaultdict[int, list[int]] = defaultdict(list)
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


def shingles_of(text: str, words: int = 3) -> set[int]:
    """The shingles of a text without marks, as numbers: those of all engines here, in effect."""
    found = re.findall(r"\w+", text.casefold())
    if 0 < len(found) < words:
        return {hash(tuple(found))}
    return set(map(hash, zip(*(found[start:] for start in range(words)), strict=False)))


def markdown(results: Results) -> str:
    """The tables of the documentation."""
    versions = ", ".join(version for version, _ in PEERS.values())
    names = ("words", "threshold", "seconds", "peak MB", "dropped")
    measures = (SECONDS, PEAK, DROPPED, WRONGLY, UNLIKE)
    found = medians(results.figures)
    rows = {
        f"{engine}, {settings}": [*SETTINGS[settings][engine], *map(values.get, measures)]
        for (case, engine), values in found.items()
        for settings in [case.partition(", ")[0]]
    }
    wrongly = ("of these nothing similar at the threshold", "nothing at 0.5")
    what = results.figures[0].case.partition(", ")[2]
    head = f"`scripts/bench dedup-peers`, {what}; {versions}."
    return "\n".join([head, "", *table("", [*names, *wrongly], rows)])
