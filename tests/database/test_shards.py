"""Several files asked as if they were one."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest
from helpers import Command, database_of, text_families

import lshdb
from lshdb.options import QueryOptions
from lshdb.shards import opened, query_files

TEXTS = text_families(seed=3, families=40, copies=4, words=40, most_edits=8)
THRESHOLD = 0.3


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The same documents in whole.db, and in three files of shards/."""
    parts: dict[str, list[tuple[str, str]]] = {"whole.db": sorted(TEXTS.items())}
    for key, text in sorted(TEXTS.items()):
        parts.setdefault(f"shards/{crc32(key.encode()) % 3}.db", []).append((key, text))
    (tmp_path / "shards").mkdir()
    for name, documents in parts.items():
        database_of(tmp_path / name, documents, threshold=THRESHOLD).close()
    return [tmp_path / name for name in sorted(parts)]


@pytest.mark.parametrize(
    "options", [{}, {"top": 3}, {"containment": True}, {"estimate": True}, {"threshold": 0.7}]
)
def test_shards_answer_as_one_file_does(files: list[Path], options: dict[str, float]) -> None:
    whole = files[-1]
    with lshdb.open(whole) as db, opened(whole.parent / "shards" / "*.db") as shards:
        for key in list(TEXTS)[::17]:
            for asked in ({"key": key}, {"content": TEXTS[key] + " more"}):
                one = db.query(**asked, **options)  # type: ignore[call-overload]
                several = query_files(shards, QueryOptions(**asked, **options))  # type: ignore[call-overload]
                assert [_rank(match) for match in one] == [_rank(match) for match in several]
                if "top" not in options:
                    assert set(several) == set(one)


def _rank(match: lshdb.Match) -> tuple[float, ...]:
    """What matches are ordered by; equal ones come in the order of addition, here or there."""
    if match.containment is not None:
        return match.containment, match.similarity
    return match.similarity, match.estimate


@pytest.mark.usefixtures("files")
def test_the_command_takes_a_pattern(tmp_path: Path) -> None:
    run = Command(tmp_path)
    key = next(iter(TEXTS))
    run.write("rows.jsonl", ({"id": key, "text": TEXTS[key]} for key in [*TEXTS][::30]))
    for asked in (["--key", key, "--json"], ["rows.jsonl", "--top", "1"]):
        whole = run.done("query", "-d", "whole.db", *asked)
        assert run.done("query", "-d", "shards/*.db", *asked) == whole
        assert whole.lines
    assert run.fails("query", "-d", "shards/*.sqlite", "--text", "x") == (
        "no file matches shards/*.sqlite"
    )
    assert run.fails("query", "-d", "shards/*.db", "--key", "?") == "no document has the key '?'"
    # A name with a star is a name first.
    run.done("add", "-d", "whol*.db", "-", stdin='{"id": "own", "text": "its own text"}')
    assert run.done("query", "-d", "whol*.db", "--text", "its own text").out.endswith("own\n")


def test_files_of_two_collections_are_no_shards(tmp_path: Path) -> None:
    for name, threshold in (("a.db", 0.7), ("b.db", 0.8)):
        lshdb.open(tmp_path / name, threshold=threshold).close()
    refused = pytest.raises(lshdb.SettingsMismatch, match=r"b\.db has other settings than .*a\.db")
    with refused, opened(tmp_path / "*.db"):
        pass


def test_without_contents_a_key_says_too_little(tmp_path: Path) -> None:
    for path in (tmp_path / "a.db", tmp_path / "b.db"):
        database_of(path, {path.name: "the fox and the grapes"}, content=False).close()
    with opened(tmp_path / "*.db") as files:
        with pytest.raises(lshdb.UsageError, match="keep no contents"):
            query_files(files, QueryOptions(key="b.db"))
        found = query_files(files, QueryOptions("the fox and the grapes"))
    assert [(match.key, match.exact) for match in found] == [("a.db", False), ("b.db", False)]
