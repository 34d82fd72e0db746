"""Values of the command line in SQL: what each -p VALUE is compared with.

The command line gives texts, and `metadata ->> '$.year'` is a number if the documents come from
JSON, a text from CSV. A value equals the text as it is written, and the number that it writes: of
both SQLite knows only one. So a value that is compared becomes

    CASE typeof(X) WHEN 'text' THEN the text ELSE the number END

where X is what it is compared with: the other side of an operator, or what stands before IN or
BETWEEN. SQLite decides for each row. To convert what is compared instead (by CAST) finds others:
the text 1000 for 1e3, and one large number for another that rounds to the same. Only for < and > it
is converted, unless it is a column of texts such as key: scores from CSV have the order of numbers.

Anywhere else, such as in arithmetic and in arguments of functions, a value is a number if SQLite
writes that number with the same characters, else a text, which arithmetic reads as a number.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isinf

from lshdb.errors import UsageError
from lshdb.options import SqlValue

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONSTANTS: dict[str, SqlValue] = {"true": 1, "false": 0, "null": None}
"""Numbers and constants of JSON, as SQLite reads them."""
_TEXT = ":text"
_LARGEST = 1 << 63
_EXACT_DIGITS = 15
"""Digits that SQLite writes of a float."""
_TOKEN = re.compile(
    r"""(?P<skipped>\s+ | --[^\n]* | /\*.*?(?:\*/|$))
    | (?P<quoted>'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\])
    | (?P<parameter>\?[0-9]* | [:@$]\w+)
    | (?P<word>[\w$]+)
    | (?P<operator>->>? | \|\| | <> | <[<=]? | >[>=]? | [!=]= | .)""",
    re.VERBOSE | re.DOTALL,
)
_EQUAL = frozenset(["=", "==", "!=", "<>", "IS", "IN"])
_ORDERED = frozenset(["<", "<=", ">", ">=", "BETWEEN"])
_COMPARING = (_EQUAL | _ORDERED) - {"IN", "BETWEEN"}
_TEXTS = frozenset(["key", "content", "metadata", "name", "note", "verdict", "who", "decided"])
"""Columns of texts, which also have the order of texts."""
_OF_TEXTS = frozenset(["LIKE", "GLOB", "REGEXP", "MATCH", "||"])
_KEYWORDS = """
    AND OR NOT WHEN THEN ELSE SELECT DISTINCT ALL WHERE ON HAVING BY FROM LIMIT OFFSET IN BETWEEN
    LIKE GLOB REGEXP MATCH ESCAPE UNION EXCEPT INTERSECT GROUP ORDER WINDOW ASC DESC AS ISNULL
    NOTNULL RETURNING VALUES
"""
_ENDS = _COMPARING.union(_KEYWORDS.split(), (",", ";"))
"""What no operand of a comparison goes beyond."""
_BINDING = frozenset(["+", "-", "*", "/", "%", "->", "->>", "&", "|", "<<", ">>"])
"""What makes a value beside it a part of an operand."""
_FIELD = re.compile(r"(.*)->>\s*('[^']*'|\?[0-9]+)", re.DOTALL)
_EXTRACTED = re.compile(r"json_extract\s*\(([\w.]+),\s*('[^']*'|\?[0-9]+)\)", re.IGNORECASE)
"""A field of JSON: the object, and the path."""


def with_values(sql: str, values: Sequence[str], what: str) -> tuple[str, list[SqlValue]]:
    """SQL and the values of its ?, in order, as the command line gives them.

    Raises:
        UsageError: the SQL, called `what`, has names for parameters.
    """
    statement = _Statement(sql, [_Value.of(text) for text in values])
    for token in statement.tokens:
        if token.kind == "parameter" and not token.text.startswith("?"):
            raise UsageError(f"{what} has {token.text}: write ? for it, and give each ? a -p VALUE")
    if statement.largest == len(values):
        return statement.rewritten()
    return sql, [*values]  # SQLite says how many it lacks


def _name_of(operand: str) -> str:
    """The name of a column, if that is all; else another text."""
    return operand.rpartition(".")[2].strip('"`[] ').lower()


@dataclass(frozen=True)
class _Value:
    """A value: its text, and the number or constant that it is; the text again if it is none."""

    text: str
    number: SqlValue
    is_rounded: bool = False

    @classmethod
    def of(cls, given: str) -> "_Value":
        text = given.removesuffix(_TEXT)
        if text != given or not (text in _CONSTANTS or _NUMBER.fullmatch(text)):
            return cls(text, text)
        if text in _CONSTANTS:
            return cls(text, _CONSTANTS[text])
        try:
            exact = Decimal(text)
        except ArithmeticError:  # an exponent beyond all numbers
            return cls(text, text)
        is_whole = exact.adjusted() < len(str(_LARGEST)) and exact == exact.to_integral_value()
        if is_whole and -_LARGEST <= int(exact) < _LARGEST:
            return cls(text, int(exact))
        number = float(text)
        is_large = abs(number) >= _LARGEST
        return cls(text, number, is_large and (isinf(number) or Decimal(number) != exact))

    @property
    def is_same(self) -> bool:
        """Whether SQLite writes the number with the characters of the text."""
        if isinstance(self.number, float):
            digits = sum(map(str.isdigit, self.text))
            is_plain = digits <= _EXACT_DIGITS and "e" not in repr(self.number)
            return is_plain and repr(self.number) == self.text
        return str(self.number) == self.text

    @property
    def default(self) -> SqlValue:
        """The value where nothing says what it is compared with."""
        return self.number if self.is_same or self.text in _CONSTANTS else self.text

    @property
    def is_both(self) -> bool:
        """Whether it is a text and a number (or a constant)."""
        return self.number is None or self.number != self.text


@dataclass
class _Token:
    kind: str
    text: str
    piece: int
    number: int = 0

    @property
    def name(self) -> str:
        """An operator or a keyword."""
        return "" if self.kind in ("quoted", "parameter") else self.text.upper()


@dataclass
class _Statement:
    """SQL in tokens, and the values that it gets."""

    sql: str
    values: list[_Value]
    pieces: list[_Token] = field(init=False)
    tokens: list[_Token] = field(init=False)
    largest: int = 0

    def __post_init__(self) -> None:
        self.pieces = [
            _Token(str(each.lastgroup), each[0], index)
            for index, each in enumerate(_TOKEN.finditer(self.sql))
        ]
        self.tokens = [each for each in self.pieces if each.kind != "skipped"]
        for token in self.tokens:
            if token.kind == "parameter" and token.text.startswith("?"):
                # As SQLite counts them.
                token.number = int(token.text[1:] or self.largest + 1)
                self.largest = max(self.largest, token.number)

    def rewritten(self) -> tuple[str, list[SqlValue]]:
        """The SQL with a number for each ?, and the values of all numbers."""
        bound = [value.default for value in self.values]
        numbers: dict[tuple[int, bool], int] = {}

        def parameter(number: int, as_text: bool) -> str:
            """The ? of a value as a text or as a number; both are bound once."""
            if (number, as_text) not in numbers:
                value = self.values[number - 1]
                bound.append(value.text if as_text else value.number)
                numbers[number, as_text] = len(bound)
            return f"?{numbers[number, as_text]}"

        changed = {}
        for index, token in enumerate(self.tokens):
            if not token.number or not (value := self.values[token.number - 1]).is_both:
                continue
            operator, other = self._compared(index)
            if operator in _OF_TEXTS:
                changed[token.piece] = parameter(token.number, True)
            if not other:
                continue
            if operator in _ORDERED and _name_of(other) not in _TEXTS:
                changed[token.piece] = f"CAST({parameter(token.number, False)} AS NUMERIC)"
                continue
            text = number = parameter(token.number, True)
            if not (value.is_rounded and operator in _EQUAL):
                number = parameter(token.number, False)
            else:  # no number of SQLite's is this one; JSON has its digits
                extracted = _FIELD.fullmatch(other) or _EXTRACTED.fullmatch(other)
                if extracted is not None:
                    digits = f"({extracted[1]} -> {extracted[2]})"
                    number = f"CASE {digits} WHEN {text} THEN {other} ELSE {text} END"
            equals = self.tokens[index - 1]
            is_equal = equals.name == operator and operator in ("=", "==")
            if value.is_same and is_equal and self._name(index + 1) != "COLLATE":
                # The same for a column of texts, of numbers or of both, by its index if it has one.
                changed[equals.piece], changed[token.piece] = "IN", f"({text}, {number})"
            else:
                case = f"CASE typeof({other}) WHEN 'text' THEN {text} ELSE {number} END"
                changed[token.piece] = case
        pieces = (changed.get(each.piece, self._plain(each)) for each in self.pieces)
        return "".join(pieces), bound

    @staticmethod
    def _plain(token: _Token) -> str:
        return f"?{token.number}" if token.number else token.text

    def _name(self, index: int) -> str:
        return self.tokens[index].name if 0 <= index < len(self.tokens) else ";"

    def _compared(self, index: int) -> tuple[str, str]:
        """How the value at a token is compared, and with what; nothing if it is not."""
        before, after = self._name(index - 1), self._name(index + 1)
        for beside in (before, after):
            if beside in _OF_TEXTS or beside in _BINDING:
                return beside, ""
        if before in _COMPARING or before == "BETWEEN":
            return before, self._before(index - 2)
        if before in ("NOT", "FROM"):  # IS NOT, IS DISTINCT FROM
            first = index - 1
            while self._name(first) in ("NOT", "DISTINCT", "FROM"):
                first -= 1
            if self._name(first) == "IS":
                return "IS", self._before(first - 1)
        if before == "AND":
            start = self._start(index - 2)
            if self._name(start - 1) == "BETWEEN":
                return "BETWEEN", self._before(start - 2)
        if before in ("(", ","):
            start = self._start(index - 1, ends_at_comma=False)
            if self._name(start - 1) == "(" and self._name(start - 2) == "IN":
                return "IN", self._before(start - 3)
        if after in _COMPARING or after == "BETWEEN":
            return after, self._after(index + 2)
        return "", ""

    def _before(self, last: int) -> str:
        """The operand that ends with a token, or before NOT."""
        last -= self._name(last) == "NOT"
        return self._source(self._start(last), last + 1)

    def _after(self, first: int) -> str:
        """The operand that begins with a token, or after NOT or DISTINCT FROM."""
        while self._name(first) in ("NOT", "DISTINCT", "FROM"):
            first += 1
        end, depth = first, 0
        while end < len(self.tokens):
            name = self._name(end)
            if not depth and (name in _ENDS or name in (")", "END")):
                break
            depth += (name in ("(", "CASE")) - (name in (")", "END"))
            end += 1
        return self._source(first, end)

    def _start(self, last: int, ends_at_comma: bool = True) -> int:
        """The first token of the operand that ends with a token, or of the list of operands."""
        ends = _ENDS if ends_at_comma else _ENDS - {","}
        start, depth = last + 1, 0
        while start:
            name = self._name(start - 1)
            if not depth and (name in ("(", "CASE") or name in ends):
                break
            depth += (name in (")", "END")) - (name in ("(", "CASE"))
            start -= 1
        return start

    def _source(self, start: int, end: int) -> str:
        if start >= end:
            return ""
        first, last = self.tokens[start].piece, self.tokens[end - 1].piece
        return "".join(map(self._plain, self.pieces[first : last + 1]))
