"""One report whatever the door, with a finding, this year against the last, and hidden names."""

from __future__ import annotations

import csv
import random
import re
import unicodedata
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from helpers import Command, database_of

from lshdb.apps.report.evidence import connections, standing_apart
from lshdb.apps.report.hidden_names import Names
from lshdb.progress import silent

pytest.importorskip("jinja2", reason="the extra `web` is not installed")
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


def test_a_gap_is_a_finding_and_so_is_none() -> None:
    noise = np.linspace(0.3, 0, 60)
    assert standing_apart(np.array([0.9, 0.7, *noise]), 30) == (2, (0.7, 0.3))
    assert standing_apart(noise, 30) == (0, None)
    assert standing_apart(np.array([0.95, 0.55, *noise]), 30)[0] == 2, "the lowest of two gaps"
    assert standing_apart(np.array([]), 2) == (0, None)


def test_names_in_texts_are_replaced_and_usual_words_stay() -> None:
    names = {"submission-1": "hw/anna_lee", "submission-2": "hw/main", "submission-3": "hw/jo.txt"}
    texts = [
        (f"submission-{number}", "main() jo" if number == 3 else "main") for number in range(1, 6)
    ]
    hidden = Names(names, texts)
    text = "By ANNA LEE, annaLee; Lee, Anna; Anna alone; main; annaleest; Jo"
    assert hidden.replaced(text) == (
        "By submission-1, submission-1; submission-1; Anna alone; main; annaleest; submission-3"
    )
    assert (hidden.count, hidden.usual) == (4, ["hw/main"])


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_of_folders_are_hidden_however_they_are_written(form: Literal["NFC", "NFD"]) -> None:
    paths = {
        "submission-1": "hw/Annika Lee_12345_assignsubmission_file_",
        "submission-2": "hw/Jörg Müller-Øye_777_assignsubmission_file_",
        "submission-3": "hw/654321_assignsubmission_file_",
        "submission-4": "hw/roeanna_LATE_4711_99_main.py",
        "submission-5": "hw/Nguyễn Văn Đức_1_assignsubmission_file_",
        "submission-6": "hw/Мария Иванова_99_assignsubmission_file_",
        "submission-7": "hw/lab2_Bo",
        "submission-8": "hw/lab2_Cy",
    }
    hidden = Names({key: unicodedata.normalize(form, path) for key, path in paths.items()})
    texts = {
        1: "Annika Lee;;;; LEE, Annika;;;; annika_lee;;;; annikaLee;;;; leeannika;;;; ANNIKA  LEE",
        2: "joerg mueller-oeye;;;; Jorg Muller;;;; Müller, Jörg;;;; ØYE Joerg",
        4: "Anna Roe;;;; roe_anna;;;; RoeAnna",
        5: "Nguyen Van Duc;;;; ĐỨC NGUYỄN;;;; duc_nguyen",
        6: "ИВАНОВА Мария;;;; мария иванова",
        7: "bo;;;; Bo",
    }
    for number, text in texts.items():
        for shown in (hidden.replaced(text), hidden.replaced(unicodedata.normalize("NFD", text))):
            assert set(shown.split(";;;; ")) == {f"submission-{number}"}
    assert hidden.replaced("annikalee2") == "submission-1_2"
    assert (hidden.nameless, hidden.masked) == (["submission-3"], 0)
    kept = (
        "lab2 x = 1234567; f(998244353, 1000000007) @Override a@b.T m@n.dot(k) {1000000, 2000000}"
    )
    assert hidden.replaced(kept) == kept
    assert hidden.replaced(
        "a@uni.example; s1234567\nMatriculation no. 20231234, Annika Lee 77777\n# 7654321\n12345;"
    ) == (
        "(mail address); s(number)\nMatriculation no. (number), submission-1 (number)\n# (number)\n"
        "(number);"
    )


def test_a_page_without_names_says_for_whom_none_was_found(class_of_essays: Command) -> None:
    command = class_of_essays
    for number, name in enumerate(("654321", "Annika Lee_12345_assignsubmission_file_")):
        command.write(
            f"hw/{name}/a.txt", f"Annika Lee, a.lee@uni.example {essays()['e02']} {number}"
        )
    result = command.done("report", "hw", "--anonymous", "-o", "out.html", says=None)
    assert "hw/654321: no name is found in it: look for one in the texts" in result.err
    assert "replaced in texts: names 2, mail addresses and numbers 2" in result.err
    text = command.path("out.html").read_text("utf-8")
    assert re.search(r"No name was found for submission-[12]\.", text)
    assert not re.search("Annika|Lee|12345|654321|@uni", text.partition("</style>")[2])


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
