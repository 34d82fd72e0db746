"""Short facts made from a seed, each with a paraphrase and with a fact that differs in one detail.

A fact is a sentence such as an agent remembers: who lives where, what costs how much, which
version of what runs where. Its paraphrase says the same in another sentence. Its `near` fact has
the same words but for a name, a city, a number or a date: similar, and not the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

_FIRST = "Ann Ben Clara David Elena Farid Grace Hugo Ines Jonas Kavya Liam Mara Noor Oscar Petra"
_LAST = "Alvarez Brandt Chen Dubois Eriksen Fischer Garcia Haddad Ivanov Jensen Kowalski Lindqvist"
_CITIES = "Berlin Munich Oslo Lisbon Nairobi Toronto Osaka Lima Warsaw Dublin Cairo Seattle Hanoi"
_COMPANIES = "Nordwind Bluefin Acorn Helios Quartz Meridian Tamarind Sextant Lattice Juniper"
_THINGS = "laptop|camera|bicycle|standing desk|coffee machine|headset|projector|tent|violin|printer"
_JOBS = "nurse|data engineer|architect|teacher|accountant|chemist|translator|pilot|lawyer|baker"
_PROGRAMS = "billing service|search index|mail gateway|payment queue|image cache|login server"
_FOODS = "peanuts|shellfish|gluten|lactose|strawberries|soy|celery|mustard"
_MONTHS = "January February March April May June July August September October November December"

_SENTENCES: tuple[tuple[str, ...], ...] = (
    (
        "{person} has lived in {city} since {year}.",
        "Since {year}, {person} lives in {city}.",
        "{person} moved to {city} in {year} and has lived there since.",
    ),
    (
        "{person} works as a {job} at {company} in {city}.",
        "{company} employs {person} as a {job} in its office in {city}.",
        "At {company}, {city}, {person} is a {job}.",
    ),
    (
        "The {thing} costs {price} euros at {company}.",
        "{company} sells the {thing} for {price} euros.",
        "At {company} you pay {price} EUR for the {thing}.",
    ),
    (
        "{person}'s birthday is on {day} {month}.",
        "{person} was born on {month} {day}.",
        "On {day} {month} {person} has a birthday.",
    ),
    (
        "The {program} runs version {major}.{minor}.{patch} on port {port}.",
        "Version {major}.{minor}.{patch} of the {program} listens on port {port}.",
        "On port {port} there is the {program}, version {major}.{minor}.{patch}.",
    ),
    (
        "{person} is allergic to {food}.",
        "{person} must not eat {food}, because of an allergy.",
        "Do not give {food} to {person}, who has an allergy.",
    ),
    (
        "The meeting with {company} is on {day} {month} at {hour}:{minute} in {city}.",
        "We meet {company} in {city} on {month} {day}, {hour}:{minute}.",
        "On {day} {month}, {hour}:{minute}, there is a meeting with {company} in {city}.",
    ),
    (
        "{person} prefers the train from {city} to {other} over the plane.",
        "From {city} to {other}, {person} would rather take the train than fly.",
        "{person} likes to go from {city} to {other} by train, not by plane.",
    ),
)
"""Sentences that say the same, by what they say."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, a paraphrase of it, and a fact that differs in one detail."""

    key: str
    text: str
    paraphrase: str
    near: str


def facts(count: int, seed: int = 1) -> Iterator[Fact]:
    """Facts with keys from 1 on, no two of the same text."""
    draw = random.Random(seed)
    seen: set[str] = set()
    while len(seen) < count:
        sentences = draw.choice(_SENTENCES)
        details = _details(draw)
        text = sentences[0].format(**details)
        if text in seen:
            continue
        seen.add(text)
        paraphrase = draw.choice(sentences[1:]).format(**details)
        yield Fact(str(len(seen)), text, paraphrase, _near(sentences[0], text, details, draw))


def _near(sentence: str, text: str, details: dict[str, str], draw: random.Random) -> str:
    """The same sentence with one other detail."""
    names = [name for name in details if "{" + name + "}" in sentence]
    while True:
        name, others = draw.choice(names), _details(draw)
        near = sentence.format(**details | {name: others[name]})
        if near != text:
            return near


def _details(draw: random.Random) -> dict[str, str]:
    city, other = draw.sample(_CITIES.split(), 2)
    chosen = {
        "person": f"{draw.choice(_FIRST.split())} {draw.choice(_LAST.split())}",
        "city": city,
        "other": other,
        "company": draw.choice(_COMPANIES.split()),
        "thing": draw.choice(_THINGS.split("|")),
        "job": draw.choice(_JOBS.split("|")),
        "program": draw.choice(_PROGRAMS.split("|")),
        "food": draw.choice(_FOODS.split("|")),
        "month": draw.choice(_MONTHS.split()),
    }
    ranges = {"year": (1990, 2025), "price": (5, 2_000), "day": (1, 28), "major": (1, 9)}
    ranges |= {"minor": (0, 20), "patch": (0, 30), "port": (1_024, 9_999), "hour": (8, 18)}
    chosen |= {name: str(draw.randint(*ends)) for name, ends in ranges.items()}
    return chosen | {"minute": draw.choice(("00", "15", "30", "45"))}
