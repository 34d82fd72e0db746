"""What is found of texts that were reworded in known ways, beside runs of equal words.

    python scripts/measure experiments.reworded [FOLDER...]        four minutes

Sources are docstrings of the Python that runs it, of 150 words or more. A case has a part of one
or two of them, changed, in the middle of another docstring. Detections are compared with cases by
characters of the text, as in plagiarism detection (Potthast, Stein, Barrón-Cedeño, Rosso: An
evaluation framework for plagiarism detection, COLING 2010). With the cases S and the detections R,
of which those of the right source count for a case:

    recall       the mean over S of the share of a case's characters that detections cover
    precision    the mean over R of the share of a detection's characters that are in cases
    granularity  the mean, over the cases that are found, of how many detections there are of each
    plagdet      F1 of precision and recall / log2(1 + granularity)

A text of kind `none` has no case; each detection there is wrong.

A second table has the same by the lowest score that counts. A FOLDER has `docs.jsonl`, a line
`{"id": ..., "text": ...}`, and `truth.tsv`, a line `ID ID`, or `clusters.tsv`, a line `ID CLUSTER`:
of all its pairs the third table says how many there are from each score on, and how many are true.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import re
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import lshdb
from measure.experiments.passages import table

SOURCES = 400
CASES = 40
LENGTHS = (100, 180)
"""Words of a part."""
_SHORTEST = 150
SCORES = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)

Words = list[str]
Detection = tuple[str, int, int]
"""The key of a source, first character, last + 1."""


def shuffle(words: Words, _: Words, draw: random.Random) -> Words:
    """The words of each sentence in another order."""
    return [word for one in _sentences(words) for word in draw.sample(one, len(one))]


def delete(words: Words, _: Words, draw: random.Random) -> Words:
    """Without a fifth of the words."""
    return [word for word in words if draw.random() > 0.2]


def replace(words: Words, others: Words, draw: random.Random) -> Words:
    """A fifth of the words from elsewhere."""
    return [word if draw.random() > 0.2 else draw.choice(others) for word in words]


def reorder(words: Words, _: Words, draw: random.Random) -> Words:
    """The sentences in another order."""
    found = _sentences(words)
    return [word for one in draw.sample(found, len(found)) for word in one]


def rewrite(words: Words, others: Words, draw: random.Random) -> Words:
    """All of it together."""
    return reorder(shuffle(replace(delete(words, others, draw), others, draw), [], draw), [], draw)


KINDS: dict[str, Callable[[Words, Words, random.Random], Words]] = {
    "verbatim": lambda words, _, __: words,
    "words shuffled within sentences": shuffle,
    "20% of the words deleted": delete,
    "20% of the words replaced": replace,
    "sentences reordered": reorder,
    "all of these": rewrite,
}
MIXED = "two sources, sentence by sentence"
NONE = "none"


@dataclass(frozen=True)
class Case:
    """A text, and for each of its sources the characters that are from there."""

    text: str
    sources: dict[str, set[int]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="experiments.reworded", description=__doc__)
    parser.add_argument("folder", nargs="*", type=Path)
    folders = parser.parse_args().folder
    for line in lines(SOURCES, CASES):
        print(line)
    for folder in folders:
        print()
        for line in table(labelled(folder)):
            print(line)
    return 0


def lines(count: int, cases: int) -> Iterator[str]:
    """The tables, as Markdown."""
    draw = random.Random(1)
    texts = docstrings(draw)
    count = min(count, 2 * len(texts) // 3)
    sources = {str(n): text for n, text in enumerate(texts[:count])}
    carriers = [text.split() for text in texts[count:]]
    made = {kind: [*_cases(kind, sources, carriers, cases, draw)] for kind in (*KINDS, MIXED, NONE)}
    by_run: dict[str, dict[str, Any]] = {
        "rare words": {"reworded": True},
        "runs of 5": {"gap": 4},
        "runs of 8": {"min_words": 8, "gap": 4},
    }
    by_score: dict[str, dict[str, Any]] = {
        f"from {score:g}": {"reworded": True, "min_score": score} for score in SCORES
    }
    yield f"{len(sources)} docstrings, {cases} texts of each kind: plagdet (precision, recall)"
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "reworded.db"
        with lshdb.open(path, reworded=True, passages=5) as db:
            db.add_many(sources.items())
            for ways in (by_run, by_score):
                yield ""
                yield from table(_rows(db, made, ways))


def _rows(
    db: lshdb.Database, made: dict[str, list[Case]], ways: dict[str, dict[str, Any]]
) -> Iterator[list[str]]:
    yield ["", *ways, "wrong sources"]
    for kind, some in made.items():
        figures, wrong = [], []
        for options in ways.values():
            found = [_detections(db, case.text, options) for case in some]
            figures.append(_figures(some, found))
            both = zip(some, found, strict=True)
            wrong.append(
                sum(len({key for key, *_ in each} - set(case.sources)) for case, each in both)
            )
        yield [kind, *figures, ", ".join(map(str, wrong))]


def labelled(folder: Path) -> Iterator[list[str]]:
    """How many pairs of a collection there are from each score on, and how many are true."""
    with (folder / "docs.jsonl").open(encoding="utf-8") as rows:
        texts = {row["id"]: row["text"] for row in map(json.loads, rows)}
    if (folder / "truth.tsv").exists():
        true = {frozenset(row[:2]) for row in _labels(folder / "truth.tsv")}
    else:
        cluster = {row[0]: row[1] for row in _labels(folder / "clusters.tsv")}
        pairs = combinations(texts, 2)
        true = {
            frozenset(pair) for pair in pairs if len({cluster.get(key, key) for key in pair}) == 1
        }
    with (
        tempfile.TemporaryDirectory() as directory,
        lshdb.open(Path(directory) / "reworded.db", reworded=True) as db,
    ):
        db.add_many(texts.items())
        found = [
            (max(one.score or 0 for one in pair.passages), frozenset((pair.a, pair.b)))
            for pair in db.passage_pairs(reworded=True, min_score=SCORES[0])
        ]
    yield [folder.name, "pairs", "true", "precision", f"recall of {len(true):,}"]
    for least in SCORES:
        some = [pair for score, pair in found if score >= least]
        right = len(true.intersection(some))
        share, recall = right / max(1, len(some)), right / len(true)
        yield [f"from {least:g}", f"{len(some):,}", f"{right:,}", f"{share:.2f}", f"{recall:.3f}"]


def _labels(path: Path) -> Iterator[list[str]]:
    """The rows of a table whose head begins with #."""
    with path.open(encoding="utf-8") as rows:
        yield from (row.rstrip("\n").split("\t") for row in rows if not row.startswith("#"))


