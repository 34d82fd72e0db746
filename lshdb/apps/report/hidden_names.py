r"""Names of submissions, mail addresses and student numbers in texts, and what replaces them.

The name is what is before the first number or `_assignsubmission` in the name of a folder or file:
`Annika Lee` of `Annika Lee_12345_assignsubmission_file_`. Where many begin alike, as `lab2_ann` and
`lab2_ben`, it is what follows the number.

A name is taken in words, where case changes or a sign stands between: `anna_lee`, `AnnaLee` and
`Anna Lee` are the same name, and so are `annalee` and `Lee, Anna`. Two words or more of a longer
name are hidden in any order; one word is not: which word of `lee_anna` is a first name, and whose
where two submissions have it, is not known. Letters are compared without accents, and as people
write them on a keyboard that lacks them: `Müller`, `Muller` and `Mueller` are equal, and so are
`Åse`, `Ase` and `Aase`. A name that is a word of many other submissions says nobody's name, and to
replace it would show which word it is: such a name stays in the texts.

A number counts as a student's if it is in the name of a folder, behind a word such as `student` or
`matriculation`, alone behind the sign of a comment, beside a name, or behind one or two letters, as
in `s1234567`. Other numbers of a program are its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from unicodedata import normalize

_UPPER = "".join(filter(str.isupper, map(chr, range(0x2000))))
"""Capital letters of alphabets, such as Latin, Greek and Cyrillic."""
_MARKS = "\u0300-\u036f"
_SMALL = rf"(?![{_UPPER}\d_])[\w{_MARKS}]"
_WORD = re.compile(rf"[{_UPPER}]?(?:{_SMALL})+|(?:[{_UPPER}][{_MARKS}]*)+(?!{_SMALL})|\d+")
_BETWEEN = re.compile(r"[\W_]{0,3}", re.ASCII)
"""What may be between two words of a name."""
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "a", "œ": "o"})
_OTHER_SPELLINGS = re.compile(rf"(?<=[aou])e|(?<=a)a|[{_MARKS}]")
_LONGEST = 4
"""Words of a name that are looked for in all orders, at most."""
_PARTICLE = 3
"""Letters of a word such as `de` or `van`, which are no name without others."""
_MANY, _SHARE = 3, 0.25
"""How many other submissions, and which share of all, have a usual word."""
_SUFFIX = re.compile(r"(\.[A-Za-z0-9]{1,5}){1,2}$")
_END_OF_NAME = re.compile(r"_assignsubmission|_LATE_")
"""Where a name ends in what Moodle and Canvas call submissions."""
_DIGITS = r"\d{5,12}"
_NUMBER = re.compile(_DIGITS)
_OF_STUDENT = re.compile(
    r"(?im)(?:\b(?:student|matri[ck]\w*|matr|id|roll|reg\w*|(?:number|nummer|no|nr)(?=[.:#]))"
    r"(?:[\W_]+[a-z]+)?[\W_]{1,4}[a-z]{0,2}|\b[a-z]{1,2}(?=\d{6})|^[ \t]*(?:#|//|/?\*|--|%)[^\w\n]*"
    rf"|submission-\d+[\W_]{{1,4}}){_DIGITS}(?!\w)|(?<!\w){_DIGITS}(?=[\W_]{{1,4}}submission-)"
)
_MAIL = re.compile(r"[\w.+%-]+@(?:[\w-]+\.)+[A-Za-z]{2,}(?![\w(])")
_HIDDEN_MAIL, _HIDDEN_NUMBER = "(mail address)", "(number)"


class Names:
    """The names of submissions, and how often each was replaced.

    Attributes:
        usual: the names that are words of many other submissions.
        nameless: what the submissions are called whose folders have no name.
        count: how often a name was replaced.
        masked: how many mail addresses and student numbers were replaced.
    """

    def __init__(self, names: Mapping[str, str], texts: Iterable[tuple[str, str]] = ()) -> None:
        """Take the names of submissions by what they are called instead, and all texts by both."""
        self._shown: dict[str, str] = {}
        self._words = 2
        self.count = self.masked = 0
        self.usual: list[str] = []
        self.nameless: list[str] = []
        files = {shown: path.rstrip("/").rpartition("/")[2] for shown, path in names.items()}
        numbers = {number for name in files.values() for number in _NUMBER.findall(name)}
        self._numbers = re.compile(rf"(?<!\d)(?:{'|'.join(numbers) or '(?!)'})(?!\d)")
        parts = {shown: _parts(_SUFFIX.sub("", name)) for shown, name in files.items()}
        begins = Counter(before for before, _ in parts.values())
        for shown, (before, behind) in parts.items():
            is_usual = begins[before] >= max(2, _SHARE * len(files))
            words = (is_usual and _words(behind)) or _words(before) or _words(behind)
            if not words:
                self.nameless.append(shown)
            # What looks like a suffix may be a part of the name.
            for form in (words, [] if behind else _words(_parts(files[shown])[0])):
                self._words = max(self._words, len(form))
                for order in _orders(form):
                    self._shown.setdefault("".join(map(_plain, order)), shown)
                    self._shown.setdefault(_plain("".join(order)), shown)
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
        spelled = [text[start:end] for start, end in spans]
        plain = {word: _plain(word) for word in set(spelled)}
        words = [plain[word] for word in spelled]
        places = []
        index = 0
        while index < len(words):
            joined, longest, name = "", 0, ""
            for behind in range(index, min(index + self._words, len(words))):
                gap = text[spans[behind - 1][1] : spans[behind][0]] if behind > index else ""
                if not _BETWEEN.fullmatch(gap):
                    break
                # `Anna Lee` is `leeanna`, too.
                for form in (joined + words[behind], words[behind] + joined):
                    if form in self._shown:
                        longest, name = behind + 1, form
                joined += words[behind]
            if longest:
                places.append((spans[index][0], spans[longest - 1][1], name))
            index = max(longest, index + 1)
        return places

    def replaced(self, text: str) -> str:
        """The text with what submissions are called instead of their names."""
        text = _MAIL.sub(_HIDDEN_MAIL, text)
        parts, done = [], 0
        for start, end, joined in self._places(text):
            # Before a digit `submission-1` would be another one.
            parts += [text[done:start], self._shown[joined], "_" * text[end : end + 1].isdigit()]
            done = end
            self.count += 1
        text = "".join([*parts, text[done:]])
        text = _OF_STUDENT.sub(lambda match: _NUMBER.sub(_HIDDEN_NUMBER, match[0]), text)
        text = self._numbers.sub(_HIDDEN_NUMBER, text)
        self.masked += text.count(_HIDDEN_MAIL) + text.count(_HIDDEN_NUMBER)
        return text


def _parts(name: str) -> tuple[str, str]:
    """What is before the first number in a name, and what is behind it."""
    before, *behind = re.split(r"\d+", _END_OF_NAME.split(name)[0], maxsplit=1)
    return before, "".join(behind)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if not word.isdigit()]


def _orders(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The words of a name as texts may have them: all or some of them, in any order."""
    for size in range(2, min(len(words), _LONGEST) + 1):
        for order in permutations(words, size):
            if size == len(words) or max(map(len, order)) > _PARTICLE:
                yield order
    if not 2 <= len(words) <= _LONGEST:
        for first in range(len(words)):
            yield [*words[first:], *words[:first]]


def _plain(word: str) -> str:
    """A word as all its spellings have it in common."""
    letters = normalize("NFKD", word.casefold()).translate(_LETTERS)
    return _OTHER_SPELLINGS.sub("", letters)
