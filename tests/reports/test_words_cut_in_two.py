"""Passages of characters began and ended within words, and what was left could not be read."""

from __future__ import annotations

import json
from pathlib import Path

from helpers import Command

FIRST = (
    "The harbour bridge will be closed for repairs\nfrom Monday on, the mayor said. " + "\u65e5" * 9
)
ROWS = [
    FIRST,
    "Weather: She bathe harbour bridge will be closed for repairs\nfrom Monday once more.",
    "caf" + "e\u0301 \U0001f468\u200d\U0001f467 wide " * 4,
    "x" + "e\u0301 \U0001f468\u200d\U0001f467 wide " * 4 + "\u0301ly",
]


def test_no_word_is_cut_in_two(command: Command, tmp_path: Path) -> None:
    rows, short, cuts = (tmp_path / f"{name}.jsonl" for name in ("rows", "short", "cuts"))
    lines = (json.dumps({"id": str(i), "text": text}) for i, text in enumerate(ROWS))
    rows.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    how = ("--shingle", "char:5", "--cut", "20", "--cuts", str(cuts))
    command("dedup", str(rows), "-o", str(short), *how)
    texts = [json.loads(line)["text"] for line in short.read_text("utf-8").splitlines()]
    assert texts[::2] == ROWS[::2]
    assert texts[1] == "Weather: She bathe once more."
    assert texts[3] == "xe\u0301 \u0301ly"
    [first, *_] = map(json.loads, cuts.read_text("utf-8").splitlines())
    passage = " harbour bridge will be closed for repairs\nfrom Monday"
    assert (first["text"], first["start"], first["words"]) == (passage, 18, len(passage) - 1)
    assert ROWS[1][first["start"] : first["end"]] == passage