def docstrings(draw: random.Random) -> list[str]:
    """Docstrings of the standard library, none of which repeats much of another, in any order."""
    found: list[str] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"site-packages", "test", "tests", "idlelib"} & set(path.parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                words = (ast.get_docstring(node) or "").split()[:600]
                runs = [tuple(words[i : i + 5]) for i in range(len(words) - 4)]
                if len(words) >= _SHORTEST and sum(run in seen for run in runs) < len(runs) / 20:
                    seen.update(runs)
                    found.append(" ".join(words))
    draw.shuffle(found)
    return found


def _sentences(words: Words) -> list[Words]:
    parts = re.split(r"(?<=[.!?:;]) ", " ".join(words))
    return [part.split() for part in parts]


def _cases(
    kind: str, sources: dict[str, str], carriers: list[Words], count: int, draw: random.Random
) -> Iterator[Case]:
    keys = list(sources)
    for _ in range(count):
        before, after = (draw.choice(carriers)[:100] for _ in range(2))
        one, two = draw.sample(keys, 2)
        part, other = (_part(sources[key].split(), draw) for key in (one, two))
        pieces: list[tuple[str, Words]] = []
        if kind == MIXED:
            for a, b in zip(_sentences(part), _sentences(other), strict=False):
                pieces += [(one, a), (two, b)]
        elif kind != NONE:
            pieces = [(one, KINDS[kind](part, draw.choice(carriers), draw))]
        text, own = " ".join(before), dict[str, set[int]]()
        for key, words in pieces:
            begin = len(text) + 1
            text += " " + " ".join(words)
            own.setdefault(key, set()).update(range(begin, len(text)))
        yield Case(" ".join([text, *after]), own)


def _part(words: Words, draw: random.Random) -> Words:
    begin = draw.randrange(max(1, len(words) - LENGTHS[0]))
    return words[begin : begin + draw.randint(*LENGTHS)]


def _detections(db: lshdb.Database, text: str, options: dict[str, Any]) -> list[Detection]:
    """What is found; of runs within a reworded passage only the passage counts."""
    found: list[Detection] = []
    for source in db.passages(text, **options):
        for one in sorted(source.passages, key=lambda one: one.start - one.end):
            spans = (span for key, *span in found if key == source.key)
            if not any(begin <= one.start and one.end <= end for begin, end in spans):
                found.append((source.key, one.start, one.end))
    return found


def _figures(cases: list[Case], found: list[list[Detection]]) -> str:
    """Plagdet, precision and recall."""
    recalls, precisions, times = [], [], []
    for case, detections in zip(cases, found, strict=True):
        for key, characters in case.sources.items():
            own = [range(begin, end) for one, begin, end in detections if one == key]
            covered = characters.intersection(*[set().union(*own)])
            recalls.append(len(covered) / len(characters))
            if hits := sum(bool(characters.intersection(one)) for one in own):
                times.append(hits)
        for key, begin, end in detections:
            right = case.sources.get(key, set()).intersection(range(begin, end))
            precisions.append(len(right) / (end - begin))
    if not recalls:
        return "-"
    recall = sum(recalls) / len(recalls)
    precision = sum(precisions) / max(1, len(precisions))
    granularity = sum(times) / max(1, len(times))
    both = 2 * precision * recall / max(precision + recall, 1e-9)
    plagdet = both / math.log2(1 + max(granularity, 1))
    return f"{plagdet:.2f} ({precision:.2f}, {recall:.2f})"


if __name__ == "__main__":
    sys.exit(main())
