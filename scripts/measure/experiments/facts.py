"""Which setting tells facts of one form apart, and still finds one that is stored already.

    python scripts/measure experiments.facts

Two hundred made facts of five forms, such as "Ann Berg has lived in Paris since 2019.", are stored
one after the other by `add_unless_similar`. The first column counts those that are answered with
others. Then each fact is asked for with a letter left out, in other words for its form, and with
one detail changed; these columns count how many of 200 find the stored one.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import lshdb

_FIRST: Final = [
    "Ann",
    "Ben",
    "Cleo",
    "Dan",
    "Eva",
    "Finn",
    "Gita",
    "Hugo",
    "Ines",
    "Jack",
    "Karl",
    "Lena",
    "Mona",
    "Nils",
    "Olga",
    "Paul",
]
_LAST: Final = [
    "Berg",
    "Costa",
    "Dumas",
    "Evans",
    "Fischer",
    "Garcia",
    "Hansen",
    "Jones",
    "Klein",
    "Lopez",
    "Meyer",
    "Novak",
]
_DETAILS: Final = {
    "city": [
        "Berlin",
        "Munich",
        "Paris",
        "Oslo",
        "Madrid",
        "Lisbon",
        "Vienna",
        "Prague",
        "Rome",
        "Dublin",
        "Athens",
    ],
    "job": [
        "nurse",
        "teacher",
        "pilot",
        "baker",
        "lawyer",
        "painter",
        "plumber",
        "chemist",
        "farmer",
        "editor",
    ],
    "food": [
        "peanuts",
        "shrimp",
        "gluten",
        "lactose",
        "apples",
        "kiwis",
        "soy",
        "eggs",
        "sesame",
        "mustard",
    ],
}
_FORMS: Final = {
    "{who} has lived in {city} since {year}.": "{who} lives in {city} since {year}",
    "{who} works as a {job} in {city}.": "{who} is a {job} in {city}",
    "{who} is allergic to {food}.": "{who} has an allergy to {food}",
    "{who}'s birthday is on {day} May.": "{who}'s birthday: {day} May",
    "{who} prefers to meet at {hour} o'clock.": "{who} likes to meet at {hour} o'clock",
}
_SETTINGS: Final[Mapping[str, dict[str, Any]]] = {
    "--for short-text": {"purpose": "short-text"},
    "--for short-text --threshold 0.7": {"purpose": "short-text", "threshold": 0.7},
    "--for records": {"purpose": "records"},
    "--for records --threshold 0.7": {"purpose": "records", "threshold": 0.7},
    "--for records --threshold 0.8": {"purpose": "records", "threshold": 0.8},
}


def made_facts(rng: random.Random, count: int = 200) -> dict[str, str]:
    """Distinct facts, each with the same one in other words."""
    facts: dict[str, str] = {}
    while len(facts) < count:
        values = {name: rng.choice(words) for name, words in _DETAILS.items()}
        values["who"] = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
        numbers = {"year": rng.randint(1985, 2024), "day": rng.randint(1, 31)}
        form, other = rng.choice([*_FORMS.items()])
        values |= {name: str(number) for name, number in numbers.items()}
        values["hour"] = str(rng.randint(8, 19))
        facts[form.format(**values)] = other.format(**values)
    return facts


def with_typing_error(text: str, rng: random.Random) -> str:
    """A letter left out."""
    place = rng.randrange(3, len(text) - 3)
    return text[:place] + text[place + 1 :]


def with_other_detail(text: str, rng: random.Random) -> str:
    """One name, or else the number, changed."""
    for words in _DETAILS.values():
        for word in words:
            if word in text:
                return text.replace(word, rng.choice([other for other in words if other != word]))
    return re.sub(r"\d+", lambda number: str(int(number[0]) + 1), text)


def main() -> None:
    """Print a table: a row for each setting."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    rng = random.Random(3)
    facts = made_facts(rng)
    asked: Mapping[str, Callable[[str], str]] = {
        "a letter left out": lambda text: with_typing_error(text, rng),
        "in other words": facts.__getitem__,
        "another detail": lambda text: with_other_detail(text, rng),
    }
    print("|".join(["", "file ", " answered with others ", *asked, ""]))
    with tempfile.TemporaryDirectory() as directory:
        for number, (name, settings) in enumerate(_SETTINGS.items()):
            with lshdb.open(Path(directory) / f"{number}.db", **settings) as db:
                similar = 0
                for key, text in enumerate(facts):
                    if db.add_unless_similar(key, text).outcome == "similar":
                        similar += 1
                        db.add_unless_similar(key, text, force=True)
                found = [
                    sum(
                        str(key) in {match.key for match in db.query(change(text), top=5)}
                        for key, text in enumerate(facts)
                    )
                    for change in asked.values()
                ]
            print(f"| `{name}` | {similar} | {' | '.join(map(str, found))} |")


if __name__ == "__main__":
    main()
