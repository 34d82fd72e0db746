"""The list of passages that are cut out of rows; the rows are restored from it.

Each passage has a line of JSON with the columns of a dropped row. The first line of a row also says
how its bytes were changed: at `offset` of the output, `removed` bytes replace `original`, which is
in base64. Blank lines between rows, which the output lacks, have a line with these three alone. The
last line of the list has the `size` of the output.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from os.path import commonprefix
from typing import BinaryIO

from lshdb import json_text
from lshdb.apps.dedup.deciding import DecidedBatch
from lshdb.errors import InputError
from lshdb.read.json_rows import is_blank
from lshdb.read.outputs import Output
from lshdb.read.sinks import rows_of
from lshdb.search import result_tables

_Change = dict[str, int | str]
_PIECE = 1 << 20
"""Maximum bytes that are read together."""
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

    def write(self, rows: DecidedBatch) -> None:
        """Write the lines of rows that are written next."""
        changes = dict(self._changes(rows)) if self.same_format else {}
        cuts = [*rows.cuts]
        cut = {index for index, _ in cuts}
        dropped_whole = [
            (index, dropped)
            for index, dropped in enumerate(rows.dropped)
            if dropped and index not in cut
        ]
        blanks = [(index, None) for index, is_row in changes if not is_row]
        columns = result_tables.dropped_columns((), copied=True)
        # Blank lines come before the row whose index they have.
        for index, row in sorted((*blanks, *cuts, *dropped_whole), key=itemgetter(0)):
            line = changes.pop((index, row is not None), {})
            if row is not None:
                line = (
                    dict(zip(columns, result_tables.dropped_row(row, copied=True), strict=True))
                    | line
                )
            self.file.write(json_text.dumps(line).encode() + b"\n")

    def _changes(self, rows: DecidedBatch) -> Iterator[tuple[tuple[int, bool], _Change]]:
        """The changes of bytes, each with the index of its row and True.

        Blank lines, which the output lacks, have the index of the next row and False.
        """
        if rows.origin is None:
            return
        written, before = rows_of(rows.origin), rows_of(rows.before or rows.origin)
        if self._size is None:
            self._size = len(written.schema.heading) if written.schema else 0
        lines = range(len(rows.origin.numbers))
        line_pairs = zip(before.lines(lines), written.lines(lines), strict=True)
        index, row_indices, blanks = 0, {*rows.indices}, list[bytes]()
        for line_index, (old, new) in enumerate(line_pairs):
            if line_index not in row_indices:
                blanks += [old] if is_blank(old) else ()
                continue
            if blanks:
                yield (index, False), _change(self._size, 0, b"".join(blanks))
                blanks.clear()
            old, new = bytes(old), b"" if rows.dropped[index] is not None else bytes(new)
            if new != old:
                begin = len(commonprefix((old, new)))  # noqa: RUF071  # of bytes
                reversed_ends = old[begin:][::-1], new[begin:][::-1]
                end = len(commonprefix(reversed_ends))  # noqa: RUF071
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
            self.file.write(json_text.dumps({"size": self._size}).encode() + b"\n")


def _change(offset: int, removed: int, original: bytes) -> _Change:
    return {"offset": offset, "removed": removed, "original": b64encode(original).decode()}


def restore(rows: BinaryIO, cuts: BinaryIO, output: Output) -> int:
    """Write rows as they were before passages were cut out; return the number of rows that changed.

    Raises:
        InputError: the list is not of these rows, or of another format than JSON lines and CSV.
    """
    position = count = 0
    size = None
    for number, line in enumerate(cuts, 1):
        try:
            change = json_text.loads(line)
            size = int(change["size"]) if "size" in change else None
            if "offset" not in change:
                continue
            offset, removed = int(change["offset"]), int(change["removed"])
            original = b64decode(change["original"], validate=True)
        except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise InputError(f"line {number} of the list is not of dedup --cut") from error
        _pass(rows, offset - position, output.write)
        output.write(original)
        _pass(rows, removed, len)
        position, count = offset + removed, count + ("key" in change)
    if size is None:
        raise InputError("the list is not complete, or of rows that are not JSON lines or CSV")
    _pass(rows, size - position, output.write)
    if rows.read(1):
        raise InputError(_CHANGED)
    return count


def _pass(rows: BinaryIO, count: int, use: Callable[[bytes], int]) -> None:
    """Pass a number of bytes on, piece by piece; InputError if there are fewer."""
    while piece := rows.read(max(0, min(count, _PIECE))):
        use(piece)
        count -= len(piece)
    if count:
        raise InputError(_CHANGED)
