"""Spreadsheets are tables wherever rows are read: by the command, the library and as references."""

from __future__ import annotations

import datetime
import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from helpers import Command

import lshdb

ROWS: list[dict[str, Any]] = [
    {"id": 1, "text": "the fox and the grapes", "n": 1.5, "day": "2024-01-02", "no": None},
    {"id": 2, "text": "The fox, and the grapes!", "n": None, "day": "2024-01-03", "no": None},
    {"id": 3, "text": "the ant and the dove", "n": 7, "day": None, "no": True},
]
KEPT = [ROWS[0], ROWS[2]]


def write(path: Path) -> None:
    """Two sheets; in the first, a row and a column are blank."""
    frame = pd.DataFrame([*ROWS[:2], dict.fromkeys(ROWS[0]), ROWS[2]]).astype(object)
    frame["day"] = [
        d and datetime.date.fromisoformat(d) for d in frame["day"].replace(float("nan"), None)
    ]
    other = pd.DataFrame([{"key": "x", "body": ROWS[0]["text"]}])
    with pd.ExcelWriter(path, engine="odf" if path.suffix == ".ods" else "openpyxl") as writer:
        frame.to_excel(writer, sheet_name="of rows", index=False)
        other.to_excel(writer, sheet_name="b#c", index=False)


def test_sheets_are_tables_at_all_doors(command: Command) -> None:
    write(command.path("a.xlsx"))
    done = command.done("dedup", "a.xlsx", "-o", "out.parquet", "--dropped", "-")
    assert json.loads(done.out)["line"] == 3
    assert pq.read_table(command.path("out.parquet")).to_pylist() == KEPT
    path = str(command.path("a.xlsx"))
    result = lshdb.dedup(path)
    result.save(command.path("saved.jsonl"))
    lines = command.path("saved.jsonl").read_text().splitlines()
    assert (result.kept, [*map(json.loads, lines)]) == (KEPT, KEPT)
    against = ("--against", "a.xlsx#b#c:text=body", "--only-against", "-o", "new.jsonl")
    assert "dropped 2" in command.done("dedup", "a.xlsx#of rows", *against).err
    command.write("folder/b.jsonl", [{"id": 9, "text": "other words than those"}])
    command.path("a.xlsx").rename(command.path("folder/a.xlsx"))
    command.done("dedup", "folder", "-o", "clean/")
    assert command.path("clean/a.xlsx.jsonl").read_text().splitlines() == lines
    # A file of a folder is a document, unless its rows are asked for.
    command.done("add", "folder", says="added 2, updated 0, unchanged 0, failed 0\n")
    command.done("add", "folder/a.xlsx", "--format", "xlsx")
    command.done("add", "folder/a.xlsx#of rows", says="added 0, updated 0, unchanged 3, failed 0\n")
    assert command.keys() == ["1", "2", "3", "9", "folder/a.xlsx"]


def test_blank_cells_of_opendocument_keep_their_columns(command: Command) -> None:
    """LibreOffice writes blank cells once, with how often they are repeated."""
    write(command.path("a.ods"))
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    blanks = '<table:table-cell table:number-columns-repeated="{}"/>'
    text = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    rows = [
        [*map(text.format, ("id", "p", "q", "text")), blanks.format(16380)],
        [text.format("a"), blanks.format(2), text.format(ROWS[0]["text"]), blanks.format(16380)],
    ]
    last = f'<table:table-row table:number-rows-repeated="1048574">{blanks.format(16384)}'
    table = "</table:table-row>".join(
        ["<table:table-row>" + "".join(row) for row in rows] + [last, ""]
    )
    names = (f'xmlns:{name}="{office}{name}:1.0"' for name in ("office", "table", "text"))
    content = (
        f"<office:document-content {' '.join(names)}><office:body><office:spreadsheet>"
        f'<table:table table:name="S">{table}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with (
        zipfile.ZipFile(command.path("a.ods")) as old,
        zipfile.ZipFile(command.path("b.ods"), "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, content if name == "content.xml" else old.read(name))
    assert lshdb.dedup(str(command.path("a.ods"))).kept == KEPT
    row = {"id": "a", "p": None, "q": None, "text": ROWS[0]["text"]}
    assert lshdb.dedup(str(command.path("b.ods"))).kept == [row]


def test_sheets_that_cannot_be_read_are_named(command: Command) -> None:
    write(command.path("a.xlsx"))
    command.write("c.xlsx", b"no sheets")
    far = pd.DataFrame([ROWS[0]])
    with pd.ExcelWriter(command.path("far.xlsx"), engine="openpyxl") as writer:
        far.to_excel(writer, index=False)
        writer.sheets["Sheet1"]["XFD1048576"] = "far"
    pd.DataFrame().to_excel(command.path("empty.xlsx"), index=False)
    for name, why in {
        "a.xlsx#b#c": "a.xlsx#b#c: no field 'text': name it with --text-field (the columns are key",
        "a.xlsx#d": "a.xlsx#d: no sheet 'd': it has 'of rows', 'b#c'",
        "c.xlsx": "c.xlsx: no sheets that can be read",
        "empty.xlsx": "empty.xlsx: an empty sheet: its first row must name the columns",
        "far.xlsx": "far.xlsx: the library that reads it crashed, or took too much memory",
        "none.xlsx#a": "none.xlsx: no such file",
    }.items():
        done = command("dedup", name, "-o", "out.jsonl")
        assert (done.status, why in done.err) == (1, True), done.err
        assert not command.path("out.jsonl").exists()
    command.write("folder/a.xlsx", command.path("a.xlsx").read_bytes())
    said = command.without("python_calamine", "dedup", "folder", "-o", "out.jsonl")
    assert "folder: no table in it" in said
    said = command.without("python_calamine", "dedup", "a.xlsx", "-o", "out.jsonl")
    assert said.startswith("lshdb: a.xlsx: sheets: needs pip install '.[documents]'")
