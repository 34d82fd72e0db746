"""Reports without names: what is replaced in paths and texts, and what stays."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import pytest
from helpers import Command

from lshdb.apps.report.hidden_names import Names


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


def test_a_page_without_names_says_for_whom_none_was_found(command: Command) -> None:
    words = " ".join(f"word{number}" for number in range(80))
    for number, name in enumerate(("654321", "Annika Lee_12345_assignsubmission_file_")):
        command.write(f"hw/{name}/a.txt", f"Annika Lee, a.lee@uni.example {words} {number}")
    result = command.done("report", "hw", "--anonymous", "-o", "out.html", says=None)
    assert "hw/654321: no name is found in it: look for one in the texts" in result.err
    assert "replaced in texts: names 2, mail addresses and numbers 2" in result.err
    text = command.path("out.html").read_text("utf-8")
    assert re.search(r"No name was found for submission-[12]\.", text)
    assert not re.search("Annika|Lee|12345|654321|@uni", text.partition("</style>")[2])
