"""Documents by words in their contents."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import database_of

from lshdb import UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lsh.db"


def test_words_are_searched_for_a_part_at_a_time(path: Path) -> None:
    texts = {str(number): f"The {'FOX' * (number % 3 == 0)} and grapes" for number in range(20)}
    with database_of(path, texts) as db:
        first = db.find_words(["fox", "Grape"], top=3)
        rest = db.find_words(["fox", "Grape"], top=9, after=first.following or 0)
        keys = [key for key, _ in first.documents + rest.documents]
        assert (keys, rest.following) == (["0", "3", "6", "9", "12", "15", "18"], None)
        in_no_time = db.find_words(["fox"], seconds=-1)
        assert (len(in_no_time.documents), in_no_time.following) == (1, 1)


def test_what_cannot_be_searched_is_refused(path: Path) -> None:
    with database_of(path, {"a": "the fox"}, content=False) as db:
        with pytest.raises(UsageError, match="keeps signatures only"):
            db.find_words(["fox"])
        with pytest.raises(UsageError, match="top 0 is below 1"):
            db.find_words(["fox"], top=0)
        with pytest.raises(UsageError, match="after -1 is no doc_id"):
            db.find_words(["fox"], after=-1)
