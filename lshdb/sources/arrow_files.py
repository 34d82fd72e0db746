"""Files of Parquet and Arrow, read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final, Literal

from lshdb.errors import InputError
from lshdb.sources.records import Lines, RecordParser

if TYPE_CHECKING:
    import pyarrow as pa

_FILE_MAGIC: Final = b"ARROW1"


def blocks(
    file: BinaryIO,
    path: str | None,
    name: str,
    format: Literal["parquet", "arrow"],
    parser: RecordParser,
    on_read: Callable[[float], None],
) -> Iterator[Lines]:
    """Cut a file into blocks of rows (see arrow_rows), with only the columns that are wanted.

    Memory is bounded by a page of each column of Parquet, and by the largest record batch that
    is in an Arrow file.

    Args:
        file: opened for reading; one of Parquet must be able to seek.
        path: where one of Parquet can be opened again, so that blocks need not have its rows but
            only tell where they are.
        name: the file's, as printed.
        format: which of them it is.
        parser: says which columns are wanted.
        on_read: called now and then with the share of the file that was read, 0 to 1.

    Raises:
        InputError: no pyarrow, a damaged file, or one without the columns that are needed.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InputError("Parquet and Arrow take pyarrow: pip install 'lshdb[arrow]'") from error
    from lshdb.sources import arrow_rows, parquet_rows

    if format == "arrow":
        batches = _of_arrow(file, parser, on_read)
        yield from arrow_rows.blocks(batches, parser, name, "not Arrow, or damaged")
        return
    if not file.seekable():
        raise InputError("Parquet is read from its end, so it cannot come from a pipe")
    stretches = parquet_rows.stretches(file, path, name, parser, on_read)
    if path is not None:
        yield from stretches
    else:
        rows = parquet_rows.ParquetRows(file)
        for lines in stretches:
            yield from rows.blocks(lines, parser, lines.count)


def _of_arrow(
    file: BinaryIO, parser: RecordParser, on_read: Callable[[float], None]
) -> Iterator[pa.RecordBatch]:
    """The record batches of an Arrow IPC file, or stream, as they are in it."""
    import pyarrow.ipc as ipc

    if file.seekable() and file.read(len(_FILE_MAGIC)) == _FILE_MAGIC:
        with ipc.open_file(file) as source:
            wanted = _check(source.schema, parser)
            for number in range(source.num_record_batches):
                batch = source.get_batch(number)
                on_read((number + 1) / source.num_record_batches)
                yield batch.select(wanted)
        return
    size = 0
    if file.seekable():
        size = file.seek(0, 2)
        file.seek(0)
    with ipc.open_stream(file) as source:
        wanted = _check(source.schema, parser)
        for batch in source:
            if size:
                on_read(min(1.0, file.tell() / size))
            yield batch.select(wanted)


def _check(schema: pa.Schema, parser: RecordParser) -> list[str]:
    """The names of the columns that are read; InputError where one has a type that cannot be."""
    from lshdb.sources.arrow_rows import wanted_columns

    parser.check_columns(schema.names)  # whose messages name the options
    return list(wanted_columns(schema, parser))
