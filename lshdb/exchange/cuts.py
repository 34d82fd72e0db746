"""The list of what is cut out of rows, by which they come back as they were.

A line of JSON for each passage, with the columns of a dropped row. The last line of a row also says
how its bytes were changed: at `offset` of the output, `removed` bytes replace `original`, in
base64. The last line of the list has the `size` of the output.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from lshdb.errors import InputError
from lshdb.exchange.results import dropped_columns, dropped_row
from lshdb.ingest.dedup import Outcome
from lshdb.json_text import dumps, loads
from lshdb.sources.outputs import Output
from lshdb.sources.sinks import rows_of

_COPIED = 1 << 20
"""Bytes copied at once."""


@dataclass(eq=False)
class CutList:
    """Writes the list.

    Attributes:
        file: the list.
        same_format: whether the rows go out in the format that they came in.
    """

    file: Output
    same_format: bool

    def __post_init__(self) -> None:
        self._size: int | None = None

    def write(self, outcome: Outcome) -> None:
        """Write what is cut out of some rows, which are written next."""
        changes = dict(self._changes(outcome)) if self.same_format else {}
        last = dict(outcome.cuts)
        dropped = {index: one for index, one in enumerate(outcome.dropped) if one is not None}
        for index, one in (
            *outcome.cuts,
            *(pair for pair in dropped.items() if pair[0] not in last),
        ):
            line = dict(
                zip(dropped_columns((), copied=True), dropped_row(one, copied=True), strict=True)
            )
            if one is last.get(index, one):
                line |= changes.get(index, {})
            self.file.write(dumps(line).encode() + b"\n")

    def _changes(self, outcome: Outcome) -> Iterator[tuple[int, dict[str, int | str]]]:
        """The changes of the bytes of rows, with the indices of these."""
        if outcome.origin is None:
            return
        now, before = rows_of(outcome.origin), rows_of(outcome.before or outcome.origin)
        if self._size is None:
            self._size = len(now.schema.heading) if now.schema else 0
        both = zip(before.lines(outcome.places), now.lines(outcome.places), strict=True)
        for index, (old, new) in enumerate(both):
            new = b"" if outcome.dropped[index] is not None else new
            if new != old:
                begin = _shared(old, new)
                end = _shared(old[begin:][::-1], new[begin:][::-1])
                yield (
                    index,
                    {
                        "offset": self._size + begin,
                        "removed": len(new) - begin - end,
                        "original": b64encode(old[begin : len(old) - end]).decode(),
                    },
                )
            self._size += len(new)

    def finish(self) -> None:
        """Write the last line."""
        if self._size is not None:
            self.file.write(dumps({"size": self._size}).encode() + b"\n")


def restore(rows: BinaryIO, cuts: BinaryIO, output: Output) -> int:
    """Write rows as they were before passages were cut out; return how many come back.

    Raises:
        InputError: the list is not of these rows, or of another format than JSON lines and CSV.
    """
    at = count = 0
    size = None
    for number, line in enumerate(cuts, 1):
        try:
            change = loads(line)
            if "size" in change:
                size = change["size"]
            if "offset" not in change:
                continue
            offset, removed = int(change["offset"]), int(change["removed"])
            original = b64decode(change["original"], validate=True)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError(
                f"line {number} of the list is not one that dedup --cut wrote"
            ) from error
        _copy(rows, output, offset - at)
        output.write(original)
        if len(rows.read(removed)) < removed:
            raise InputError(_CHANGED)
        at, count = offset + removed, count + 1
    if size is None:
        raise InputError("the list is not complete, or of rows that are not JSON lines or CSV")
    _copy(rows, output, size - at)
    if rows.read(1):
        raise InputError(_CHANGED)
    return count


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    both = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in both if a != b), min(len(one), len(other)))


_CHANGED = "these are not the rows that the list was written with, or they have changed since"


def _copy(rows: BinaryIO, output: Output, count: int) -> None:
    while count > 0:
        piece = rows.read(min(count, _COPIED))
        if not piece:
            raise InputError(_CHANGED)
        output.write(piece)
        count -= len(piece)
    if count < 0:
        raise InputError(_CHANGED)
