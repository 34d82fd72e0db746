"""Values of the command line in SQL: what each -p VALUE is compared with.

The command line gives texts, and `metadata ->> '$.year'` is a number if the documents come from
JSON, a text from CSV. A value equals the text as it is written, and the number that it writes: of
both SQLite knows only one. So a value that is compared becomes

    CASE typeof(X) WHEN 'text' THEN the text ELSE the number END

where X is what it is compared with: the other side of an operator, or what stands before IN or
BETWEEN. SQLite decides for each row. To convert what is compared instead (by CAST) finds others:
the text 1000 for 1e3, and one large number for another that rounds to the same. Only for < and > it
is converted, unless it is a column of texts such as key: scores from CSV have the order of numbers.

In arithmetic, arguments of functions, LIMIT and the columns of a result, a value is a number if
SQLite writes that number with the same characters, else a text, which arithmetic reads as a number.

This reads tokens and is no parser of SQL. So a value that is a text and a number is refused where
it is unclear what it is compared with: in rows, VALUES and subqueries, before IN, in
CASE x WHEN ?, and beside another comparison (x < y = ?).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isinf

from lshdb.errors import UsageError
from lshdb.options import SqlValue
from lshdb.sources.paths import escaped

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CONSTANTS: dict[str, SqlValue] = {"true": 1, "false": 0, "null": None}
"""Numbers and constants of JSON, as SQLite reads them."""
_TEXT = ":text"
_LARGEST = 1 << 63
_VALUE_SHOWN = 60
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
    NOTNULL RETURNING VALUES JOIN NATURAL LEFT RIGHT FULL INNER CROSS USING
"""
_ENDS = _COMPARING.union(_KEYWORDS.split(), (",", ";"))
"""What no operand of a comparison goes beyond."""
_CONDITIONS = frozenset(["WHERE", "ON", "HAVING", "AND", "OR", "BY"])
_OPENING = _CONDITIONS.union(
    ["(", ",", ";", "CASE", "WHEN", "THEN", "ELSE", "SELECT", "DISTINCT", "ALL"]
)
"""What may stand before a comparison."""
_PLAIN = frozenset(["(", ",", "SELECT", "DISTINCT", "ALL"])
"""What may stand before a value that is not compared, in some lists."""
_LISTS = frozenset(
    ["(", "SELECT", "FROM", "WHERE", "ON", "HAVING", "BY", "LIMIT", "OFFSET", "VALUES"]
)
"""What begins a list of values, or ends the list before it."""
_COMPARED_FURTHER = (_COMPARING | _OF_TEXTS - {"||"}).union(
    ["IN", "BETWEEN", "ISNULL", "NOTNULL", "NOT"]
)
"""What compares the result of a comparison that stands before it."""
_BINDING = frozenset(["+", "-", "*", "/", "%", "->", "->>", "&", "|", "<<", ">>"])
"""What makes a value beside it a part of an operand."""
_COLLATED = re.compile(r"\)*\s+COLLATE\s+\w+\s*$", re.IGNORECASE)
_FIELD = re.compile(r"(.*)->>\s*('[^']*'|\?[0-9]+)", re.DOTALL)
_EXTRACTED = re.compile(r"json_extract\s*\(([\w.]+),\s*('[^']*'|\?[0-9]+)\)", re.IGNORECASE)
"""A field of JSON: the object, and the path."""


def with_values(sql: str, values: Sequence[str], what: str) -> tuple[str, list[SqlValue]]:
    """SQL and the values of its ?, in order, as the command line gives them.

    Raises:
        UsageError: the SQL, called `what`, has names for parameters, or one that is a text and a
            number is used where it is unclear what it is compared with.
    """
    statement = _Statement(sql, [_Value.of(text) for text in values], what)
    for token in statement.tokens:
        if token.kind == "parameter" and not token.text.startswith("?"):
            raise UsageError(f"{what} has {token.text}: write ? for it, and give each ? a -p VALUE")
    if statement.largest == len(values):
        return statement.rewritten()
    return sql, [*values]  # SQLite says how many it lacks


def _name_of(operand: str) -> str:
    """The name of a column, if that is all but parentheses and COLLATE; else another text."""
    return _COLLATED.sub("", operand.strip("() ")).rpartition(".")[2].strip('"`[]() ').lower()


