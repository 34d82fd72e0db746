"""From blocks of rows, however they are written, to documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from lshdb.errors import InputError
from lshdb.sources.lines import LineRows
from lshdb.sources.records import Failure, Lines, RecordParser, Row

if TYPE_CHECKING:
    from lshdb.sources.parquet_rows import ParquetRows


class Rows:
    """Parses blocks of rows; of those that are in files it keeps one open, for the next block.

    Use as a context manager, or `close` it.
    """

    def __init__(self) -> None:
        self._lines = LineRows()
        self._parquet: ParquetRows | None = None

    def __enter__(self) -> Rows:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._lines.close()
        if self._parquet is not None:
            self._parquet.close()

    def numbered(self, lines: Lines, parser: RecordParser) -> Iterator[tuple[int, Row]]:
        """What the rows of a block are.

        Each comes with the place of its row (of CSV: its first line) in the block, from 0.

        Raises:
            InputError, OSError: the rows of a file cannot be read, or not at once: see `again`.
        """
        if lines.format == "jsonl":
            if lines.stretch is None:
                return parser.numbered(lines)
            read = self._lines.read(lines)
            return parser.numbered(read, lambda: self._lines.first(lines))
        # Loaded only where they are needed: in most processes that sign, none is.
        if lines.format in ("arrow", "parquet"):
            from lshdb.sources import arrow_rows

            if lines.stretch is None:
                return arrow_rows.documents(lines, parser)
            return arrow_rows.documents_of(self._of_parquet().read(lines, parser), lines, parser)
        from lshdb.sources import csv_rows

        return csv_rows.documents(lines, parser)

    def again(self, lines: Lines, parser: RecordParser) -> Iterator[Lines | Failure]:
        """The rows of a file in blocks that have them; a Failure in place of those from where
        they cannot be read, and nothing for later blocks of that file.
        """
        assert lines.stretch is not None
        file = lines.stretch.file
        if file.broken:
            return
        try:
            if lines.format == "jsonl":
                yield replace(self._lines.read(lines), first=self._lines.first(lines))
            else:
                yield from self._of_parquet().blocks(lines, parser)
        except (InputError, OSError) as error:
            file.broken = True
            reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else error
            yield Failure(lines.name, str(reason))

    def _of_parquet(self) -> ParquetRows:
        if self._parquet is None:
            from lshdb.sources.parquet_rows import ParquetRows

            self._parquet = ParquetRows()
        return self._parquet
