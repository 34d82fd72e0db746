"""Boilerplate: the parts of programs and texts that are alike by necessity, and are no copies.

These are imports and includes, lines that name a package or namespace, licences, generated files,
runs of literals, and parts that the author puts between `lshdb: ignore-start` and
`lshdb: ignore-end` in comments. There is no grammar here, as for tokens: the rules recognise the
usual statements of many languages by their first words, in programs whose comments and strings are
blanked (lshdb.apps.programs.tokens). So `import` in a comment or in a string does not match.

Each pattern takes time linear in the text: repeated parts are possessive, and stop at the
beginning of another match, or after a bounded number of characters.
`tests/apps/programs/test_boilerplate.py` has programs of each language, and hostile texts.
"""

import re
from binascii import crc32
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Reason = Literal["imports", "licences", "generated", "tables", "ignored"]
REASONS: dict[Reason, str] = {
    "imports": "imports, includes, packages and namespaces",
    "licences": "licences",
    "generated": "generated files",
    "tables": "runs of literals",
    "ignored": "between ignore-start and ignore-end",
}


class Stretch(NamedTuple):
    """A part of a text that does not count: its first character, and the last + 1."""

    start: int
    stop: int
    reason: Reason


class Marker(NamedTuple):
    """A marker without its counterpart: its line, from 1, and whether it is `start` or `end`."""

    line: int
    kind: str


# Imports

_STRING = "\1\2*+"
"""A string literal in a blanked program."""
_SPACE = r"\s\x1c-\x1f"
"""White space, also where a pattern is only for ASCII."""
_TO_END = r"[^\n;]*+;?"
_LINE_ENDS = r"(?=[ \t]*+\r?\n|[ \t]*+$)"
_CONTINUED = r"(?:\\\r?\n[^\n;({=\\]*+)*+"
_IN_BRACES = r"\{[^{}]*+\}"
_INNER = r"\{[^{}();=]*+\}"
_NESTED = rf"\{{(?:[^{{}}();=]++|\{{(?:[^{{}}();=]++|{_INNER})*+\}})*+\}}"
_REQUIRED = rf"(?:[\w$.]++|{_IN_BRACES})[ \t]*+=[ \t]*+require[ \t]*+\(?[ \t]*+{_STRING}[ \t]*+\)?"
_IMPORT = (
    # Over several lines: Go, Python; the function of JavaScript is none.
    r"import(?:[ \t]*+\((?=[ \t]*+\r?\n)[^()]*+\)"
    rf"|[ \t]++(?![=.(])[^\n;({{=\\]*+{_CONTINUED}(?:{_IN_BRACES})?{_TO_END}"
    rf"|[ \t]*+(?:{_IN_BRACES}[ \t]*+from[ \t]*+)?{_STRING}{_TO_END})"
)
_FIRST_OF_IMPORT = (
    r"(?=[#@]|a(?:lias|utoload)|const|e(?:xport|xtern)|from|global|i(?:mport|n(?:clude|line|ternal))"
    r"|l(?:et|ibrary|oad|ocal)|mod|n(?:amespace|o)|p(?:ackage|art|rivate|ub)|require"
    r"|s(?:ource|tatic)|us(?:e|ing)|var)"
)
"""What all of the next ones begin with: most lines need not be compared with each of them."""
_IMPORTS = (
    # C, Objective-C, CSS and its dialects; Swift.
    rf"[#@][ \t]*+(?:(?:include|import|use|forward)\b{_TO_END}|pragma[ \t]++once\b)",
    rf"@\w++[ \t]++{_IMPORT}",
    # Java, Kotlin, Scala, Swift, Go, Haskell, JavaScript, Python, D, protocol buffers.
    _IMPORT,
    rf"(?:public|internal|private|static|export)[ \t]++{_IMPORT}",
    r"from[ \t]++[\w.]++[ \t]++import[ \t]*+"
    r"(?:\([^()]*+\)|[^\n;\\(]*+(?:\\\r?\n[^\n;\\(]*+)*+)",
    r"export[ \t]*+(?:type[ \t]++)?"
    rf"(?:\*[^\n;{{(\1]*+|{_IN_BRACES}[ \t]*+from[ \t]*+){_STRING}{_TO_END}",
    # JavaScript, Lua, Ruby, PHP, Dart, R: modules that are required by name.
    rf"(?:const|let|var|local)[ \t]++{_REQUIRED}(?:[ \t]*+,[{_SPACE}]*+{_REQUIRED})*+[ \t]*+;?"
    rf"{_LINE_ENDS}",
    rf"(?:require|include|load|autoload|part)\w*+[ \t]*+\(?[\w. \t:,]*+{_STRING}{_TO_END}",
    r"(?:part[ \t]++of|library)[ \t]++[\w.]++;",
    r"(?:library|require|source)\([ \t]*+[\w.]++[ \t]*+\)",
    # Rust, PHP, Perl: the statement ends with a semicolon; Elixir, Fortran: with the line.
    r"(?:pub[ \t]++|pub\([\w: ]*+\)[ \t]++)?(?:use|no|mod|extern[ \t]++crate)[ \t]++"
    r"(?:function[ \t]++|const[ \t]++)?(?=[\w:\\{])[\w:\\*, \t.]*+"
    rf"(?:{_NESTED}|(?<=qw)[ \t]*+\([^()]*+\)|{_STRING}(?:[ \t,]*+{_STRING})*+)?[ \t]*+;",
    rf"(?:alias|use)[ \t]++[A-Za-z][\w.]*+(?:[ \t]*+,[^\n(){{}}=]*+)?{_LINE_ENDS}",
    # C# and C++.
    r"(?:global[ \t]++)?using[ \t]++(?:(?:static|namespace|typename)[ \t]++)?[\w.:]++"
    r"(?:[ \t]*+=[^\n;()]*+)?[ \t]*+;",
    # The package or namespace that the file belongs to.
    rf"package[ \t]++(?:object[ \t]++)?[\w.:\\]++[ \t]*+[;{{]?{_LINE_ENDS}",
    r"(?:inline[ \t]++|export[ \t]++)?namespace(?:[ \t]++[\w.:\\]++)?[ \t]*+(?:\r?\n[ \t]*+)?[;{]",
)

