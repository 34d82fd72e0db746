"""The tables of an input, and the files that their rows go to."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from lshdb.errors import InputError, UsageError
from lshdb.model import Failure
from lshdb.options import WalkingOptions
from lshdb.read import counts, formats, kinds, outputs, walking
from lshdb.read.compression import without_compression
from lshdb.read.files import File, FilesRead, resolved
from lshdb.read.paths import (
    expanded,
    opened,
    pattern_top,
    printable_path,
    rows_format_of,
)

_ROW = re.compile(rb"\[?\s*\{\s*[\"}]")
"""How lines and arrays of JSON begin."""
_ROWS = re.compile(rb"\A\[|\}\s*\n\s*\{")
"""How an array begins, or what is between lines of JSON and within no value."""
_BEFORE_ROW = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
"""Byte order marks, half of the characters of UTF-16, and blanks."""
_START = 1 << 16


class Tables(NamedTuple):
    """The tables of an input.

    Attributes:
        inputs: paths and patterns, as they were given.
        names: the tables by their paths, with their names: paths from the directory that each was
            found in, or from the part of a pattern before its first `*` or the like; else without
            their directories.
        rowless: files of JSON in directories that hold no rows, likewise.
    """

    inputs: Sequence[str]
    names: dict[str, str]
    rowless: dict[str, str]


def find_tables(
    inputs: Sequence[str],
    rules: WalkingOptions,
    skipped_files: counts.SkippedFiles,
    files_read: FilesRead,
    *,
    all_json: bool = False,
) -> Tables:
    """The named tables, and the files of directories that are tables by their suffix.

    Each file is there once, although several paths may lead to it.

    Args:
        inputs: paths and patterns.
        rules: which files of directories.
        skipped_files: counts the others, and files that are reached again.
        files_read: files that are reached elsewhere; the tables are added.
        all_json: whether files of JSON without rows are tables, too.

    Raises:
        UsageError: a database.
        InputError, OSError: a file or directory that cannot be read, or has no table in it.
    """
    tables, rowless = dict[str, str](), None if all_json else dict[str, str]()

    def take(file: File, name: str) -> str:
        check_readable(file)
        if earlier := files_read.earlier(file):
            skipped_files.add_repeated(file.path, earlier)
        else:
            tables[file.path] = name
        return name

    walks: list[tuple[str, walking.Walk, list[str]]] = []
    for pattern in inputs:
        top = pattern_top(pattern)
        for path in expanded([pattern]):
            file = resolved(path)
            if not file.is_directory:
                take(file, os.path.basename(path) if top is None else _name_below(path, top))
                continue
            walk = walking.Walk(path, rules, skipped_files, files_read=files_read)
            above = path if top is None else top
            files = _tables_among(walk, above, skipped_files, rowless)
            walks.append((above, walk, [take(*each) for each in files]))
    for above, walk, names in walks:
        files = _tables_among(walk.through_links(), above, skipped_files, rowless)
        names += [take(*each) for each in files]
        if not names:
            follow = "; links to directories take --follow" if skipped_files["links"] else ""
            raise InputError(
                f"{printable_path(walk.directory)}: no table in it: none of its files ends in "
                f".jsonl, .csv, .parquet or .arrow{follow}"
            )
    return Tables(inputs, tables, rowless or {})


def _tables_among(
    files: Iterable[File | Failure],
    top: str,
    skipped_files: counts.SkippedFiles,
    rowless: dict[str, str] | None,
) -> Iterator[tuple[File, str]]:
    """The tables among the files of a directory, with their names; see find_tables."""
    for file in files:
        if isinstance(file, Failure):
            raise InputError(f"{file.where}: {file.reason}")
        path, name = file.path, _name_below(file.path, top)
        format = rows_format_of(path)
        start = _start_of_text(path) if rowless is not None and format == "json" else None
        # Neither an array nor several lines, as what describes data.
        if rowless is not None and start is not None and not _ROWS.search(start):
            skipped_files.add("tables", path, "JSON without rows")
            rowless[path] = name
        elif format == "xlsx" and (why := formats.why_unread("xlsx")):
            skipped_files.add("documents", path, why)
        elif format == "text":
            skipped_files.add("texts", path, "not a table by its suffix")
        else:
            yield file, name


def _name_below(path: str, directory: str) -> str:
    """The path of a file from a directory; its name if it is not below that."""
    name = os.path.relpath(path, directory)
    return os.path.basename(path) if name.split(os.sep)[0] == os.pardir else name


def check_readable(file: File) -> None:
    """Raise an error for a missing file or a database, before anything is written."""
    if file.fault:
        raise InputError(f"{printable_path(file.place)}: no such file or directory")
    if file.is_database():
        raise UsageError(
            f"{printable_path(file.path)} is a database: dedup reads tables and texts; -d names a "
            "database to compare with, and Database.dedup_files compares with an open one"
        )


def _start_of(path: str) -> bytes | None:
    """The first bytes of a file; None for a pipe, and for a file that cannot be read."""
    if os.path.isfile(path):
        with suppress(InputError, OSError), opened(path, None) as file:
            return file.read(_START)
    return None


def _start_of_text(path: str) -> bytes | None:
    """The same behind a byte order mark and blanks, and without the zeros of UTF-16."""
    start = _start_of(path)
    return start and start.lstrip(_BEFORE_ROW).replace(b"\0", b"")


def is_named_as_text(path: str) -> bool:
    """Whether the suffix is that of a text, and of no rows."""
    return without_compression(path).lower().endswith((".txt", ".text", ".md", ".rst"))


def begins_with_row(path: str) -> bool | None:
    """Whether a file that is named as a text, such as data.txt, has rows of JSON.

    None for files with other names, empty files, and files that cannot be read.
    """
    start = _start_of_text(path) if is_named_as_text(path) else None
    return _ROW.match(start) is not None if start else None


def check_rows(paths: Iterable[str], hint: str) -> None:
    """InputError if a file of rows is a text, for which `hint` says what to do, or binary."""
    for path in paths:
        if begins_with_row(path) is False:
            raise InputError(f"{printable_path(path)}: a text, and no rows of JSON: {hint}")
        format = rows_format_of(path)
        is_text = format != "xlsx" and formats.KIND.get(format) != "arrow_rows"
        if is_text and (kind := binary_kind_of(path)):
            raise InputError(
                f"{printable_path(path)}: a binary file ({kind}), and no table: these end in "
                ".jsonl, .csv, .parquet or .arrow"
            )


def binary_kind_of(path: str) -> str | None:
    """The kind of a file that is no text, by its first bytes; None for others, and for pipes."""
    return kinds.binary_kind(_start_of(path) or b"")


def checked_format(path: str, default: str) -> str:
    """The format of a file to be written (see `output_format`); UsageError for a terminal."""
    format = formats.output_format(path, default)
    if formats.KIND[format] == "arrow_rows" and path == outputs.STDOUT and sys.stdout.isatty():
        raise UsageError(f"{format} is not for a terminal: name a file with -o")
    return format
