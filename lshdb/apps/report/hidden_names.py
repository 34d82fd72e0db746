"""Names of submissions in texts, and what stands in their place.

A name is taken in words, where case changes or a sign stands between: `anna_lee`, `AnnaLee` and
`Anna Lee` are the same name, and so are `annalee` and `Lee, Anna`. Only the whole name counts, not
one word of several: which word of `lee_anna` or `lab2_ann` is a first name, and whose where two
submissions have it, is not known. A name that is a word of many other submissions says nobody's
name, and to replace it would show which word it is: such a name stays in the texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W_a-zA-Z0-9]+")
_BETWEEN = re.compile(r"[\W_]{0,3}", re.ASCII)
"""What may be between two words of a name."""
_LONGEST = 6
"""Words of a name, at most."""
_MANY, _SHARE = 3, 0.25
"""How many other submissions, and which share of all, have a usual word."""
_SUFFIX = re.compile(r"(\.[A-Za-z0-9]{1,5}){1,2}$")


class Names:
    """The names of submissions, and how often each was replaced.

    Attributes:
        usual: the names that are words of many other submissions.
        count: how often a name was replaced.
    """

    def __init__(self, names: Mapping[str, str], texts: Iterable[tuple[str, str]] = ()) -> None:
        """Take the names of submissions by what they are called instead, and all texts by both."""
        self._shown: dict[str, str] = {}
        self._words = 2
        self.count = 0
        self.usual: list[str] = []
        for shown, path in names.items():
            name = path.rstrip("/").rpartition("/")[2]
            for form in {name, _SUFFIX.sub("", name)}:
                words = _WORD.findall(form)[:_LONGEST]
                self._words = max(self._words, len(words))
                orders = [words, [*words[1:], *words[:1]], [*words[-1:], *words[:-1]]]
                for order in orders:
                    if joined := "".join(order).casefold():
                        self._shown.setdefault(joined, shown)
        self._leave_usual(names, texts)

    def _leave_usual(self, names: Mapping[str, str], texts: Iterable[tuple[str, str]]) -> None:
        """Leave the names that many other submissions have as words."""
        others = Counter[str]()
        for shown, text in texts:
            forms = {joined for _, _, joined in self._places(text)}
            others.update(joined for joined in forms if self._shown[joined] != shown)
        for joined, number in others.items():
            if number >= max(_MANY, _SHARE * len(names)):
                name = names[self._shown.pop(joined)]
                if name not in self.usual:
                    self.usual.append(name)

    def _places(self, text: str) -> list[tuple[int, int, str]]:
        """Where names are in a text: first character, last + 1, and the name in one word."""
        spans = [match.span() for match in _WORD.finditer(text)]
        words = [text[start:end].casefold() for start, end in spans]
        places = []
        index = 0
        while index < len(words):
            joined, longest = "", 0
            last = min(index + self._words, len(words))
            for behind in range(index, last):
                gap = text[spans[behind - 1][1] : spans[behind][0]] if behind > index else ""
                if not _BETWEEN.fullmatch(gap):
                    break
                joined += words[behind]
                if joined in self._shown:
                    longest = behind + 1
            if longest:
                name = "".join(words[index:longest])
                places.append((spans[index][0], spans[longest - 1][1], name))
            index = max(longest, index + 1)
        return places

    def replaced(self, text: str) -> str:
        """The text with what submissions are called instead of their names."""
        parts, done = [], 0
        for start, end, joined in self._places(text):
            parts += [text[done:start], self._shown[joined]]
            done = end
            self.count += 1
        return "".join([*parts, text[done:]])
