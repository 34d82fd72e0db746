"""Dialects of CSV and TSV: delimiters, escapes and quotes, which go out as they came."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from helpers import Command, new_session
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb import Limits
from lshdb.model import Document

TEXT = "the ferry to the islands runs every hour"
FIELDS = [("a", TEXT), ("b", TEXT), ("c", "another text, of words")]


@pytest.mark.app("dedup")
@pytest.mark.parametrize(
    ("start", "delimiter", "options"),
    [
        ("sep=;\n", ";", []),
        ("\ufeffsep=|\r\n", "|", []),
        ('"SEP=,"\n', ",", []),
        ("", "|", ["--delimiter", "|"]),
        ("sep=;\n", "|", ["--delimiter", "|"]),
        ("", "\t", ["--delimiter", "\\t"]),
    ],
)
def test_a_delimiter_that_is_named(
    command: Command, start: str, delimiter: str, options: list[str]
) -> None:
    end = "\r\n" if "\r" in start else "\n"
    lines = [f'{key}{delimiter}"{text}"{end}' for key, text in [("id", "text"), *FIELDS]]
    command.write("a.csv", (start + "".join(lines)).encode())
    command.done("dedup", "a.csv", "-o", "b.csv", *options)
    kept = start + "".join((lines[0], lines[1], lines[3]))
    if delimiter != "\t":  # as before, tabs of CSV become commas
        assert command.path("b.csv").read_bytes() == kept.encode()
    command.done("add", "a.csv", *options)
    assert command.keys() == ["a", "b", "c"]


@pytest.mark.app("dedup")
def test_an_escape_that_is_named(command: Command) -> None:
    quoted = 'he said \\"go\\", then ' + TEXT
    rows = f'id,text\n1,"{quoted}"\n2,"{quoted} at"\n3,"back\\\\slash"\n'
    command.write("a.csv", rows)
    command.done("dedup", "a.csv", "-o", "b.csv", "--threshold", "0.5", "--escape", "\\")
    assert command.path("b.csv").read_text() == rows.replace(f'2,"{quoted} at"\n', "")
    command.done("add", "a.csv", "--escape", "\\")
    contents: dict[Any, Any] = dict(command.rows("SELECT key, content FROM documents"))
    assert contents["1"] == f'he said "go", then {TEXT}'
    assert contents["3"] == "back\\slash"
    command.done("dedup", "a.csv", "-o", "c.csv", "--cut", "4", "--escape", "\\")
    rest = [rows.splitlines()[0], rows.splitlines()[1], "2, at", rows.splitlines()[3]]
    assert command.path("c.csv").read_text().splitlines() == rest


def texts(*marks: str) -> st.SearchStrategy[list[list[str]]]:
    """Pairs of texts of some marks, that are not blank at their ends."""
    text = st.lists(st.sampled_from(["a", "b ", *marks]), max_size=6).map("".join)
    return st.lists(st.tuples(text, text).map(lambda pair: [*pair]), min_size=1, max_size=6)


def read(data: bytes) -> list[Any]:
    """The documents of a TSV, without their keys, read in small blocks."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "x.tsv")
        path.write_bytes(data)
        session = new_session(False, limits=Limits(block_bytes=50))
        return [
            [item.content, (item.metadata or {})["note"]] if isinstance(item, Document) else item
            for item in session.read([str(path)])
        ]


def numbered(pairs: list[list[str]]) -> list[list[str]]:
    return [[str(number), *pair] for number, pair in enumerate(pairs)]


NAMES = ["id", "text", "note"]


@pytest.mark.app("dedup")
@example([["a\n1\tb\tc", ""]], True)
@example([['"\n"', "a\r\n"], ['""', '"']], False)
@given(texts('"', "\t", "\n", "\r\n"), st.booleans())
def test_tsv_of_pandas_is_read_exactly(pairs: list[list[str]], has_tab: bool) -> None:
    pandas = pytest.importorskip("pandas")
    # A field with a tab in it shows that the file has quotes: then a line within a text may look
    # like a row.
    pairs = [*pairs, ["of\ttab", "c"]] if has_tab else pairs
    data = pandas.DataFrame(numbered(pairs), columns=NAMES).to_csv(sep="\t", index=False)
    like_rows = all(line.count("\t") == 2 for line in data.removesuffix("\n").split("\n"))
    assert read(data.encode()) == pairs or (like_rows and not has_tab)


