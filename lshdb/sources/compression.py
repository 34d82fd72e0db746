"""Compressed files, detected by their suffix: the only place that packs and unpacks."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, Final, cast

from lshdb.errors import InputError

_NAMES: Final = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
"""Suffixes and their compressions."""
_BUFFER: Final = 1 << 20
"""Bytes unpacked at once; the modules themselves give 8 KB at a time."""


def compression_of(path: str) -> str | None:
    """The suffix for a file's compression, None if it is not compressed."""
    lower = path.lower()
    return next((suffix for suffix in _NAMES if lower.endswith(suffix)), None)


def without_compression(path: str) -> str:
    """A path without the suffix of its compression."""
    return path[: len(path) - len(compression_of(path) or "")]


def check_available(suffix: str) -> None:
    """InputError if this Python cannot pack and unpack files with the suffix."""
    _module(suffix)


@contextmanager
def unpacked(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """A compressed file's content; reading it raises InputError if it is damaged."""
    open_, errors = _module(suffix)
    try:
        with open_(file, "rb") as stream:
            yield io.BufferedReader(stream, _BUFFER)
    except OSError as error:
        # Errors of bz2 about wrong data have no number; those of the system have one.
        if error.errno is not None:
            raise
        raise _damaged(suffix) from error
    except errors as error:
        raise _damaged(suffix) from error


def packed(file: BinaryIO, suffix: str) -> BinaryIO:
    """A file that compresses its content into another, which stays open when it is closed."""
    if suffix == ".gz":
        import gzip

        # Without name and time, so that equal contents give equal files.
        return cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    open_, _ = _module(suffix)
    return cast(BinaryIO, open_(file, "wb"))


def _module(suffix: str) -> tuple[Callable[[BinaryIO, str], Any], tuple[type[Exception], ...]]:
    """The function that opens such a file, and its errors for wrong data besides OSError."""
    # Imported here: most commands read no compressed file.
    if suffix == ".gz":
        import gzip
        import zlib

        return gzip.open, (EOFError, zlib.error)
    if suffix == ".bz2":
        import bz2

        return bz2.open, (EOFError,)
    if suffix == ".xz":
        import lzma

        return lzma.open, (EOFError, lzma.LZMAError)
    zstd = _zstd()
    return zstd.open, (EOFError, zstd.ZstdError)


def _zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise InputError("zstd needs Python 3.14, or pip install 'lshdb[zstd]'")


def _damaged(suffix: str) -> InputError:
    return InputError(f"not {_NAMES[suffix]}, or not all of it")
