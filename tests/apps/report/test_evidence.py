"""What a report rests on: the same pairs through all doors, and a gap as a finding."""

from __future__ import annotations

import csv
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
from helpers import Command, database_of

from lshdb.apps.report.evidence import connections, standing_apart
from lshdb.progress import silent

SOURCE = (
    "Barn owls hunt over meadows at dusk. Their facial disc funnels faint sounds towards "
    "asymmetric ears, so that they locate voles beneath snow or grass without seeing them at all."
)
REWORDED = (
    "At dusk, owls of barns can locate voles without seeing them: the asymmetric ears get faint "
    "sounds, which a disc on the face funnels, even when grass or snow lies above."
)


def essays() -> dict[str, str]:
    """Essays of words that no other has; f01 is a copy of e02, f02 is e01 reworded."""
    rng = random.Random(3)
    texts = {
        f"e{n:02}": " ".join(
            f"{letter}{rng.choice('aeiou')}word{rng.randrange(900)}" for _ in range(80)
        )
        for n, letter in enumerate("abcdefghijkl")
    }
    texts["e01"] = SOURCE
    texts["f01"] = f"{texts['e02']} and more"
    texts["f02"] = REWORDED
    return texts


@pytest.fixture
def class_of_essays(command: Command) -> Command:
    """The command, beside a directory of essays."""
    for name, text in essays().items():
        command.write(f"essays/{name}.txt", text)
    return command


def rows(command: Command, *arguments: str) -> list[dict[str, str]]:
    """The rows of a report."""
    command.done("report", *arguments, "-o", "out.csv", says=None)
    text = command.path("out.csv").read_text("utf-8").replace("essays.zip/", "")
    return list(csv.DictReader(text.splitlines()))


def page(command: Command, *arguments: str) -> str:
    """The page of a report, in one line."""
    return " ".join(command.done("report", *arguments, "-o", "-", says=None).out.split())


def test_every_door_gives_the_same_pairs_and_the_same_page(class_of_essays: Command) -> None:
    command = class_of_essays
    texts = {f"essays/{name}.txt": text for name, text in sorted(essays().items())}
    command.write("essays.jsonl", [{"id": key, "text": text} for key, text in texts.items()])
    with zipfile.ZipFile(command.path("essays.zip"), "w") as archive:
        for key, text in texts.items():
            archive.writestr(key, text)
    command.done("init", "-d", "essays.db", "--passages", "8", "--reworded")
    command.done("add", "-d", "essays.db", "essays")
    doors = (["essays"], ["essays.jsonl"], ["essays.zip"], ["essays.db"], ["-d", "essays.db"])
    pairs = [rows(command, *door) for door in doors]
    assert pairs == [pairs[0]] * len(doors)
    connected = {(row["a"][7:10], row["b"][7:10]): row["connected_by"] for row in pairs[0]}
    assert connected["e02", "f01"] == "similar, copied, reworded"
    assert connected["e01", "f02"] == "reworded"
    pages = [page(command, *door, "--title", "T") for door in (doors[0], doors[-1])]
    beside = [text.partition("<article")[2].partition("</section>")[0] for text in pages]
    assert beside[0] == beside[1].replace("essays/", "")
    assert all("1 pair stands apart" in text for text in pages), "the reworded one does not"
    assert "1 cluster, 1 document can be removed." in pages[1]
    assert ">Reworded</" in pages[0]


def test_this_year_is_compared_with_earlier_ones_and_these_not_with_each_other(
    command: Command,
) -> None:
    texts = essays()
    files = {"new/ann": "e02", "new/ben": "e03", "old/cy": "f01", "old/di": "e02", "old/ed": "f01"}
    for name, key in files.items():
        command.write(f"{name}.txt", texts[key])
    command.done("add", "-d", "archive.db", "old/cy.txt", "new/ben.txt")
    pairs = rows(command, "new", "--old", "old", "--old", "archive.db")
    found = {(row["a"], row["b"]) for row in pairs}
    assert found == {("new/ann.txt", f"old/{name}.txt") for name in ("cy", "di", "ed")}
    says = command.fails("report", "new", "--old", "./new", "-o", "o.csv", status=2)
    assert "name another one" in says
    command.done("add", "-d", "alone.db", "old/cy.txt")
    says = command.fails("report", "-d", "alone.db", "--old", "old/cy.txt", "-o", "o.csv", status=1)
    assert "alone.db: one document alone, with nothing to compare it with" in says


