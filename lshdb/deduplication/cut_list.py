"""The list of what is cut out of rows, by which they come back as they were.

A line of JSON for each passage, with the columns of a dropped row. The first line of a row says,
too, how its bytes were changed: at `offset` of the output, `removed` bytes replace `original`, in
base64. Blank lines between rows, which the output lacks, have a line with that alone. The last line
of the list has the `size` of the output.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from os.path import commonprefix
from typing import BinaryIO

from lshdb.deduplication.deciding import Decided
from lshdb.errors import InputError
from lshdb.exchange.result_tables import dropped_columns, dropped_row
from lshdb.json_text import dumps, loads
from lshdb.sources.json_rows import is_blank
from lshdb.sources.outputs import Output
from lshdb.sources.sinks import rows_of

_Change = dict[str, int | str]
_AT_ONCE = 1 << 20
"""Bytes that are read at once."""
_CHANGED = "these are not the rows that the list was written with, or they have changed since"


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

    def write(self, rows: Decided) -> None:
        """Write what is cut out of some rows, which are written next."""
        changes = dict(self._changes(rows)) if self.same_format else {}
        cut = {index for index, _ in rows.cuts}
        gone = [(i, one) for i, one in enumerate(rows.dropped) if one and i not in cut]
        blanks = [(index, None) for index, is_row in changes if not is_row]
        columns = dropped_columns((), copied=True)
        # Blank lines come before the row whose index they have.
        for index, one in sorted((*blanks, *rows.cuts, *gone), key=itemgetter(0)):
            line = changes.pop((index, one is not None), {})
            if one is not None:
                line = dict(zip(columns, dropped_row(one, copied=True), strict=True)) | line
            self.file.write(dumps(line).encode() + b"\n")

    def _changes(self, rows: Decided) -> Iterator[tuple[tuple[int, bool], _Change]]:
        """The changes of the bytes of rows, with the indices of these.

        With False, they are blank lines before the row of this index, which the output lacks.
        """
        if rows.origin is None:
            return
        now, before = rows_of(rows.origin), rows_of(rows.before or rows.origin)
        if self._size is None:
            self._size = len(now.schema.heading) if now.schema else 0
        lines = range(len(rows.origin.numbers))
        both = zip(before.lines(lines), now.lines(lines), strict=True)
        index, places, blanks = 0, {*rows.indices}, list[bytes]()
        for place, (old, new) in enumerate(both):
            if place not in places:
                blanks += [old] if is_blank(old) else ()
                continue
            if blanks:
                yield (index, False), _change(self._size, 0, b"".join(blanks))
                blanks.clear()
            old, new = bytes(old), b"" if rows.dropped[index] is not None else bytes(new)
            if new != old:
                begin = len(commonprefix((old, new)))  # noqa: RUF071  # of bytes
                rest = old[begin:][::-1], new[begin:][::-1]
                end = len(commonprefix(rest))  # noqa: RUF071
                removed = len(new) - begin - end
                change = _change(self._size + begin, removed, old[begin : len(old) - end])
                yield (index, True), change
            self._size += len(new)
            index += 1
        if blanks:
            yield (index, False), _change(self._size, 0, b"".join(blanks))

    def finish(self) -> None:
        """Write the last line."""
        if self._size is not None:
            self.file.write(dumps({"size": self._size}).encode() + b"\n")


def _change(offset: int, removed: int, original: bytes) -> _Change:
    return {"offset": offset, "removed": removed, "original": b64encode(original).decode()}


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
            size = int(change["size"]) if "size" in change else None
            if "offset" not in change:
                continue
            offset, removed = int(change["offset"]), int(change["removed"])
            original = b64decode(change["original"], validate=True)
        except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise InputError(f"line {number} of the list is not of dedup --cut") from error
        _pass(rows, offset - at, output.write)
        output.write(original)
        _pass(rows, removed, len)
        at, count = offset + removed, count + ("key" in change)
    if size is None:
        raise InputError("the list is not complete, or of rows that are not JSON lines or CSV")
    _pass(rows, size - at, output.write)
    if rows.read(1):
        raise InputError(_CHANGED)
    return count


def _pass(rows: BinaryIO, count: int, use: Callable[[bytes], int]) -> None:
    """Read a number of bytes, piece by piece; InputError if there are fewer."""
    while piece := rows.read(max(0, min(count, _AT_ONCE))):
        use(piece)
        count -= len(piece)
    if count:
        raise InputError(_CHANGED)
