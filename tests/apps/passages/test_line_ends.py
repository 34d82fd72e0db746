"""Words that line ends break are whole for passages and reworded copies."""

from __future__ import annotations

import random
import re
from pathlib import Path

import oracles
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lshdb
from lshdb.apps.passages import line_ends
from lshdb.text import shingles


def whole(text: str) -> str:
    """The joined text without the signs in place of breaks."""
    return line_ends.joined(text).replace("\u00ad", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inter-\nnational", "international"),
        ("a re-\r\n\t con-\n  struction", "a reconstruction"),
        ("in\u2010\nter\u00ad\nnational", "international"),
        # A word of its own elsewhere, in any case, or both halves.
        ("Well-\nknown, known WELL", "Well-\nknown, known WELL"),
        ("every-\nthing: every thing, Everything", "everything: every thing, Everything"),
        ("inter-\nnational; a national one", "international; a national one"),
        ("inter-\nnational, inter-\nnational", "international, international"),
        # Marks belong to letters; halves are compared as folded.
        ("cafe\u0301-\nte\u0301ria", "cafe\u0301te\u0301ria"),
        ("\u0939\u093f-\n\u0928\u094d\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        ("STRA-\nSSE, stra\u00dfe, stra, sse", "STRASSE, stra\u00dfe, stra, sse"),
        # No break of a word.
        ("1914-\n1918", "1914-\n1918"),
        ("a dash -\nand more --\nand", "a dash -\nand more --\nand"),
        ("one-\n\ntwo", "one-\n\ntwo"),
        ("- item\n- item", "- item\n- item"),
        ("-\n", "-\n"),
    ],
)
def test_breaks_by_the_words_of_the_text_alone(text: str, expected: str) -> None:
    assert whole(text) == expected


PIECES = st.sampled_from(
    [
        *(
            "ab",
            "CD",
            "abcd",
            "\xe9",
            "e\u0301",
            "\ufb01",
            "x1",
            "7",
            "\u0663",
            "\xbd",
            "\u5b57",
            "\u0e01",
        ),
        *(
            "-",
            "-\n",
            "-\n",
            "\u2010\r\n ",
            "\xad\n\t",
            "\xad",
            "\u200d",
            "\u0301",
            "\n",
            " ",
            "_",
            "\0",
        ),
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join))
@example("ab-\ncd ab-\ncd abcd cd ab")
def test_words_are_whole_as_by_the_plainest_code(text: str) -> None:
    joined, expected = line_ends.joined(text), oracles.with_whole_words(text)
    assert oracles.words(joined) == oracles.words(expected)
    assert oracles.collapsed(joined) == oracles.collapsed(expected)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_offsets_stay_and_blocks_change_nothing(text: str) -> None:
    joined = line_ends.joined(text)
    assert len(joined) == len(text)
    changed = [at for at, (a, b) in enumerate(zip(text, joined, strict=True)) if a != b]
    assert all(joined[at] == "\u00ad" and text[at] in "-\u2010\r\n " for at in changed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(shingles.BLOCK, "word", 1)
        assert line_ends.joined(text) == joined


def _broken(words: list[str], random_source: random.Random) -> str:
    """The words in lines, where every third line end breaks a word."""
    lines, text = 0, ""
    for word in words:
        if len(text) - text.rfind("\n") > 40 and len(word) > 5:
            lines += 1
            at = random_source.randrange(2, len(word) - 2)
            text += f"{word[:at]}-\n{word[at:]} " if lines % 3 else f"\n{word} "
        else:
            text += f"{word} "
    return text


@pytest.mark.parametrize("shingle", ["word:3", "char:8"])
def test_a_copy_with_other_line_ends_is_one_passage(tmp_path: Path, shingle: str) -> None:
    source = random.Random(8)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(source.choices(letters, k=source.randint(4, 11))) for _ in range(300)]
    plain, broken = " ".join(words), _broken(words, source)
    assert len(re.findall("-\n", broken)) > 15
    path = tmp_path / "lsh.db"
    with lshdb.open(path, shingle=shingle, passages=8, reworded=True) as database:
        database.add("plain", plain)
        database.add("broken", f"other words before it. {broken}")
        (source_found,) = database.passages(key="plain").sources
        assert source_found.coverage == 1.0
        assert len(source_found.passages) == 1
        passage = source_found.passages[0]
        assert passage.text == plain
        stored = f"other words before it. {broken}"[passage.stored_start : passage.stored_end]
        assert re.sub("-\n", "", stored).split() == words
        (reworded,) = database.passages(key="plain", reworded=True).sources
        assert reworded.key == "broken"
        assert database.check(deep=True).ok