@pytest.mark.app("dedup")
@example([['"Hello" she said', 'a "b"'], ['"Hello', 'b"'], ['""a', '"'], ['b"', '"a']])
@given(texts('"', "'"))
def test_quotes_between_tabs_are_text(pairs: list[list[str]]) -> None:
    data = "".join("\t".join(row) + "\n" for row in [NAMES, *numbered(pairs)])

    def unquoted(text: str) -> str:
        inner = text[1:-1].replace('""', "")
        is_quoted = len(text) > 1 and text[0] + text[-1] == '""' and '"' not in inner
        return text[1:-1].replace('""', '"') if is_quoted else text

    assert read(data.encode()) == [[*map(unquoted, pair)] for pair in pairs]


def test_a_name_of_a_column_may_have_several_lines(command: Command) -> None:
    command.write("a.tsv", 'id\ttext\t"two\nlines"\n1\ta text of words\tx\n')
    command.done("add", "a.tsv")
    assert command.rows("SELECT metadata FROM documents") == [('{"two\\nlines":"x"}',)]


@pytest.mark.app("dedup")
def test_rows_of_tsv_go_out_as_they_came(command: Command) -> None:
    rows = [
        "id\ttext\n",
        f'1\t"Hello" she said {TEXT}\n',
        f'2\t"of ""two""\tlines\nand {TEXT}"\n',
        '3\t"Hello\n',
        f'4\tagain "Hello" she said, {TEXT}\n',
        '5\tworld"\n',
    ]
    command.write("a.tsv", "".join(rows))
    kept = "".join(rows[:4] + rows[5:])
    command.done("dedup", "a.tsv", "-o", "b.tsv", "--threshold", "0.7")
    assert command.path("b.tsv").read_text() == kept
    lshdb.dedup(str(command.path("a.tsv")), threshold=0.7).save(command.path("c.tsv"))
    assert command.path("c.tsv").read_text() == kept
    # As CSV and back the values are the same.
    command.done("dedup", "b.tsv", "-o", "b.csv")
    command.done("add", "b.csv")
    command.done("add", "b.tsv", says="added 0, updated 0, unchanged 4, failed 0\n")


@pytest.mark.app("dedup")
@pytest.mark.parametrize(
    ("name", "options", "row", "text"),
    [
        ("a.tsv", ["--quotes", "none"], '1\t"a "" b"\n', '"a "" b"'),
        ("a.tsv", ["--quotes", "csv"], '1\t"a\n2\tb"\n', "a\n2\tb"),
        ("a.csv", ["--quotes", "none", "--delimiter", "|"], '1|"a, b\n', '"a, b'),
        ("a.csv", ["--quotes", "csv", "--delimiter", "|"], '1|"a\n2|b"\n', "a\n2|b"),
    ],
)
def test_quotes_that_are_named(
    command: Command, name: str, options: list[str], row: str, text: str
) -> None:
    data = row.replace("1", "id", 1)[:3] + f"text\n{row}"
    command.write(name, data)
    command.done("add", name, *options)
    assert command.rows("SELECT content FROM documents") == [(text,)]
    command.done("dedup", name, "-o", f"out-{name}", *options)
    assert command.path(f"out-{name}").read_text() == data


@pytest.mark.app("dedup")
def test_a_quote_that_never_closes_costs_its_row_or_says_what_was_not_read(
    command: Command,
) -> None:
    rows = [f'{number},"{TEXT} {number}"\n' for number in range(9)]
    rows[4] = '4,"' + TEXT + "\n"
    command.write("a.csv", "id,text\n" + "".join(rows))
    done = command("dedup", "a.csv", "-o", "b.csv", "--threshold", "1")
    assert "a.csv:6: not CSV: ',' expected after '\"'\nkept 8, dropped 0, failed 1" in done.err
    # What follows are no rows, but lines of a text that is cut off.
    command.write("a.csv", "id,text\n" + "".join(rows[:5]) + "and then, of\nthe text")
    done = command("dedup", "a.csv", "-o", "b.csv", "--threshold", "1")
    why = "a.csv:6: not CSV: a quote that is not closed; 2 lines after it were not read\n"
    assert why in done.err


@pytest.mark.app("dedup")
def test_a_text_of_lines_that_is_cut_stays_quoted(command: Command) -> None:
    rows = [f'{number},"{TEXT}\n{words}"\n' for number, words in enumerate(["from one", "by two"])]
    command.write("a.csv", "id,text\n" + "".join(rows))
    command.done("dedup", "a.csv", "-o", "b.csv", "--cut", "5")
    assert command.path("b.csv").read_text().endswith('1,"\nby two"\n')