def test_a_short_reworded_passage_connects_and_does_not_count(tmp_path: Path) -> None:
    short = "owls locate voles asymmetric ears funnels faint sounds"
    texts = {**essays(), "g01": short, "g02": " ".join(sorted(short.split()))}
    with database_of(tmp_path / "lsh.db", texts, passages=8, reworded=True) as db:
        pairs = {(pair.a, pair.b): pair for pair in connections(db._store, 0.2, silent).pairs}
    assert 0.2 < pairs["e01", "f02"].score < 0.4
    assert pairs["g01", "g02"].reworded == 1
    assert pairs["g01", "g02"].score == pairs["g01", "g02"].weighted


def program(rng: random.Random, statements: int) -> list[str]:
    """Statements that hardly any other program has in this order."""
    return ["x " + " ".join(rng.choices("x+*=<>.,[", k=5)) for _ in range(statements)]


def with_inserted(statements: list[str], rng: random.Random) -> list[str]:
    """A copy with statements of its own at every fifth place."""
    inserted = [program(rng, int(rng.random() < 0.2)) for _ in statements]
    return [line for pair in zip(inserted, statements, strict=True) for line in (*pair[0], pair[1])]


def test_the_first_pairs_of_programs_have_the_first_by_similarity(tmp_path: Path) -> None:
    rng = random.Random(5)
    source = program(rng, 60)
    texts = {f"copy{n}": with_inserted(source, rng) for n in range(7)}
    parts = [program(rng, 30) for _ in range(3)]
    texts |= {f"part{n}": parts[n] + parts[n - 1] for n in range(3)}
    contents = {key: "\n".join(lines) for key, lines in texts.items()}
    with database_of(tmp_path / "lsh.db", contents, purpose="programs") as db:
        pairs = connections(db._store, 0.05, silent).pairs
    assert min(pair.weighted or 0 for pair in pairs if pair.a.startswith("copy")) < 0.1, (
        "what most of a class copied looks like its template"
    )
    by_similarity = sorted(pairs, key=lambda pair: -(pair.similarity or 0))
    for n in range(1, len(pairs) // 2):
        assert {*by_similarity[:n]} <= {*pairs[: 2 * n]}
    assert sum(pair.a.startswith("part") for pair in pairs[:6]) == 3, "rare parts come early, too"


def test_a_gap_is_a_finding_and_so_is_none() -> None:
    noise = np.linspace(0.3, 0, 60)
    assert standing_apart(np.array([0.9, 0.7, *noise]), 30) == (2, (0.7, 0.3))
    assert standing_apart(noise, 30) == (0, None)
    assert standing_apart(np.array([0.95, 0.55, *noise]), 30)[0] == 2, "the lowest of two gaps"
    assert standing_apart(np.array([]), 2) == (0, None)


def test_what_a_database_lacks_is_said_with_what_adds_it(class_of_essays: Command) -> None:
    class_of_essays.done("add", "-d", "plain.db", "essays")
    text = page(class_of_essays, "-d", "plain.db")
    assert "Not searched: copied passages of 8 words or more and reworded passages" in text
    adds = "lshdb reindex -d plain.db --passages 8 --reworded on"
    assert adds in text
    for output in (["--json"], ["-o", "out.csv"]):
        result = class_of_essays.done("report", "-d", "plain.db", *output, says=None)
        assert adds in result.err
    class_of_essays.done(*adds.split()[1:], says=None)
    assert "Not searched" not in page(class_of_essays, "-d", "plain.db")
