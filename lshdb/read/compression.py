"""Compressed files, detected by their suffix: the only place that packs and unpacks."""

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, cast

from lshdb.errors import InputError, install

_MODULES = {
    ".gz": ("gzip", "gzip"),
    ".bz2": ("bzip2", "bz2"),
    ".xz": ("xz", "lzma"),
    ".zst": ("zstd", "compression.zstd", "backports.zstd"),
}
"""Suffixes, with the compression's name and the modules for it, the first of which is there."""
_BUFFER = 1 << 20
"""Bytes unpacked at once; the modules themselves give 8 KB at a time."""


def compression_of(path: str) -> str | None:
    """The suffix for a file's compression, None if it is not compressed."""
    suffix = path[path.rfind(".") :].lower()
    return suffix if suffix in _MODULES else None


def without_compression(path: str) -> str:
    """A path without the suffix of its compression."""
    return path[: len(path) - len(compression_of(path) or "")]


@contextmanager
def unpacked(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """A compressed file's content; reading it raises InputError if it is damaged."""
    module = module_of(suffix)
    names = ("LZMAError", "ZstdError")
    errors = [getattr(module, name) for name in names if hasattr(module, name)]
    try:
        with module.open(file, "rb") as stream:
            yield io.BufferedReader(stream, _BUFFER)
    except (OSError, EOFError, zlib.error, *errors) as error:
        # Errors of bz2 about wrong data have no number; those of the system have one.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(_reason(suffix, error)) from error


def _reason(suffix: str, error: Exception) -> str:
    """What is wrong with a compressed file, and what to do."""
    name, message = _MODULES[suffix][0], str(error).lower()
    if isinstance(error, EOFError):
        return f"{name} that is cut off: the end of the file is missing; get it again"
    if "window" in message or "too much memory" in message:
        return (
            f"{name} with a window that is larger than this Python reads: decompress it by "
            "zstd -d --long=31"
        )
    return f"not {name}, damaged, or with something else behind it; {name} -dc writes what is read"


def packed(file: BinaryIO, suffix: str) -> BinaryIO:
    """A file that compresses its content into another, which stays open when it is closed."""
    module = module_of(suffix)
    if suffix == ".gz":
        # Without name and time, so that equal contents give equal files.
        return cast(BinaryIO, module.GzipFile("", "wb", fileobj=file, mtime=0))
    return cast(BinaryIO, module.open(file, "wb"))


def module_of(suffix: str) -> Any:
    """The module that packs and unpacks files with a suffix; InputError if there is none."""
    # Imported here: most commands read no compressed file.
    for name in _MODULES[suffix][1:]:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise InputError(f"zstd needs Python 3.14, or {install('zstd')}")
