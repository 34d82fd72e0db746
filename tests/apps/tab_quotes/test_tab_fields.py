"""Fields between tabs, by the rules of CSV and as they are."""

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
