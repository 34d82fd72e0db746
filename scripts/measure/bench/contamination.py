"""contamination: what rules of `lshdb dedup` find of test questions in pages. Ten minutes.

Pages are pieces of the Python sources of this machine; questions are 40 words of other pieces. One
page in 20 gets a question in its middle, changed in one of five ways. A page without one that is
dropped is a false alarm, unless it shares 13 words in a row with a question by itself. But for
--quick, datatrove's filter of n-grams (13 words) is given the same, in a separate environment,
which stays in --directory (or the user's cache).
"""

import json
import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from measure.common.commands import Measured, lshdb, measure
from measure.harness import corpora
from measure.harness.figures import OWN, PEAK, SECONDS, Results, Values
from measure.harness.lab import Lab, environment, taken
from measure.harness.report import medians, table

RULES: Final = ("similar", "contained", "copied:13", "copied:8")
FALSE: Final = "false alarms"
_WORDS: Final = 40
_RUN: Final = 13
_WAYS: Final[dict[str, Callable[[list[str]], str]]] = {
    "as it is": " ".join,
    "lines broken elsewhere": lambda words: "\n    ".join(
        " ".join(words[i : i + 6]) for i in range(0, len(words), 6)
    ),
    "other case and punctuation": lambda words: ", ".join(words).upper(),
    "one word changed": lambda words: " ".join([*words[:20], "xyzzy", *words[21:]]),
    "the first half of it": lambda words: " ".join(words[: len(words) // 2]),
}
_RUNNER: Final = """
import json, sys
from datatrove.data import Document
from datatrove.pipeline.decont import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
own = NGramsDecontFilter("memory://", NGramsDecontConfig(n_grams=13))
rows = lambda path: map(json.loads, open(path, encoding="utf-8"))
hashed = (NGramsDecontIndexer.compute_hashes(own, row["text"]) for row in rows(sys.argv[2]))
own._index_hashes = {one: "test" for some in hashed for one in some}
with open(sys.argv[3], "w") as kept:
    for row in rows(sys.argv[1]):
        if own.filter(Document(row["text"], row["id"])) is True:
            print(json.dumps({"id": row["id"]}), file=kept)
"""


def run(lab: Lab) -> None:
    """One case; every rule and the peer decide about the same pages."""
    count = lab.count(20_000, quick=400)
    corpus = corpora.write_pieces(lab.fresh(".jsonl"), count + count // 20, 3000)
    texts = corpora.read_texts(corpus.path)
    texts, others = texts[:count], texts[count:]
    choose, ways = random.Random(1), [*_WAYS]
    questions = [words[:_WORDS] for text in others if len(words := _words(text)) >= _WORDS]
    planted: dict[int, str] = {}
    between = len(texts) // len(questions)
    for index, words in enumerate(questions):
        page = choose.randrange(between) + index * between
        planted[page] = ways[index % len(ways)]
        middle = len(texts[page]) // 2
        changed = _WAYS[planted[page]](words)
        texts[page] = f"{texts[page][:middle]}\n{changed}\n{texts[page][middle:]}"
    asked = {run for words in questions for run in _runs(words)}
    shared = {page for page, text in enumerate(texts) if not asked.isdisjoint(_runs(_words(text)))}
    pages, test = lab.fresh(".pages.jsonl"), lab.fresh(".test.jsonl")
    for path, rows in ((pages, texts), (test, map(" ".join, questions))):
        lines = (json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(rows))
        path.write_text("".join(lines), "utf-8")

    def values(decide: Callable[[Path], Measured]) -> Values:
        kept = lab.fresh(".jsonl")
        measured = decide(kept)
        left = {int(json.loads(line)["id"]) for line in kept.read_text("utf-8").splitlines()}
        dropped = {*range(len(texts))} - left
        found = {}
        for way in _WAYS:
            those = {page for page, planted_way in planted.items() if planted_way == way}
            found[f"found, {way}"] = 100 * len(those & dropped) / max(1, len(those))
        return {**taken(measured), **found, FALSE: len(dropped - planted.keys() - shared)}

    def by_rule(rule: str, kept: Path) -> Measured:
        return lshdb(
            "dedup", pages, "--rule", rule, "--against", test, "--only-against", "-o", kept
        )

    engines: list[tuple[str, str, Callable[[Path], Measured]]]
    engines = [(rule, OWN, partial(by_rule, rule)) for rule in RULES]
    if not lab.options.quick:
        packages = ["datatrove[io,processing]==0.10.1", "spacy>=3.8,<4"]
        python = environment(lab, "datatrove 0.10.1", packages)
        peer: list[str | Path] = [python, "-c", _RUNNER, pages, test]
        engines.append((f"{_RUN}-grams", "datatrove", lambda kept: measure([*peer, kept])))
    what = f"{len(planted):,} questions in {len(texts):,} pages, {corpus.what}"
    runs = {(f"{rule}, {what}", name): partial(values, decide) for rule, name, decide in engines}
    lab.measure(len(texts), runs)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _runs(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1)}


def markdown(results: Results) -> str:
    """The table of the documentation."""
    measures = [*(f"found, {way}" for way in _WAYS), FALSE, SECONDS, PEAK]
    rows = {
        f"{engine} {case.partition(',')[0]}": [*map(values.get, measures)]
        for (case, engine), values in medians(results.figures).items()
    }
    what = results.figures[0].case.partition(", ")[2]
    names = [*_WAYS, FALSE, "seconds", "peak MB"]
    return "\n".join([f"{what}; questions found in %.", "", *table("", names, rows)])
