"""Names of two programs that differ in step: where one program has a name, the other has another.

A name counts as renamed within a run of code that both programs have but for names, numbers,
strings and comments, if there it always stands beside the same other name, and that one beside no
third. Keywords and signs are never renamed.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from lshdb.apps.compare.alignment import Run
from lshdb.apps.programs import families, tokens

_SHORTEST = 12
"""Words of the shortest run of code in which names may be renamed."""
_NO_CODE, _SIGN, _NUMBER, _NAME = range(4)
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        False None True abstract and as assert async auto await break case catch char class
        const continue def default defer del delete do double elif else elsif enum except export
        extends extern false final finally float fn for foreach from func function global go
        goto if implements import in inline instanceof int interface is lambda let long loop
        namespace new nil nonlocal not null or pass print private protected public raise return
        self short signed sizeof static struct super switch synchronized then this throw throws
        true try type typedef typename union unless unsigned var virtual void volatile when
        where while with yield
        """,
    )
)
"""Words that languages reserve, in one or another of them."""


@dataclass(frozen=True)
class Code:
    """The words of a program.

    Attributes:
        words: the n words, with those of comments and strings.
        kinds: n numbers that say what each is.
    """

    words: Sequence[str]
    kinds: Sequence[int]

    @classmethod
    def of(cls, text: str, words: Sequence[str], starts: Sequence[int]) -> "Code":
        """Of a text, and the offsets of its words."""
        code = families.blanked(text)
        kinds = [_kind(code[start], word) for word, start in zip(words, starts, strict=True)]
        return cls(words, kinds)

    def code(self, start: int, end: int) -> list[int]:
        """The indices of the words from `start` to before `end` that are code."""
        return [index for index in range(start, end) if self.kinds[index] != _NO_CODE]


def _kind(first: str, word: str) -> int:
    if first.isspace() or first in (tokens.QUOTE, tokens.QUOTED):
        return _NO_CODE
    if word[0].isdigit():
        return _NUMBER
    is_name = (word[0].isalpha() or word[0] == "_") and word not in _KEYWORDS
    return _NAME if is_name else _SIGN


def renamed(a: Code, b: Code, runs: Sequence[Run]) -> list[tuple[int, int]]:
    """The words of A that are renamed, each with the word of B that it stands beside, ascending.

    Args:
        a: one program.
        b: the other.
        runs: of equal words, ascending in both.
    """
    return [
        pair
        for pairs in _shared_code(a, b, runs)
        if len(pairs) >= _SHORTEST
        for pair in _in_step(a, b, pairs)
    ]


def _shared_code(a: Code, b: Code, runs: Sequence[Run]) -> Iterator[list[tuple[int, int]]]:
    """The runs of code that both have, as pairs of words: equal ones, names or numbers."""
    pairs: list[tuple[int, int]] = []
    end = b_end = 0
    for run in [*runs, Run(len(a.words), len(b.words), 0)]:
        only_a, only_b = a.code(end, run.a), b.code(b_end, run.b)
        first = _alike(a, b, only_a, only_b)
        pairs += first
        rest, b_rest = only_a[len(first) :], only_b[len(first) :]
        if rest or b_rest:
            yield pairs
            pairs = _alike(a, b, rest[::-1], b_rest[::-1])[::-1]
        end, b_end = run.a + run.size, run.b + run.size
        for i, j in zip(range(run.a, end), range(run.b, b_end), strict=True):
            if a.kinds[i] == b.kinds[j] != _NO_CODE:
                pairs.append((i, j))
            elif a.kinds[i] != b.kinds[j]:
                yield pairs
                pairs = []
    yield pairs


def _alike(a: Code, b: Code, words: list[int], b_words: list[int]) -> list[tuple[int, int]]:
    """The first of some words, as long as names stand beside names and numbers beside numbers."""
    pairs = zip(words, b_words, strict=False)
    return [*takewhile(lambda pair: _SIGN != a.kinds[pair[0]] == b.kinds[pair[1]], pairs)]


def _in_step(a: Code, b: Code, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The pairs of different names of which neither stands beside a third one."""
    names = [(i, j, a.words[i], b.words[j]) for i, j in pairs if a.kinds[i] == _NAME]
    others: defaultdict[str, set[str]] = defaultdict(set)
    b_others: defaultdict[str, set[str]] = defaultdict(set)
    for _, _, name, other in names:
        others[name].add(other)
        b_others[other].add(name)
    for i, j, name, other in names:
        if name != other and len(others[name]) == len(b_others[other]) == 1:
            yield i, j
