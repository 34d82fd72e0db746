"""The colours of the style sheet: contrasts by WCAG 2, in both schemes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lshdb

STATIC = Path(lshdb.__file__).parent / "web" / "static"
CSS = re.sub(r"/\*.*?\*/", "", (STATIC / "lshdb.css").read_text("utf-8"), flags=re.DOTALL)
GROUNDS = "ground raised note a-ground b-ground"
CONTRASTS = [
    # A text and its background.
    (4.5, "text accent", GROUNDS),
    (4.5, "quiet", "ground raised a-ground b-ground"),
    (4.5, "keep drop different", "ground raised b-ground"),
    (4.5, "ground", "a b accent"),
    # Words that differ, and copied passages.
    (4.5, "text", "a-mark b-mark run-1 run-2 run-3 run-4"),
    # The bar beside a line that differs, words that were found, notes, frames of the focus.
    (3, "a", "ground a-ground"),
    (3, "b", "ground b-ground"),
    (3, "mark accent", "ground raised b-ground"),
]


def luminance(colour: str) -> float:
    """The relative luminance of a colour such as #1b1f24, from 0 to 1."""
    given = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in given]
    return sum(weight * v for weight, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_read_has_enough_contrast(scheme: str) -> None:
    assert round(contrast("#ffffff", "#767676"), 2) == 4.54
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", CSS)
    colour = {name: light if scheme == "light" else dark for name, light, dark in pairs}
    low = [
        (one, other)
        for least, ones, others in CONTRASTS
        for one in ones.split()
        for other in others.split()
        if contrast(colour[one], colour[other]) < least
    ]
    assert low == []
    tested = " ".join(names for _, *both in CONTRASTS for names in both).split()
    assert colour.keys() - {*tested, "edge", "pale"} == set(), "they say nothing alone"
