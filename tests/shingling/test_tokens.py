"""Programs become the same tokens whatever their names and comments, however they are cut."""

from __future__ import annotations

import oracles
import pytest
from helpers import shingle
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.shingling.positions import cut
from lshdb.shingling.shingling import Shingling

PROGRAMS = st.text(st.sampled_from("ab1._ \n\t\\'\"`#/*-[]{;%<!>(\1\2\0\xe9\u4e2d"), max_size=40)


def tokens(text: str) -> str:
    return cut([text], "code").folded.rstrip(b"\0").decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("  \n// only this", ""),
        ("int x1 = 10.5;  // ten\n", "WW=N;"),
        ("a = 'it\\'s' /* not\nthis */ + b;\n", "W=S+W;"),
        ('x = "never ended;\ny = 2;\n', "W=SW=N;"),
        ("x = 2; /* never ended\ny", "W=N;"),
        ("x = 'a\\", "W=S\\"),
        ('def f():\n    """One\n\'two\' """\n    return f"{x}" "y" # z', "WW():SWS"),
        ("#include <a.h>\n#define A 'b'\n", "#W<W.W>#WWS"),
        ("größe = 1..2; a.b(.5)", "W=N..N;W.W(.N)"),
    ],
)
def test_tokens(text: str, expected: str) -> None:
    assert tokens(text) == expected
    assert tokens(text.replace("\n", "\r\n")) == expected


@given(st.lists(PROGRAMS, max_size=6), st.integers(1, 9), st.integers(1, 20))
@example(['"a"' * 3 + "/b*", "\2a", "u'a'"], 1, 2)
def test_programs_in_batches_and_pieces(texts: list[str], size: int, block: int) -> None:
    kind = Shingling("code", size)
    units = cut(texts, "code") if texts else None
    first = 0
    for text in texts:
        alone = cut([text], "code")
        last = first + int(alone.counts[0])
        assert units is not None
        assert units.folded[first:last] == alone.folded[: last - first]
        assert units.starts[first:last].tolist() == alone.starts.tolist()
        spans = zip(alone.starts.tolist(), alone.stops.tolist(), strict=True)
        bounds = [bound for span in spans for bound in span]
        assert bounds == sorted(bounds)
        assert all(0 <= bound <= len(text) for bound in bounds)
        own = shingle([text], kind, 1).hashes.tolist()
        assert shingle([text], kind, 1, block).hashes.tolist() == own
        count = last - first
        assert len(own) == max(count - size + 1, min(count, 1))
        first = last


def test_the_hash_of_a_shingle_is_that_of_its_tokens_as_characters() -> None:
    hashes = shingle(["a = 1;"], Shingling("code", 3), 1).hashes.tolist()
    assert hashes == [oracles.shingle_hash(some, "char", 1) for some in ("W=N", "=N;")]


def test_a_line_of_a_megabyte_is_read_in_pieces() -> None:
    text = "f(a,'b');" * 200_000
    assert len(shingle([text], Shingling("code", 6), 1).hashes) == 7 * 200_000 - 5