@dataclass(frozen=True, slots=True)
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
    def is_text_and_number(self) -> bool:
        """Whether it is a text and a number (or a constant)."""
        return self.number is None or self.number != self.text


@dataclass
class _Token:
    """A token, the blanks and comments before it, and the number of a parameter."""

    kind: str
    text: str
    before: str
    number: int = 0

    @property
    def name(self) -> str:
        """An operator or a keyword."""
        return "" if self.kind in ("quoted", "parameter") else self.text.upper()

    @property
    def plain(self) -> str:
        """The token, with its number if it is a ?."""
        return f"?{self.number}" if self.number else self.text


@dataclass
class _Statement:
    """SQL in tokens, and the values that it gets."""

    sql: str
    values: list[_Value]
    what: str

    def __post_init__(self) -> None:
        self.tokens: list[_Token] = []
        self.largest, self._rest = 0, ""
        for match in _TOKEN.finditer(self.sql):
            if match.lastgroup == "skipped":
                self._rest += match[0]
                continue
            token = _Token(str(match.lastgroup), match[0], self._rest)
            if token.kind == "parameter" and token.text.startswith("?"):
                # As SQLite counts them.
                token.number = int(token.text[1:] or self.largest + 1)
                self.largest = max(self.largest, token.number)
            self.tokens.append(token)
            self._rest = ""

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

        changed: dict[int, str] = {}
        copied: list[tuple[int, range]] = []
        for index, token in enumerate(self.tokens):
            if not token.number or not (value := self.values[token.number - 1]).is_text_and_number:
                continue
            operator, operand = self._compared(index)
            if operator in _OF_TEXTS:
                changed[index] = parameter(token.number, True)
            if operand is None:
                continue
            words = self.tokens[operand.start : operand.stop]
            other = "".join(word.before * (word is not words[0]) + word.plain for word in words)
            if operator in _ORDERED and _name_of(other) not in _TEXTS:
                changed[index] = f"CAST({parameter(token.number, False)} AS NUMERIC)"
                continue
            text = number = parameter(token.number, True)
            if not (value.is_rounded and operator in _EQUAL):
                number = parameter(token.number, False)
            else:  # no number of SQLite's is this one; JSON has its digits
                extracted = _FIELD.fullmatch(other) or _EXTRACTED.fullmatch(other)
                if extracted is not None:
                    digits = f"({extracted[1]} -> {extracted[2]})"
                    number = f"CASE {digits} WHEN {text} THEN {other} ELSE {text} END"
            is_equal = self._name(index - 1) == operator and operator in ("=", "==")
            if value.is_same and is_equal and self._name(index + 1) != "COLLATE":
                # The same for a column of texts, of numbers or of both, by its index if it has one.
                changed[index - 1], changed[index] = "IN", f"({text}, {number})"
            else:
                changed[index] = f"CASE typeof({other}) WHEN 'text' THEN {text} ELSE {number} END"
                copied.append((index, operand))
        for index, operand in copied:
            if not changed.keys().isdisjoint(operand):  # the copy has other values than the operand
                raise self._unclear(index)
        written = (
            token.before + changed.get(index, token.plain)
            for index, token in enumerate(self.tokens)
        )
        return "".join(written) + self._rest, bound

    def _name(self, index: int) -> str:
        return self.tokens[index].name if 0 <= index < len(self.tokens) else ";"

    def _unclear(self, index: int) -> UsageError:
        value = escaped(self.values[self.tokens[index].number - 1].text[:_VALUE_SHOWN])
        return UsageError(
            f"{self.what} has a ? for {value} where it is unclear what the value is compared "
            f"with: give -p {value}:text for the text, or write ? + 0 for the number"
        )

    def _compared(self, index: int) -> tuple[str, range | None]:
        """How the value at a token is compared, and the tokens of what it is compared with.

        Raises:
            UsageError: that is unclear.
        """
        first = last = index
        while self._name(first - 1) == "(" and self._name(last + 1) == ")":
            if self._name(first - 2) == "IN" or self._is_function(first - 2):
                break
            first, last = first - 1, last + 1
        before = self._name(first - 1)
        follows = last + (3 if self._name(last + 1) == "COLLATE" else 1)
        after = self._name(follows)
        if "||" in (before, after) or before in _OF_TEXTS:
            return "||", None
        if before in _BINDING or after in _BINDING:
            return "", None
        if after == "AS" and self._name(follows + 1) == "TEXT":  # CAST
            return "||", None
        operator, end = self._operator_before(first, after)
        if operator:
            if after in _COMPARED_FURTHER:
                raise self._unclear(index)
            start = self._start(end)
            self._check_opening(start, index)
            return operator, range(start, end + 1)
        if after in _OF_TEXTS:
            return after, None
        if after in _COMPARING or after == "BETWEEN":
            self._check_opening(first, index)
            start = follows + 1
            while self._name(start) in ("NOT", "DISTINCT", "FROM"):
                start += 1
            end = self._end(start, 1)
            if self._name(end) in _COMPARED_FURTHER:
                raise self._unclear(index)
            return after, range(start, end)
        if after in _COMPARED_FURTHER or not self._is_plain(first):
            raise self._unclear(index)
        return "", None

    def _operator_before(self, first: int, after: str) -> tuple[str, int]:
        """The operator that compares a value with what stands before, and the end of that."""
        before = self._name(first - 1)
        operator, end = "", first - 2
        if before in _COMPARING or before == "BETWEEN":
            operator = before
        elif before in ("NOT", "FROM"):  # IS NOT, IS DISTINCT FROM
            while self._name(end + 1) in ("NOT", "DISTINCT", "FROM"):
                end -= 1
            operator, end = ("IS", end) if self._name(end + 1) == "IS" else ("", end)
        elif before == "AND":
            start = self._start(end)
            if self._name(start - 1) == "BETWEEN":
                operator, end = "BETWEEN", start - 2
        elif before in ("(", ",") and after in (")", ","):
            opening = self._opening(first)
            if self._name(opening) == "(" and self._name(opening - 1) == "IN":
                operator, end = "IN", opening - 2
        return operator, end - (self._name(end) == "NOT")

    def _check_opening(self, first: int, index: int) -> None:
        """UsageError if what begins with a token is compared, too, before the value is."""
        opening = first - 1
        while self._name(opening) == "NOT":
            opening -= 1
        is_between = self._name(opening) == "AND" and (
            self._name(self._start(opening - 1) - 1) == "BETWEEN"
        )
        if is_between or self._name(opening) not in _OPENING:
            raise self._unclear(index)

    def _is_plain(self, first: int) -> bool:
        """Whether a value that is not compared is so for good, and no row, subquery or CASE."""
        before = self._name(first - 1)
        if before in _CONDITIONS or before in ("NOT", "LIMIT", "OFFSET"):
            return True
        opening = self._opening(first)
        if before not in _PLAIN or self._name(opening) in ("VALUES", "FROM"):
            return False
        if self._name(opening) == "(":
            return self._is_function(opening - 1)
        return self._name(opening) != "SELECT" or self._opening(opening, "(") < 0

    def _opening(self, first: int, *names: str) -> int:
        """The parenthesis or keyword that begins the list which a token is in; -1 if none does."""
        depth = 0
        for index in range(first - 1, -1, -1):
            name = self._name(index)
            if not depth and name in (names or _LISTS):
                return index
            depth += (name == ")") - (name == "(")
        return -1

    def _is_function(self, index: int) -> bool:
        """Whether a token is the name of a function, if a parenthesis follows."""
        if index < 0:
            return False
        token = self.tokens[index]
        return token.kind == "quoted" or (
            token.kind == "word" and token.name not in _ENDS | _OPENING
        )

    def _start(self, last: int) -> int:
        """The first token of the operand that ends with a token."""
        return self._end(last, -1) + 1

    def _end(self, index: int, step: int) -> int:
        """The token behind an operand that begins with a token, or before it for a step of -1."""
        opening, closing = (("(", "CASE"), (")", "END"))[::step]
        depth = 0
        while 0 <= index < len(self.tokens):
            name = self._name(index)
            if not depth and (name in _ENDS or name in closing):
                break
            depth += (name in opening) - (name in closing)
            index += step
        return index
