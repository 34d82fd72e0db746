"""What the rule `contained` costs where rows share all that is rare in them."""

from __future__ import annotations

import random

import pytest

import lshdb
from lshdb.deduplication.containing import Codes
from lshdb.shingling.shingling import Shingles

LINES = [" ".join(f"w{line}-{word}" for word in range(9)) for line in range(7)]


def rows_of(kind: str) -> list[str]:
    """Rows that are equal, each within the next one, or subsets of a few lines."""
    rng = random.Random(1)
    if kind == "equal":
        return [LINES[0]] * 150
    if kind == "nested":
        return [" ".join(f"w{word}" for word in range(number + 5)) for number in range(150)]
    return ["\n".join(rng.sample(LINES, rng.randrange(2, 6))) for _ in range(150)]


@pytest.mark.parametrize("drop_all", [False, True])
@pytest.mark.parametrize("kind", ["equal", "nested", "subsets"])
def test_each_row_is_shingled_a_few_times_only(
    kind: str, drop_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each pair of rows with the same rarest shingle."""
    texts, shingled = rows_of(kind), 0
    shingles = Codes.shingles

    def counted(codes: Codes, stored: list[str]) -> Shingles:
        nonlocal shingled
        shingled += len(stored)
        return shingles(codes, stored)

    monkeypatch.setattr(Codes, "shingles", counted)
    rows = [{"id": number, "text": text} for number, text in enumerate(texts)]
    result = lshdb.dedup(rows, rule="contained", drop_all=drop_all, shingle="word:3", workers=0)
    kept = {row["id"] for row in result.kept}
    sets = [
        {tuple(text.split()[i : i + 3]) for i in range(len(text.split()) - 2)} for text in texts
    ]
    expected = set()
    for number, own in enumerate(sets):
        others = [(other, its) for other, its in enumerate(sets) if other != number]
        inside = any(own < its or (own == its and other < number) for other, its in others)
        around = any(its <= own for _, its in others) or any(own <= its for _, its in others)
        if not (around if drop_all else inside):
            expected.add(number)
    assert kept == expected
    assert shingled <= 3 * len(texts)
