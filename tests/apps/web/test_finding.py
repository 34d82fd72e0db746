"""The search box for parts of keys and words of contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")

from helpers import database_of

from lshdb.apps.web import page_file, views

TEXTS = {
    "fox": "The quick brown fox's résumé",
    "dog": "A lazy dog, quickly asleep; NOT near a fox",
    "ant": "An ant and 'a grasshopper' -- {} \\ <b>",
}


def find(path: Path, q: str, **given: str) -> dict[str, Any]:
    with page_file.opened(path) as db:
        return views.find(views.Visit(db, "lsh", {"q": q, **given})).data


@pytest.mark.parametrize(
    ("q", "keys"),
    [
        ("UICK", {"fox", "dog"}),
        ("quick brown", {"fox"}),
        ("fox LAZY", {"dog"}),
        ("\\ <b>", {"ant"}),
        *((q, set()) for q in ("fox*", 'fox" OR "dog', "\0", "%", "a" * 5_000)),
    ],
)
def test_documents_are_found_that_have_all_words(path: Path, q: str, keys: set[str]) -> None:
    database_of(path, TEXTS, threshold=0.5).close()
    assert {hit["key"] for hit in find(path, q)["hits"]} == keys


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_are_found_in_either_form(path: Path, form: Literal["NFC", "NFD"]) -> None:
    written = normalize(form, "Die Fähre")
    database_of(path, {normalize("NFD", "fähre 1"): written, "fähre 2": written}).close()
    for q in ("Fähre", normalize("NFD", "FÄHRE".lower())):
        page = find(path, q)
        assert len(page["keys"]) == len(page["hits"]) == 2
        marked = [text for hit in page["hits"] for text, is_word in hit["pieces"] if is_word]
        assert marked == ["Fähre"] * 2


def test_a_whole_key_leads_to_its_document(path: Path) -> None:
    with database_of(path, TEXTS) as db:
        page = views.find(views.Visit(db, "lsh", {"q": "fox"}))
        assert page.redirect == ("document", {"key": "fox"})
        assert find(path, "FO")["keys"] == ["fox"]
