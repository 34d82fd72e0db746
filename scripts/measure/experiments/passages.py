"""What copied passages find: programs with labels, versions of a manual, texts with words changed.

    python scripts/measure experiments.passages FOLDER        a minute

FOLDER has collections in folders of their own; one that is not there is left out:

    irplag_java               docs.jsonl, and labels.tsv: file, original, L1 to L6 or non
    django_howto_7_versions   docs.jsonl, and clusters.tsv: file, page

The last table needs no folder. Rates are over all pairs of the collection whose share is at least
that of the column: recall of the pairs that are labelled as copies, precision of those found.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import lshdb
from measure.common.generate import texts

RUNS = (5, 8, 12)
COMMON = (20, 50, 100, 200, 467)
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75)
EVERY = (20, 10, 5)
AT_RANDOM = (20, 10, 5, 4, 3)
SOURCES = 200
WORDS = 250

Shares = dict[tuple[str, str], float]
"""The share of the first document that the second has, where it has a passage of it."""
Pairs = set[tuple[str, str]]
Ask = Callable[[lshdb.Database], Shares]


def main() -> int:
    parser = argparse.ArgumentParser(prog="experiments.passages", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="with collections")
    parser.add_argument("--sources", type=int, default=SOURCES, help="texts to copy from")
    options = parser.parse_args()
    for line in lines(options.folder, options.sources):
        print(line)
    return 0


def lines(folder: Path | None, sources: int) -> Iterator[str]:
    """All tables, as Markdown."""
    for name, measure in (("irplag_java", programs), ("django_howto_7_versions", versions)):
        if folder is not None and (folder / name / "docs.jsonl").is_file():
            yield f"{name}: recall / precision, by the run and the least share"
            yield ""
            yield from table(measure(folder / name))
            yield ""
    if folder is not None and (folder / "irplag_java" / "docs.jsonl").is_file():
        yield "irplag_java: all pairs, by the number of documents from which on a run is common"
        yield ""
        yield from table(common(folder / "irplag_java"))
        yield ""
    yield f"copies of {sources} texts of {WORDS} words: source found first, by the run"
    yield ""
    yield from table(changed(sources))


def table(rows: Iterable[list[str]]) -> Iterator[str]:
    """Rows of cells as Markdown, the first one as the head."""
    for number, row in enumerate(rows):
        yield "| " + " | ".join(row) + " |"
        if not number:
            yield "|---" * len(row) + "|"


def programs(folder: Path) -> Iterator[list[str]]:
    """Each program asked for the original of its task, which some copy and others do not."""
    documents = _documents(folder)
    labels = _rows(folder / "labels.tsv")
    copies = {(file, original) for file, original, level in labels if level != "non"}
    asked = {(file, original) for file, original, _ in labels if file != original}
    originals = {original: documents[original] for _, original in asked}
    yield from _rates(
        originals,
        lambda db: _queried(db, {file: documents[file] for file, _ in asked}),
        copies & asked,
        asked,
    )


def common(folder: Path) -> Iterator[list[str]]:
    """All pairs of programs: how many there are, how many of one task, and the copies found."""
    documents = _documents(folder)
    labels = _rows(folder / "labels.tsv")
    task = {file: original for file, original, _ in labels}
    copies = {frozenset(row[:2]) for row in labels if row[2] not in ("non", "original")}
    yield ["common", "pairs", "of one task", "copies found with their original"]
    with _filled(documents, 8) as db:
        for limit in COMMON:
            pairs = [(pair.a, pair.b) for pair in db.passage_pairs(common=limit)]
            same = sum(task.get(a, a) == task.get(b, b) for a, b in pairs) / max(1, len(pairs))
            found = len(copies & set(map(frozenset, pairs))) / len(copies)
            yield [str(limit), f"{len(pairs):,}", f"{same:.0%}", f"{found:.0%}"]


def versions(folder: Path) -> Iterator[list[str]]:
    """All pairs of pages; copies are versions of one page."""
    documents = _documents(folder)
    page = {row[0]: row[1] for row in _rows(folder / "clusters.tsv")}
    pairs = set(itertools.combinations(documents, 2))
    copies = {(a, b) for a, b in pairs if page.get(a, a) == page.get(b, b)}
    yield from _rates(documents, _joined, copies, pairs)


def _rates(
    documents: Mapping[str, str], ask: Ask, copies: Pairs, asked: Pairs
) -> Iterator[list[str]]:
    yield ["run", *(f"{share:.0%}" if share else "any" for share in SHARES)]
    for run, db in _databases(documents):
        shares = ask(db)
        row = [f"{run} words"]
        for minimum in SHARES:
            found = {pair for pair in asked if shares.get(pair, 0) >= max(minimum, 1e-9)}
            right = len(found & copies)
            row.append(f"{right / len(copies):.0%} / {right / max(1, len(found)):.0%}")
        yield row


def _queried(db: lshdb.Database, queries: Mapping[str, str]) -> Shares:
    return {
        (key, source.key): source.coverage
        for key, text in queries.items()
        for source in db.passages(text, common=len(queries))
    }


def _joined(db: lshdb.Database) -> Shares:
    """The share of the smaller document."""
    pairs = db.passage_pairs(common=len(db))
    return {(pair.a, pair.b): max(pair.a_coverage, pair.b_coverage) for pair in pairs}


def changed(sources: int) -> Iterator[list[str]]:
    """Copies in which every n-th word is another one, or as many at random places.

    Each copy is half of a longer text, as a quotation is.
    """
    made = [text.split()[:WORDS] for _, text in texts(2 * sources, 9 * WORDS, duplicates=0)]
    stored = {str(number): " ".join(words) for number, words in enumerate(made[:sources])}
    rng = random.Random(1)
    cases = {f"every {step}th word": list(range(step - 1, WORDS, step)) for step in EVERY}
    cases |= {f"one word in {step}, at random": [] for step in AT_RANDOM}
    rows: dict[str, list[str]] = {}
    copies: dict[str, list[str]] = {}
    for name, fixed in cases.items():
        rows[name], copies[name] = [name], []
        for own, other in zip(made[:sources], made[sources:], strict=True):
            count = 0 if fixed else WORDS // int(name.split()[3].rstrip(","))
            copy = list(own)
            for index in fixed or rng.sample(range(WORDS), count):
                copy[index] = rng.choice(other)
            copies[name].append(" ".join(other + copy))
    for _, db in _databases(stored):
        for name, asked in copies.items():
            first = 0
            for number, copy_text in enumerate(asked):
                best = db.passages(copy_text, top=1).sources
                first += bool(best) and best[0].key == str(number)
            rows[name].append(f"{first / sources:.0%}")
    yield ["changed", *(f"{run} words" for run in RUNS)]
    yield from rows.values()


def _databases(documents: Mapping[str, str]) -> Iterator[tuple[int, lshdb.Database]]:
    """A database of documents with an index of passages, for each run."""
    with _filled(documents, RUNS[0]) as db:
        for run in RUNS:
            db.reindex(passages=run)
            yield run, db


@contextmanager
def _filled(documents: Mapping[str, str], run: int) -> Iterator[lshdb.Database]:
    with (
        tempfile.TemporaryDirectory() as directory,
        lshdb.open(Path(directory) / "passages.db", passages=run) as db,
    ):
        db.add_many(documents.items())
        yield db


def _documents(folder: Path) -> dict[str, str]:
    with (folder / "docs.jsonl").open(encoding="utf-8") as rows:
        return {one["id"]: one["text"] for one in map(json.loads, rows)}


def _rows(path: Path) -> list[list[str]]:
    """The rows of a table whose head begins with #."""
    with path.open(encoding="utf-8") as rows:
        return [row.rstrip("\n").split("\t") for row in rows if not row.startswith("#")]
