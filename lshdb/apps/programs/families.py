r"""Comments and strings of programs, by the marks that begin comments in the text.

No suffix is known, so that the same text has the same tokens wherever it is. One vote decides which
marks begin comments: a family of marks is in use if a line begins with one of them as a comment does
(`#include` and `--i;` are none), or if it is behind code as only a comment can be. Each family is
decided alone, so that a text without its comments keeps the marks that its code votes for, and has
the same tokens: nothing that a comment says votes. For the same reason strings are the same in all
texts, and so are comments that have both ends (`<!-- -->`, `{- -}`).

What this cannot tell apart is in docs/choosing.md, by language.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from lshdb.apps.programs import tokens

_LINE = "[^\n]*+"
_END = r"(?=[ \t\r]*+(?:\n|\Z))"
_WORDS = r"(?=[A-Za-z][\w'-]*+[,.:]?[ \t]++[A-Za-z])"
"""Two words, as a comment begins with."""
_PHRASE = r"[A-Za-z][\w'-]*+:?[ \t]++[A-Za-z]"
"""Two words without a comma, which is between the items of a list."""
_CLAUSE = (
    r"[ \t]++(?!\w++ (?:if|for|and|or|in|is|else|unless|do)\b)"
    r"(?=(?:[A-Za-z][\w'-]*+[,.:]?[ \t]++){2}[A-Za-z])"
)
"""Three words behind a sign that is also an operator, which code does not have."""
_BLOCK = r"[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?"
"""What follows `/*`, to its end or that of the text."""


class _Family(NamedTuple):
    """Marks of comments: how a line votes that begins with one, and how one behind code does."""

    line: str
    behind: str
    comments: list[str]
    condition: str = ""
    """What the text must have, too."""


def _nested(begin: str, end: str) -> str:
    """A comment with both its ends, and up to two levels of others in it."""
    sign, more, first, last = (re.escape(part) for part in (begin[0], begin[1:], end[0], end[1:]))
    plain = f"[^{sign}{first}]++|{sign}(?!{more}{'' if sign != first else '|' + last})"
    if sign != first:
        plain += f"|{first}(?!{last})"
    inside = f"(?:{plain})*+"
    for _ in range(2):
        inside = f"(?:{plain}|{sign}{more}{inside}{first}{last})*+"
    return f"{more}{inside}{first}{last}"


_FAMILIES = {
    "slashes": _Family(
        rf"/(?:/|\*(?![)|'\"/]){_BLOCK})",
        rf"/(?:(?:(?<=[;{{}}(,]/)|(?<=[;{{}}(,][ \t]/)|(?<=[;{{}}(,][ \t]{{2}}/))(?:/|\*{_BLOCK})"
        rf"|/(?<=[ \t]//)(?:{_CLAUSE}|(?<=[ \t]{{2}}//)[ \t]+[A-Za-z]|(?<=end //)|(?<=module //)))",
        [r"/(?:/(?<![:\\]//)[^\n]*+|\*" + _BLOCK + ")"],
    ),
    "hash": _Family(
        r"#(?!include|define|undef|ifn?def|endif|pragma|if\b|elif|else\b|error|line\b|import|region"
        r"|endregion|nullable|warning|[ \t]+(?:include[ \t]*[<\"]|define[ \t]+(?:[A-Z_][A-Z\d_]*\b|\w+\()|ifn?def[ \t]"
        rf"|if[ \t]+(?:[!(]|defined|[A-Z_]{{3}})|elif[ \t]|else{_END}|endif|pragma[ \t]|undef[ \t]"
        r"|error[ \t]|line[ \t]\d))"
        rf"(?:[ \t]+\S|{_END}|[#=*/@$%&.~-](?!\w)|[#@]|'[ \t]"
        r"|\w+[,.:]?[ \t]+\w(?![^\n]*[{,;][ \t]*\n))",
        r"#(?<=[ \t]#)[ \t]+(?![\d.#(])",
        [r"#(?<![^\s;()\]},]#)(?<!, #(?=\d))" + _LINE],
    ),
    "dashes": _Family(
        rf"--(?!-{_END})-*+(?=[ \t]+[^\s\"$]|{_END}|[|^*])",
        r"-(?:(?<=[ \t]{2}-)|(?<=[;,)] -))-[ \t]+\w",
        [r"-(?<![-<!|+]-)-(?![>|])" + _LINE],
    ),
    "semicolon": _Family(
        rf";(?:;(?![ \t]{{2,}}#)[; \t]*[^\s;]|[ \t]*(?!(?:do|then)\b)\w|[-=*]+{_END})",
        rf";(?:(?<=[)\]][ \t];)|(?<=[ \t]{{2}};))[; \t]*+{_WORDS}",
        [r";(?<!\\;)" + _LINE],
        r"\A(?![\s\S]*\n[ \t]*+let )",
    ),
    "percent": _Family(
        r"%(?!i?x?defin|i?macro|include|if|el[is]|end|push|pop|rep|exit|assign|undef|rot|[wiq]\b"
        r"|[^\s%]{1,5}%\s)"
        rf"(?:%+(?:[ \t]|{_END}|[-=*!])|[=*!\\-]|[ \t]+(?:{_WORDS}|\w+\.{_END})|{_END}|[A-Za-z]\w*[ .,:][^=\n]*{_END})",
        rf"%(?:(?<=[{{}};]%)|(?<=[;.,] %)|(?<=[;.,]  %)|(?<=[ \t]%)(?=%*+{_CLAUSE}))%*+(?:[ \t]|{_END})",
        [r"%(?<!\\%)(?<![\s(,\[]\$%)" + _LINE],
    ),
    "exclamation": _Family(
        rf"!(?:!*[ \t]+{_WORDS}|!+(?:[ \t<>]|{_END})|[*-]|=+{_END}|{_END}|\$(?i:omp|acc)|{_WORDS}(?!is\b))",
        rf"!(?<=[ \t]{{2}}!){_CLAUSE}",
        ["!" + _LINE],
    ),
    "apostrophe": _Family(
        r"'(?![^\n]*'(?!\w))(?:[ \t']+[A-Za-z]|[A-Z]\w*[ .,:][^)\n]*(?=\n))", "", ["'" + _LINE]
    ),
    "parentheses": _Family(
        r"\((?=\*+\s)" + _nested("(*", "*)"),
        r"\((?=\*\s++(?!\w++[^\w\s,:']))" + _nested("(*", "*)"),
        [r"\((?=\*(?!\)))" + _nested("(*", "*)")],
    ),
    "braces": _Family(
        rf"\{{(?=\$|[ *$-]*{_PHRASE}(?:[^{{}}\n]*\}}{_END}|[^{{}}=;()\n]*\n))",
        rf"\{{(?<=[;. ][ \t]\{{)[ \t]*+{_PHRASE}[^{{}}\n]*\}}{_END}",
        [r"\{[^}]*+\}?", r"\(" + _nested("(*", "*)"), r"/(?:/" + _LINE + ")"],
        r"\n[ \t]*+[Ee][Nn][Dd][.;]",
    ),
}
_CLOSED = [
    r"/\*(?<![^\s({\[;,)]/\*)(?![)|'\"/])[^*/]*+(?:(?:\*(?!/)|/(?!\*))[^*/]*+)*+\*/",
    r"<!--[^-<]*+(?:(?:-(?!->)|<(?!!--))[^-<]*+)*+-->",
    r"\(\*\s[^()\n]*+\s\*\)",
    r"\{(?=-[\s|#])(?<!\{\{)" + _nested("{-", "-}"),
    r"#" + _nested("#|", "|#"),
    *(
        rf"{sign}\[(?P<{name}>=*+)\[(?:[^\]{sign[0]}]++|\](?!(?P={name})\])|{sign[0]}(?!{sign[1:]}\[))*+"
        rf"\](?P={name})\]"
        for sign, name in (("--", "lua"), ("#", "cmake"))
    ),
    r"#=(?!=)[^=]*+(?:=(?!#)[^=]*+)*+=#",
    r"#\[(?!\w+[\](])(?:[^\]#]++|\](?!#)|#(?!\[))*+\]#",
    r"<#(?=\s)[^#<]*+(?:(?:#(?!>)|<(?!#))[^#<]*+)*+#>",
    r"\n[ \t]*+%\{[ \t\r]*+(?=\n)[^%]*+(?:%(?![{}])[^%]*+)*+%\}",
    r"\n=(?:begin|pod|head|item|over|back|for\b|encoding)[^\n]*+"
    r"(?:\n(?!=(?:end|cut)\b)[^\n]*+)*+(?:\n=(?:end|cut)[^\n]*+)?",
]
"""Comments that are the same in all texts: those with both ends."""
_WHOLE_LINES = [
    r"\n#!(?=[ /])[^\n]*+",
    rf"\n[ \t]*+@?[Rr][Ee][Mm](?:[ \t](?![ \t]*+[=.])[^\n]*+|{_END})",
    r"\n::+(?=\s|\Z)[^\n]*+",
    rf"\n(?:\*(?:[>.!]?(?=\s)|[-*=]+[\s]|{_END})|[cC](?:[-*=.!>](?![=>])|{_END}|[ \t]++(?![\s=(%<+*/:.&|,-])))"
    + _LINE,
]
"""Comments that are whole lines, of batch files, Basic and Fortran 77."""
_NO_WORD = r"(?:(?<![\w)\]}'\\]')|(?<=\b[rRbBuUfFL]')|(?<=\b[rRbBuUfF]{2}')|(?<=u8'))"
"""A quote behind a word is an attribute, a prime, an apostrophe or a transpose."""
_STRINGS = [
    r"\"(?<![\\$]\")(?:\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\")?"
    r"|(?:[^\"\\\n]++|\\.)*+(?:\"|(?=\n)[^\"\\]*+(?:\\.[^\"\\]*+)*+\"(?!\w))?)",
    r"''''?(?<=''')[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+'''",
    rf"'{_NO_WORD}(?:(?:\\[^\n']{{1,10}}+|\\'|[^'\\\n])'|(?:[^'\\\n]++|\\.|'')*+'(?![\w{{]|(?<= ')\())",
    r"`(?<![`\\]`)(?:\([^`\\\n]*+(?:\\.[^`\\\n]*+)*+`(?!\()|(?![`(])[^`\\]*+(?:\\.[^`\\]*+)*+`)(?![\w`])",
    r"/(?:(?<=[(,=:\[!&|?{};~] /)|(?<=[(,=:~]/)|(?<=return /)|(?<=split /))(?![*/ ])"
    r"(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,60}+\]){1,200}+/(?![*/])",
    r"/(?<=~ s/)(?:[^/\\\n]|\\.){0,200}+/(?:[^/\\\n]|\\.){0,200}+/",
    r"@\"(?=[ \t\r]*+\n)(?:[^\"@]++|\"(?!@)|@(?!\"))*+\"@",
    r"@'(?=[ \t\r]*+\n)(?:[^'@]++|'(?!@)|@(?!'))*+'@",
    r"#\"(?<=r#\")(?:[^\"#]++|\"(?!#)|#(?!\"))*+\"#",
    r"\{\|[^|]*+\|\}",
    r"\[\[(?:(?<=[=(,{] \[\[)|(?<=[=(,{]\[\[))(?!\s*[\d\]{(-])[^\[\]]*+\]\]",
]
"""Strings, which are the same in all texts. One of many lines ends where no word goes on."""


def _any_of(patterns: Iterable[str]) -> str:
    """A choice by the first character: then the others of a text are passed fast."""
    rest: dict[str, list[str]] = {}
    for pattern in patterns:
        size = 2 if pattern[0] == "\\" else 1
        rest.setdefault(pattern[:size], []).append(pattern[size:])
    return "|".join(f"{first}(?:{'|'.join(others)})" for first, others in rest.items())


def _named(name: str, pattern: str) -> str:
    """What begins with a sign, and a group of this name, and goes on to the end of the line."""
    size = 2 if pattern[0] == "\\" else 1
    return f"{pattern[:size]}(?P<{name}>{pattern[size:]}){_LINE}"


@cache
def _vote() -> re.Pattern[str]:
    """Match what votes, in a group with the name of its family; strings and comments are passed."""
    lines = _any_of(_named(name, family.line) for name, family in _FAMILIES.items())
    behind = [_named(name + "_", one.behind) for name, one in _FAMILIES.items() if one.behind]
    skipped = [*_CLOSED, *_WHOLE_LINES, *_STRINGS]
    return re.compile(_any_of([rf"\n[ \t]*+(?:{lines})", *behind, *skipped]), re.DOTALL)


def marks_of(text: str) -> frozenset[str]:
    """The families of marks that begin comments in a text, after a line feed."""
    votes = {match.lastgroup for match in _vote().finditer(text)} - {None}
    names = {name.removesuffix("_") for name in votes if name} & _FAMILIES.keys()
    return frozenset(name for name in names if re.search(_FAMILIES[name].condition, text))


@cache
def _pattern_of(names: frozenset[str]) -> re.Pattern[str]:
    """Comments, each with an empty group at its end, and strings."""
    marks = [mark for name in _FAMILIES if name in names for mark in _FAMILIES[name].comments]
    comments = [f"{comment}()" for comment in (*_CLOSED, *_WHOLE_LINES, *marks)]
    return re.compile(_any_of([*comments, *_STRINGS]), re.DOTALL)


_HEREDOC = re.compile(r"<<[-~<]?[ \t]?([\"'`]?)([A-Za-z_]\w*)\1(?![/:]|>>)")
_LAST_LINES = re.compile(r"\n[ \t]*+(\w++)[;),. \t\r]*+(?=\n|\Z)")


def _without_heredocs(text: str) -> str:
    """The text with the lines of heredocs as strings, at their places."""
    if "<<" not in text:
        return text
    ends: dict[str, list[int]] = {}
    for match in _LAST_LINES.finditer(text):
        ends.setdefault(match[1], []).append(match.start())
    parts, begun, done = [], 0, 0
    for match in _HEREDOC.finditer(text):
        if begun <= match.start() < done:
            continue
        after = max(match.end(), done + 1)  # of two on one line, the second begins behind the first
        lines = ends.get(match[2], [])
        index = bisect_left(lines, after)
        if index < len(lines) and (start := text.index("\n", after) + 1) < lines[index]:
            parts += [text[done:start], tokens.QUOTE, tokens.QUOTED * (lines[index] - start - 1)]
            begun, done = start, lines[index]
    return "".join([*parts, text[done:]])


def _blank(match: re.Match[str]) -> str:
    length = len(match[0])
    return " " * length if match.lastindex else tokens.QUOTE.ljust(length, tokens.QUOTED)


def blanked(text: str) -> str:
    """The text with blanks for comments, and marks for strings, at their places."""
    if tokens.FILES not in text:
        return _blanked(text)
    return tokens.FILES.join(map(_blanked, text.split(tokens.FILES)))


def _blanked(text: str) -> str:
    if "\r" in text and "\n" not in text:
        text = text.replace("\r", "\n")
    text = "\n" + _without_heredocs(text)
    return _pattern_of(marks_of(text)).sub(_blank, text)[1:]