# Tables

_MIN_LITERALS = 10
"""Minimum literals of a run: a shorter one may be the arguments of a call."""
_FIGURE = r"[\1\d][\2\w.]*+"
"""A number or a string."""
_CONSTANT = r"(?:true|false|null|nil|None|NULL|True|False|undefined)\b"
_LITERAL = rf"(?:{_FIGURE}|{_CONSTANT})"
_KEY = rf"[A-Za-z_.$][\w.$]*+[ \t]*+(?:=>?|:)[{_SPACE}({{\[+\-]{{0,100}}+"
"""The name of a literal, or of the list that contains it."""
_BETWEEN = rf"[{_SPACE},:;(){{}}\[\]+\-=>]{{0,400}}+"
_MORE = rf"(?:{_BETWEEN}(?:{_KEY}|){_LITERAL}){{{_MIN_LITERALS - 1},}}+"
_FIRST_ROW = (
    # By its first character: of most lines none of these is tried.
    rf"(?:[({{\[+\-][({{\[+\- \t]{{0,8}}+(?:{_KEY}|){_LITERAL}|{_KEY}{_LITERAL}|{_FIGURE}"
    rf"|{_CONSTANT}){_MORE}"
)
_STATEMENT = (
    r"\n[ \t]*+(?=[#@\w.$({\[+\-\1])"
    rf"(?:{_FIRST_OF_IMPORT}(?:{'|'.join(_IMPORTS)})()|{_FIRST_ROW})"
)
"""Imports, which end with an empty group, and tables: the lines of a program are visited once."""
_STATEMENTS = re.compile(_STATEMENT)
_LONGEST_LINE = 300
_LONG_LINE = re.compile(rf"\n[^\n]{{{_LONGEST_LINE},}}+")
"""A long line may contain a table that begins later in the line. A file in which more than half of
the text is in long lines was generated: nobody writes such a file."""
_TABLE_IN_LINE = re.compile(rf"[\1\d](?<![\w.]\d)[\2\w.]*+{_MORE}")

# Generated files

