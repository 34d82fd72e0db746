"""How the values of a field compare, where a field says which of similar documents stays.

One meaning for files, data of a program and stored documents: numbers compare exactly, also texts
that are numbers; points in time as such, also texts of ISO 8601, all with an offset from UTC or all
without; ordered categories by their order. Missing and empty values and NaN come last. Any other
value does not compare with another one.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal

import numpy as np

from lshdb import json_text
from lshdb.errors import ColumnWarning, Cut, InputError, UsageError, warn_of_limit
from lshdb.formatting import counted
from lshdb.keys import MISSING
from lshdb.read.batch import Batch, Category
from lshdb.read.metadata import picked
from lshdb.read.paths import escaped

Kind = str | tuple[str, ...]
"""What a value is compared as; of a category, all categories in order."""
_NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,9})?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
_EXPONENTS = 1 << 63
"""Added to exponents, so that they are positive."""
_SHOWN = 100


@dataclass(eq=False)
class FieldOrder:
    """Ranks the values of a field one by one; the first one that compares says as what.

    Attributes:
        name: the field.
        unordered: whether a value that does not compare with the others stops the run, or is last.
        missing: how many values were missing, empty or NaN.
        not_compared: how many did not compare, and are last.
        count: how many were ranked.
    """

    name: str
    unordered: Literal["stop", "last"] = "stop"
    missing: int = 0
    not_compared: int = 0
    count: int = 0
    _kind: Kind = field(default="", init=False)
    _first: tuple[object, str] = field(default=("", ""), init=False)

    def ranks(self, batch: Batch) -> list[bytes | None]:
        """The ranks of the documents of a batch."""
        if batch.order_values:
            assert batch.origin is not None, "rows have their places"
            return [*map(self.rank, batch.order_values, map(batch.origin.where, batch.indices))]
        # Of texts, whose fields are metadata.
        places = [file or key for key, (file, _) in zip(batch.keys, batch.where(), strict=True)]
        return [*map(self.rank_stored, batch.all_metadata(), places)]

    def rank_stored(self, metadata: str | None, key: str) -> bytes | None:
        """The rank of a document by its metadata as stored."""
        return self.rank(picked(metadata, [self.name])[self.name], escaped(key))

    def rank(self, value: object, where: str) -> bytes | None:
        """Bytes that sort as the values do; None for a value that comes last.

        Args:
            value: of any type; a text may be a number or a time.
            where: the file and row of the value, or the key of its document.

        Raises:
            InputError: it does not compare with the values before it.
        """
        comparable = _comparable(value)
        if comparable is None:
            self.missing += 1
            return None
        kind, rank = comparable
        is_last = self.unordered == "last"
        if not self._kind and not (kind == "text" and is_last):
            self._kind, self._first = kind, (value, where)
        if kind != self._kind or (kind == "text" and value != self._first[0]):
            if is_last:
                self.not_compared += 1
                return None
            earlier, earlier_where = self._first
            raise InputError(
                f"{where}: {_shown(value)} in field {self.name!r} does not compare with "
                f"{_shown(earlier)} ({earlier_where}): numbers do, and times of ISO 8601, all with "
                "an offset or all without; --unordered last ranks other values last"
            )
        self.count += 1
        return rank

    def finish(self, noun: str) -> None:
        """Issue a ColumnWarning that counts the values that come last.

        Args:
            noun: what has the values.

        Raises:
            UsageError: all values are missing.
        """
        if self.missing and not self.count + self.not_compared:
            raise UsageError(f"no {noun} has a value in field {self.name!r}")
        counts = [
            (self.missing, "without a value"),
            (self.not_compared, "whose value does not compare with the others"),
        ]
        for count, which in counts:
            if count:
                text = f"field {self.name!r}: {counted(count, noun)} {which}, ranked last"
                warn_of_limit(Cut("order", count, text), ColumnWarning)


def _comparable(value: object) -> tuple[Kind, bytes] | None:
    """What a value is compared as, and bytes that sort as the values of this kind do.

    None if it is missing: None, NaN or the like, or a text that is empty or says NaN.
    """
    if isinstance(value, Category):
        return value.names, _sortable(Decimal(value.code))
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    if isinstance(value, bool):
        return "boolean", _sortable(Decimal(value))
    if not isinstance(value, int | float | Decimal):
        text = _text_of(value).strip()
        if not text or type(value).__name__ in MISSING or text == "null" != value:
            return None
        if not _NUMBER.fullmatch(text):
            return _moment(text) or ("text", b"")
        value = text
    number = Decimal(value)
    return None if number.is_nan() else ("number", _sortable(number))


def _text_of(value: object) -> str:
    """A value as a text: the one that JSON has for it, else JSON itself, or Python's."""
    try:
        text = json_text.dumps(value)
    except (ArithmeticError, RecursionError, TypeError, ValueError):
        return str(value)
    return str(json_text.loads(text.encode())) if text.startswith('"') else text


def _moment(text: str) -> tuple[Kind, bytes] | None:
    """The same for a date or a time; None for a text that is neither."""
    of_day = f"1970-01-01T{text.removeprefix('T')}"
    for whole in (text, f"{text}-01", of_day):  # the second one of a month
        with suppress(ValueError):
            moment = datetime.fromisoformat(whole)
            break
    else:
        return None
    kind = "time of day" if whole is of_day else "time"
    if moment.tzinfo is not None:
        kind += " with an offset"
    epoch = datetime(1970, 1, 1, tzinfo=moment.tzinfo and UTC)
    # Python has six digits of the fraction, and the text may have more.
    seconds = Decimal((moment.replace(microsecond=0) - epoch) // timedelta(seconds=1))
    fraction = re.search(r"[.,](\d+)", text)
    return kind, _sortable(seconds) + (fraction[1].rstrip("0").encode() if fraction else b"")


def _sortable(number: Decimal) -> bytes:
    """Bytes that sort as numbers do, without a loss: sign, exponent, digits, and an end.

    >>> ranks = [_sortable(Decimal(text)) for text in ("-Infinity", "-3", "-2.5", "0", "2.5", "20")]
    >>> ranks == sorted(ranks)
    True
    """
    sign, digits, _ = number.as_tuple()
    if number.is_infinite():
        return b"\0" if sign else b"\4"
    if not number:
        return b"\2"
    text = "".join(map(str, digits)).rstrip("0").encode() + b"\0"
    size = (number.adjusted() + _EXPONENTS).to_bytes(9, "big") + text
    return b"\1" + bytes(255 - byte for byte in size) if sign else b"\3" + size


def _shown(value: object) -> str:
    text = _text_of(value)
    return f"{text!r}" if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."
