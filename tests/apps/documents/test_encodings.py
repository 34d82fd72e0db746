"""Texts that are not UTF-8 and do not say what they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers import Command

import lshdb
from lshdb.apps.documents.extraction.guessing import guess
from lshdb.database import store_of
from lshdb.store.rows import FileState

GERMAN = "Die Fähre über den großen Fluß fährt im Mai täglich, außer bei Sturm und Hochwasser.\n"
TEXTS = {
    "latin.txt": (GERMAN, "latin-1"),
    "koi.txt": ("Паром уходит с острова каждый день в полдень, кроме воскресенья.\n", "koi8-r"),
    "sjis.txt": ("渡し船は毎日正午に島を出ます。嵐の日は休みです。\n", "shift_jis"),
    "big5.txt": ("渡輪每天中午離開島嶼，暴風雨的日子除外。\n", "big5"),
    "utf8.txt": (GERMAN, "utf-8"),
}


def stored(command: Command) -> dict[str, tuple[str, str | None]]:
    sql = "SELECT key, content, extracted FROM documents LEFT JOIN files USING (doc_id)"
    rows: Any = command.rows(sql)
    return {key.removeprefix("d/"): (content, extracted) for key, content, extracted in rows}


@pytest.mark.app("folders")
def test_encodings_are_guessed_once(command: Command) -> None:
    for name, (words, encoding) in TEXTS.items():
        command.write(f"d/{name}", words.encode(encoding))
    # Bytes that damage UTF-8 are replaced, and a few bytes are not guessed from.
    command.write("d/damaged.txt", GERMAN.encode() + b"\xff")
    command.write("d/short.txt", b"caf\xe9")
    done = command.done("sync", "d", "--list-skipped")
    assert "d/koi.txt: read as koi8-r, a guess\n" in done.err
    assert "read in an encoding that is guessed: 4 (--list-skipped names them)" in done.err
    assert "not UTF-8: 2, bad bytes replaced" in done.err
    found = stored(command)
    assert {name: found[name][0] for name in TEXTS} == {n: words for n, (words, _) in TEXTS.items()}
    assert json.loads(str(found["koi.txt"][1]))["encoding"] == "koi8-r"
    assert found["utf8.txt"][1] is found["damaged.txt"][1] is None
    # What is stored is used, although another guess would be made now.
    old = json.dumps({"by": "an older one", "encoding": "cp1251"})
    root = str(command.directory)
    with lshdb.open(command.path("lsh.db")) as db:
        (file,) = store_of(db).files_of_keys(["d/latin.txt"])
        store_of(db).set_files([(file.doc_id, FileState(1, 1, old))])
        report = db.sync([f"{root}/d"], root=root)
        assert (report.updated, report.guessed, report.damaged) == (1, 1, 0)
        text = GERMAN.encode("latin-1").decode("cp1251")
        assert stored(command)["latin.txt"] == (text, old)
        assert db.sync([f"{root}/d"], root=root, extract_again=True).updated == 1
        assert stored(command)["latin.txt"][0] == GERMAN
        # It has a mark now.
        command.write("d/latin.txt", GERMAN.encode("utf-16"))
        assert db.sync([f"{root}/d"], root=root).updated == 0
        assert stored(command)["latin.txt"] == (GERMAN, None)


@pytest.mark.extra("documents")
def test_what_is_named_or_strict_is_not_guessed(command: Command) -> None:
    command.write("d/a.txt", GERMAN.encode("latin-1"))
    command.write("d/b.txt", GERMAN.encode("utf-16"))
    command.done("add", "d", "--encoding", "cp1252")
    assert [content for content, _ in stored(command).values()] == [GERMAN, GERMAN]
    assert "not UTF-8 at byte" in command("add", "-d", "b.db", "d/a.txt", "--strict").err

    rows = b'{"id": 1, "text": "' + GERMAN.strip().encode("latin-1") + b'"}\n'
    command.write("rows.jsonl", rows)
    assert "not UTF-8: 1, bad bytes replaced" in command.done("add", "rows.jsonl").err


def test_without_the_library_bad_bytes_are_replaced_with_a_note(command: Command) -> None:
    command.write("d/a.txt", GERMAN.encode("latin-1"))
    said = command.without("chardet", "add", "d", "none")
    assert "not UTF-8: 1, bad bytes replaced" in said
    assert "to have the encodings of texts guessed: pip install '.[documents]'" in said


@pytest.mark.extra("documents")
@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("café déjà vu ÿ þ", "cp1252"),
        ("mówił Łukasz", "cp1250"),
        ("паром Windows-программы IT-отдела уходит", "cp1251"),
        ("Το πλοίο φεύγει με 10 kΩ", "cp1253"),
    ],
)
def test_a_word_has_the_letters_of_one_script(words: str, encoding: str) -> None:
    guessed = guess(f"{words}\n".encode(encoding) * 20)
    assert guessed is not None
    assert guessed.text == f"{words}\n" * 20