_HEAD = 3_000
"""Characters at the beginning of a file in which marks of generated files are looked for."""
_GENERATED = re.compile(
    r"@generated\b"
    r"|<auto-?generated"
    r"|\b(?:auto(?:matically)?|machine|code)[ -]?generated\b[^\n]{0,200}"
    r"(?:do[ ]not[ ](?:edit|modify)|don't[ ]edit|\bby\b)"
    r"|\bgenerated[ ](?:automatically\b|(?:code|file|source)\b"
    r"|by[ ](?:the[ ])?(?:protocol[ ]buffer|protoc|grpc|thrift|swig|cython|bison|flex|antlr|javacc"
    r"|gperf|cmake|autoconf|automake|aclocal|openapi|swagger|graphql|sqlc|mockgen|stringer|yacc))"
    r"|\bA[ ]Bison[ ]parser,[ ]made[ ]by\b"
    r"|\b(?:do[ ]not|don't)[ ](?:edit|modify)\b[^\n]{0,200}\bgenerated\b"
    r"|\bgenerated\b[^\n]{0,200}\b(?:do[ ]not|don't)[ ](?:edit|modify)\b"
    r"|\bgenerated\b[^\n]{0,200}\n[^\w\n]{0,20}(?:please[ ])?(?:do[ ]not|don't)[ ](?:edit|modify)\b"
    r"|\b(?:do[ ]not|don't)[ ](?:edit|modify)\b[^\n]{0,200}\n[^\n]{0,200}\bgenerated\b",
    re.IGNORECASE,
)

_GENERATORS = ("enerated", "GENERATED", "A Bison parser")
"""A part of each of these marks."""

# Licences

