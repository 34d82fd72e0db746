"""The colours of the style sheet: contrasts by WCAG 2, and what colour-blind people tell apart."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import lshdb

Colour = npt.NDArray[np.float64]

STATIC = Path(lshdb.__file__).parent / "web" / "static"
CSS = re.sub(r"/\*.*?\*/", "", (STATIC / "lshdb.css").read_text("utf-8"), flags=re.DOTALL)
SCHEMES = ("light", "dark")
GROUNDS = ("ground", "raised", "kept", "note", "a-ground", "b-ground")
"""What text stands on, besides marks and buttons."""
TEXTS = {
    **dict.fromkeys(("text", "code-comment", "code-string", "code-keyword"), GROUNDS),
    **dict.fromkeys(("code-number", "code-name"), GROUNDS),
    "quiet": ("ground", "raised", "kept"),
    "link": ("ground", "raised", "kept", "note", "a-ground", "b-ground"),
    **dict.fromkeys(("keep", "drop", "different"), ("ground", "kept")),
}
MARKS = {
    # The bar beside a line that differs, and words that do.
    "a": ("ground", "a-ground"),
    "b": ("ground", "b-ground"),
    # Under words that were found, beside passages, under what moved, beside notes.
    "mark-edge": ("ground", "kept"),
    "quiet": ("ground", "a-ground", "b-ground"),
    "note-edge": ("ground",),
    # Bars of similarities, frames of what has the focus.
    "accent": ("ground", "kept"),
}
# Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
# deficiency", 2009: severity 1, of linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def variables(scheme: str) -> dict[str, Colour]:
    """The variables of a scheme as linear RGB; what the dark one does not change is as in light."""
    light, dark = re.findall(r":root\s*\{(.*?)\}", CSS, flags=re.DOTALL)[:2]
    text = light if scheme == "light" else light + dark
    return {name: linear(value) for name, value in re.findall(r"--([\w-]+):\s*(#\w{6});", text)}


def linear(colour: str) -> Colour:
    """A colour such as #1b1f24 as linear RGB from 0 to 1."""
    given = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(given <= 0.04045, given / 12.92, ((given + 0.055) / 1.055) ** 2.4)


def contrast(one: Colour, other: Colour) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21."""
    low, high = sorted(float(XYZ[1] @ colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def distance(one: Colour, other: Colour) -> float:
    """How far apart two colours are in CIELAB (1976); 2 is just seen, side by side."""
    labs = []
    for colour in (one, other):
        x, y, z = np.cbrt(np.maximum(XYZ @ colour / XYZ.sum(1), 0.008856))
        labs.append(np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)]))
    return float(np.linalg.norm(labs[0] - labs[1]))


def test_the_measures_are_those_of_the_books() -> None:
    white, black, grey = linear("#ffffff"), linear("#000000"), linear("#767676")
    assert round(contrast(white, black), 4) == 21
    assert round(contrast(white, grey), 2) == 4.54
    assert 86 < distance(linear("#ff0000"), linear("#00ff00")) < 172
    red, green = linear("#c04000"), linear("#5f6a00")
    assert distance(*(BLINDNESS["protanopia"] @ each for each in (red, green))) < 25


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_has_a_contrast_of_four_and_a_half(scheme: str) -> None:
    colour = variables(scheme)
    pairs = [(text, ground) for text, grounds in TEXTS.items() for ground in grounds]
    # Rules that set both, as for words that differ and buttons.
    both = r"background: var\(--([\w-]+)\);[^}]*?[^-]color: var\(--([\w-]+)\);"
    marked = [(text, ground) for ground, text in re.findall(both, CSS)]
    assert {("ground", "a"), ("ground", "b"), ("ground", "accent")} <= set(marked)
    low = {
        f"{text} on {ground}": round(contrast(colour[text], colour[ground]), 2)
        for text, ground in pairs + marked
        if contrast(colour[text], colour[ground]) < 4.5
    }
    assert low == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_marks_have_a_contrast_of_three(scheme: str) -> None:
    colour = variables(scheme)
    low = {
        f"{mark} on {ground}": round(contrast(colour[mark], colour[ground]), 2)
        for mark, grounds in MARKS.items()
        for ground in grounds
        if contrast(colour[mark], colour[ground]) < 3
    }
    assert low == {}


@pytest.mark.parametrize(("scheme", "eyes"), list(product(SCHEMES, BLINDNESS)))
def test_the_two_sides_are_told_apart_by_all_eyes(scheme: str, eyes: str) -> None:
    seen = {
        name: np.clip(BLINDNESS[eyes] @ value, 0, 1) for name, value in variables(scheme).items()
    }
    assert distance(seen["a"], seen["b"]) > 30
    assert distance(seen["a-ground"], seen["b-ground"]) > 8
    # Colours of code stay below them: they are nearer to the text than the marks are to the page.
    for name in (name for name in seen if name.startswith("code-")):
        assert distance(seen[name], seen["text"]) < distance(seen["b"], seen["ground"])


def test_all_colours_are_variables_that_are_tested() -> None:
    rules = re.sub(r":root\s*\{.*?\}", "", CSS, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-f]{3,8}\b|rgba?\(|hsla?\(", rules) == []
    tested = {*TEXTS, *GROUNDS, *MARKS}
    assert set(variables("dark")) - tested == {"edge"}  # lines between rows, which say nothing
    used = set(re.findall(r"var\(--([\w-]+)\)", rules))
    assert used == set(variables("light")) == set(variables("dark"))