_COPYRIGHT = re.compile(
    r"\bcopyright\b|\blicen[cs]ed?\b|\bSPDX-|\ball rights reserved\b|\(c\) (?:19|20)\d\d",
    re.IGNORECASE,
)
_TERMS = re.compile(
    r"(?:Permission is hereby granted|Redistribution and use in source and binary forms"
    r"|Licensed under the Apache License|Permission to use, copy, modify"
    r"|This (?:program|library|software|file) is (?:free software|distributed in the hope))"
)
_END_OF_TERMS = re.compile(
    r"(?:(?:OTHER\s+)?DEALINGS\s+IN\s+THE\s+SOFTWARE|POSSIBILITY\s+OF\s+SUCH\s+DAMAGE"
    r"|limitations\s+under\s+the\s+License|SUCH\s+DAMAGES?|PERFORMANCE\s+OF\s+THIS\s+SOFTWARE"
    r"|gnu\.org/licenses/?>?)\.?",
    re.IGNORECASE,
)
_LONGEST_TERMS = 6_000
_WHOLE_LICENCE = re.compile(
    r"\s*+(?:the\s+)?(?:gnu\s+(?:lesser\s+|affero\s+|library\s+|free\s+documentation\s+)*"
    r"(?:general\s+public\s+)?licen[cs]e|apache\s+licen[cs]e|mit\s+licen[cs]e|bsd\s+\d.clause"
    r"|mozilla\s+public\s+licen[cs]e|eclipse\s+public\s+licen[cs]e|boost\s+software\s+licen[cs]e"
    r"|creative\s+commons|the\s+unlicense)\b[^\n]{0,80}\n",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\n[ \t]*+\r?\n")
_PARAGRAPHS = 3
"""Paragraphs at the beginning of a text that may be the head of its licence."""

# Regions

_MARKER = re.compile(r"lshdb:[ \t]*+ignore-(start|end)\b")
_COMMENT_SIGNS = re.compile(r"(?:#|//|/\*|\*|--|;|%|<!--|\(\*|\{-|\.\.|\{#|REM|')[ \t!*/]{0,10}$")
_BEFORE = 40

_PATTERNS = (
    _STATEMENTS,
    _LONG_LINE,
    _TABLE_IN_LINE,
    _GENERATED,
    _COPYRIGHT,
    _TERMS,
    _END_OF_TERMS,
    _WHOLE_LICENCE,
    _PARAGRAPH,
    _MARKER,
    _COMMENT_SIGNS,
)
_NUMBERS = (_HEAD, _LONGEST_TERMS, _PARAGRAPHS, _BEFORE)
_ALL = repr(([pattern.pattern for pattern in _PATTERNS], _NUMBERS))
RULES = f"{crc32(_ALL.encode()):08x}"
"""Identifies these rules: an index that was made by other rules has other signatures."""


def is_generated(text: str) -> bool:
    """Whether a text says that a program generated it; for most texts this takes little time."""
    head = text[:_HEAD]
    # The expression takes ten times as long as looking for a part of each of its marks.
    return any(word in head for word in _GENERATORS) and _GENERATED.search(head) is not None


def in_program(text: str, blanked: str) -> list[Stretch]:
    """The boilerplate of a program.

    Args:
        text: the program.
        blanked: the program without comments and strings, see lshdb.apps.programs.families.blanked.

    Returns:
        Stretches of both, in order and without overlaps, each with its reason.
    """
    if is_generated(text):
        return [Stretch(0, len(text), "generated")]
    lines = f"\n{blanked}"
    long = [line.span() for line in _LONG_LINE.finditer(lines)]
    in_long = sum(stop - start for start, stop in long if not lines[start:stop].isspace())
    if 2 * in_long > len(lines):
        return [Stretch(0, len(text), "generated")]
    stretches = [
        Stretch(match.start(), match.end() - 1, "imports" if match.lastindex else "tables")
        for match in _STATEMENTS.finditer(lines)
    ]
    for bounds in long:
        rows = _TABLE_IN_LINE.finditer(lines, *bounds)
        stretches += (Stretch(match.start() - 1, match.end() - 1, "tables") for match in rows)
    return _without_overlaps([*stretches, *_regions(text, blanked)[0]])


def in_text(text: str) -> list[Stretch]:
    """The boilerplate of a text for people, as `in_program` returns it."""
    if is_generated(text):
        return [Stretch(0, len(text), "generated")]
    if _WHOLE_LICENCE.match(text):
        return [Stretch(0, len(text), "licences")]
    stretches: list[Stretch] = []
    start = 0
    for _ in range(_PARAGRAPHS):
        end = _PARAGRAPH.search(text, start)
        stop = min(end.start() if end else len(text), start + _LONGEST_TERMS)
        if _COPYRIGHT.search(text, start, stop):
            stretches.append(Stretch(start, stop, "licences"))
        if end is None:
            break
        start = end.end()
    begins = [match.start() for match in _TERMS.finditer(text)]
    ends = [match.end() for match in _END_OF_TERMS.finditer(text)] if begins else []
    covered_to = 0
    for begin in begins:
        index = bisect_right(ends, begin)
        if begin >= covered_to and index < len(ends) and ends[index] - begin <= _LONGEST_TERMS:
            covered_to = ends[index]
            stretches.append(Stretch(begin, covered_to, "licences"))
    return _without_overlaps([*stretches, *_regions(text, text)[0]])


def unmatched(text: str, blanked: str) -> list[Marker]:
    """The markers of regions that have no counterpart, in order; `blanked` as for a program.

    A region without an end goes to the end of the text, an end without a start ends nothing.
    """
    markers: list[Marker] = []
    line, counted_to = 1, 0
    for index, kind in _regions(text, blanked)[1]:
        line += text.count("\n", counted_to, index)
        counted_to = index
        markers.append(Marker(line, kind))
    return markers


def without(text: str, stretches: Sequence[Stretch]) -> str:
    """A text, or a blanked program, with blanks in place of the stretches."""
    if not stretches:
        return text
    parts, copied_to = [], 0
    for start, stop, _ in stretches:
        parts += [text[copied_to:start], " " * (stop - start)]
        copied_to = stop
    return "".join([*parts, text[copied_to:]])


def texts_without(texts: Sequence[str]) -> list[str]:
    """Texts for people with blanks in place of their boilerplate."""
    return [without(text, in_text(text)) for text in texts]


def _regions(text: str, blanked: str) -> tuple[list[Stretch], list[tuple[int, str]]]:
    """The regions between markers, and the indices and kinds of markers without a counterpart."""
    regions: list[Stretch] = []
    unmatched_markers: list[tuple[int, str]] = []
    start: int | None = None
    for index, kind in _markers(text, blanked):
        if kind == "start":
            if start is None:
                start = index
            else:
                unmatched_markers.append((index, kind))
        elif start is None:
            unmatched_markers.append((index, kind))
        else:
            regions.append(Stretch(start, index, "ignored"))
            start = None
    if start is not None:
        unmatched_markers.append((start, "start"))
        regions.append(Stretch(start, len(text), "ignored"))
    return regions, sorted(unmatched_markers)


def _markers(text: str, blanked: str) -> Iterator[tuple[int, str]]:
    """The index and kind of each marker in a blanked comment, or after the sign of a comment."""
    if "lshdb:" not in text:
        return
    for match in _MARKER.finditer(text):
        index = match.start()
        line = text[max(text.rfind("\n", 0, index) + 1, index - _BEFORE) : index]
        if blanked[index].isspace() or (
            blanked[index] == text[index] and _COMMENT_SIGNS.search(line)
        ):
            yield index, match[1]


def _without_overlaps(stretches: list[Stretch]) -> list[Stretch]:
    """The same stretches in order; where two overlap, the earlier one keeps the common part."""
    separate: list[Stretch] = []
    covered_to = 0
    for start, stop, reason in sorted(stretches):
        if stop > covered_to:
            separate.append(Stretch(max(start, covered_to), stop, reason))
            covered_to = stop
    return separate
