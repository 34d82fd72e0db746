"""Which files are read, their formats, and how they are opened."""

import contextlib
import glob
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, BinaryIO
from urllib.parse import unquote

from lshdb.errors import InputError, UsageError
from lshdb.read import compression, kinds

STDIN = "-"
_PARTITION = re.compile(r"([^\W\d]\w*)=(.+)")
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
BUFFER = 1 << 20
"""Bytes read at once; with Python's 8 KB a line of JSON takes several system calls."""

_SHEET = re.compile(r"(?is)(.*?\.(?:xls[xmb]?|ods))#(.+)")
"""The name of a file of sheets, and of a sheet in it."""
_UNUSUAL = re.compile("[^ -~]+")
"""Characters outside of printable ASCII, which may still be harmless."""
_BIN = r"(?:\$recycle\.bin|recycle[rd]|[#@.]recycle|\.trash(?:es|-[^/\\]*)?)"
"""Names of folders of deleted files: of Windows, of network storage, of macOS and of
freedesktop.org's specification."""
_COPY = re.compile(
    r"^copy( \(?\d+\)?)? of |[ _-]copy( ?\(?\d+\)?)?(\.\w+)*$|\(\d+\)(\.\w+)*$|~\d*$",
    re.IGNORECASE,
)
"""In the name of a file: what programs add to the names of copies."""
_SYSTEM = "system volume information"
_LOCK = "~$"
"""How Office names the file beside a document that is open; LibreOffice's begins with a dot."""
_MESSAGE = re.compile(r"(?s)(.*)#(?:<[^<>]+>|[\da-f]{32})(?: \d+)?")
"""The key of a message: its file, and its name there, perhaps with a number."""
_ESCAPED_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")
"""How a key writes a byte that is not UTF-8."""


def escaped(text: str) -> str:
    r"""The text with every character that is not printable written as a backslash escape.

    >>> escaped("red \x1b[31m line\n")
    'red \\x1b[31m line\\n'
    """
    if text.isprintable():
        return text
    return _UNUSUAL.sub(lambda run: "".join(map(_shown, run[0])), text)


def _shown(character: str) -> str:
    # Python takes only the ASCII space for printable.
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return ascii(character)[1:-1]


def format_of(path: str) -> Any:
    """The format of a file by its suffix, or by the one before that of its compression."""
    name, suffix = os.path.splitext(path)
    if compression.compression_of(path):
        suffix = os.path.splitext(name)[1]
    return kinds.ROWS.get(suffix.lower(), "text")


def file_and_sheet(path: str) -> tuple[str, str]:
    """The path of a spreadsheet and the name of a sheet in it; of other files the path alone.

    >>> file_and_sheet("a#b.xlsx#c#d"), file_and_sheet("a.csv#b")
    (('a#b.xlsx', 'c#d'), ('a.csv#b', ''))
    """
    match = _SHEET.fullmatch(path)
    return (match[1], match[2]) if match and not os.path.exists(path) else (path, "")


def is_spreadsheet(path: str) -> bool:
    """Whether a file, perhaps with the name of a sheet, is a spreadsheet by its suffix."""
    return kinds.kind_of(file_and_sheet(path)[0]) == "xlsx"


def is_archive(path: str) -> bool:
    """Whether a file is an archive, by its suffix."""
    lower = path.lower()
    return lower.endswith(kinds.ARCHIVES) or compression.without_compression(lower).endswith(".tar")


def archive_of(path: str) -> str | None:
    """The archive that a path is, or leads into; None for other paths."""
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path if is_archive(path) and os.path.isfile(path) else None


def rows_format_of(path: str) -> Any:
    """The format of a file of rows: that of `format_of`, or spreadsheets."""
    return "xlsx" if is_spreadsheet(path) else format_of(path)


def expanded(paths: Iterable[str]) -> Iterator[str]:
    """The paths, with matching files in place of a pattern that is not itself a path.

    Patterns have `*`, `?`, `[...]` and, for any directories, `**`; matches come sorted, without
    hidden ones. A pattern without a match stays: opening it then reports a missing file.
    """
    for path in paths:
        if pattern_top(path) is None:
            yield path
        else:
            yield from sorted(glob.glob(path, recursive=True)) or [path]


def pattern_top(path: str) -> str | None:
    """The directory that all matches of a pattern are below; None for a path."""
    if path == STDIN or not glob.has_magic(path) or os.path.lexists(path):
        return None
    top = os.path.dirname(path)
    while glob.has_magic(top):
        top = os.path.dirname(top)
    return top or os.curdir


def listed(names: Iterable[str]) -> Iterator[str]:
    """The paths that a list names, lazily; none is a pattern or `-`."""
    return (glob.escape(os.path.join(os.curdir, name) if name == STDIN else name) for name in names)


@contextlib.contextmanager
def opened(path: str, stdin: BinaryIO | None) -> Iterator[BinaryIO]:
    """A file with an end, so that a device like /dev/zero is refused; unpacked if needed."""
    if path != STDIN:
        stdin = open(path, "rb", BUFFER)  # noqa: SIM115  # closed below
    elif stdin is None:
        raise InputError("standard input is closed")
    with contextlib.nullcontext(stdin) if path == STDIN else stdin as file:
        with contextlib.suppress(OSError):  # of what is no file of the system, but in memory
            status = os.fstat(file.fileno())
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                is_null = os.path.samestat(status, os.stat(os.devnull))
                if not (is_null or file.isatty()):
                    raise InputError("a device, not a file")
        if (suffix := compression.compression_of(path)) is None:
            yield file
        else:
            with compression.unpacked(file, suffix) as stream:
                yield stream


def is_database(path: str | os.PathLike[str], status: os.stat_result | None = None) -> bool:
    """Whether a file is an SQLite database, by its first bytes; with its status, if known."""
    from lshdb.store.guard import is_open  # imports sqlite3, which --help does not need

    if status is None and not os.path.isfile(path):
        return False
    if is_open(status or os.fspath(path)):
        return True  # closing it after reading would release SQLite's locks
    with open(path, "rb") as file:
        return file.read(len(kinds.SQLITE)) == kinds.SQLITE


def input_bytes(paths: Iterable[str]) -> int | None:
    """The size of all named files, for a progress bar; None if it is not known cheaply."""
    total = 0
    for path in expanded(paths):
        if path == STDIN:
            return None
        try:
            status = os.stat(path)
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode) or compression.compression_of(path):
            return None
        total += status.st_size
    return total


def printable_path(path: str) -> str:
    """The path as a key: with slashes on each system.

    Bytes that are not UTF-8 are written as backslash escapes.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace").replace(os.sep, "/")


def path_of_key(key: str, root: str) -> str:
    r"""The path of the file or directory that has this key; nothing may be there.

    A key writes bytes that are not UTF-8 as backslash escapes. Where nothing has the name that the
    key itself is, each escape is read as such a byte.

    Args:
        key: of a file or a directory.
        root: the directory that keys are relative to.
    """
    path = os.path.join(root, key)
    if os.path.lexists(path) or not _ESCAPED_BYTE.search(key.encode()):
        return path
    name = _ESCAPED_BYTE.sub(lambda escape: bytes.fromhex(escape[1].decode()), key.encode())
    return os.path.join(root, os.fsdecode(name))


def file_of_key(key: str) -> str:
    """The key of the file that a document is in: of a message that of its mail, else the same."""
    match = _MESSAGE.fullmatch(key) if "#" in key else None
    return match[1] if match is not None and format_of(match[1]) == "text" else key


def key_of(path: str, root: str) -> str:
    """The key of a file, or of a directory as a prefix of the keys in it (empty for the root).

    It is the path from the root if the real directory of the file is beneath that, else the
    absolute path; so `src/a`, `./src//a` and `$PWD/src/a` are the same, and so is `link/a` for a
    link to `src`. A file that is a link has the key of the link.

    Args:
        path: may be relative, to the current directory.
        root: the real path of the directory that keys are relative to.
    """
    directory, name = os.path.split(path)
    # The parent of a link's target differs from the parent in the text of the path.
    if name in ("", os.curdir, os.pardir) or os.path.isdir(path):
        return key_of_real(os.path.realpath(path), root)
    return key_of_real(os.path.join(os.path.realpath(directory), name), root)


def key_of_real(path: str, root: str) -> str:
    """The key of a file whose directory is named by its real path, as that of the root is.

    Where upper and lower case are the same, they are in the path of the root.
    """
    key, start = printable_path(path), f"{printable_path(root).rstrip('/')}/"
    is_beneath = os.path.normcase(f"{key}/").startswith(os.path.normcase(start))
    return key[len(start) :] if is_beneath else key


def is_always_path(name: str) -> bool:
    """Whether an argument that may be a key or a path is a path alone: `./NAME`, or absolute.

    >>> [*map(is_always_path, ["./a", "..", "/a", "a/b", ".a"])]
    [True, True, True, False, False]
    """
    start = printable_path(name).partition("/")[0]
    return os.path.isabs(name) or start in (os.curdir, os.pardir)


def meant(name: str, root: str, is_stored: Callable[[str], bool], key_hint: str) -> str | None:
    """The key that an argument means: the name itself where it is stored, else that of the path.

    Args:
        name: a key, or a path from here.
        root: the real path of the directory that keys are relative to.
        is_stored: whether a key is that of a document, or of a folder of documents.
        key_hint: how the user can name a key that is a path, too.

    Returns:
        The key, None if neither is stored.

    Raises:
        UsageError: the name is a key, and the path of another key that is stored.
    """
    names = [key_of(name, root)]
    if not is_always_path(name):
        names.insert(0, printable_path(name))
    keys = [key for key in dict.fromkeys(names) if is_stored(key)]
    if len(keys) > 1:
        raise UsageError(
            f"{keys[0]} is a key, and from here the path of {keys[1] or root}: give "
            f"./{keys[0]} for the path, or {key_hint} for the key"
        )
    return keys[0] if keys else None


def common_folder(keys: Iterable[str]) -> str:
    """The directories that all keys begin with, with a slash behind them; empty if there are none.

    >>> common_folder(["src/lib/a.py", "src/library.py"])
    'src/'
    """
    start = os.path.commonprefix([*keys])  # noqa: RUF071  # whole directories are cut from it
    return start[: start.rfind("/") + 1]


def why_hidden(name: str) -> str:
    """Why a file or directory with this name counts as hidden; empty if it does not."""
    if name.startswith("."):
        return "its name begins with a dot"
    if is_bin_name(name) or name.lower() == _SYSTEM:
        return "a folder of the system, such as of deleted files"
    return "the lock of an open document" if name.startswith(_LOCK) else ""


def is_bin_name(name: str) -> bool:
    """Whether the name is that of a folder in which a system keeps deleted files.

    >>> [*map(is_bin_name, ["$RECYCLE.BIN", "#recycle", ".Trash-1000", "recycle", ".git"])]
    [True, True, True, False, False]
    """
    return re.fullmatch(_BIN, name, re.IGNORECASE) is not None


def is_in_bin(path: str) -> bool:
    """Whether a directory on the way to a file is a bin; the path may be a key."""
    return re.search(rf"(?:^|[/\\]){_BIN}[/\\]", path, re.IGNORECASE) is not None


def is_copy_name(key: str) -> bool:
    """Whether the last name in a path is one that programs give to copies.

    >>> [*map(is_copy_name, ["a/Copy of b.txt", "b (1).txt", "b - copy.md", "b.py~", "b.txt"])]
    [True, True, True, True, False]
    """
    return _COPY.search(key.rpartition("/")[2]) is not None


@lru_cache
def partition_of(path: str) -> dict[str, str | None]:
    """The columns that the directories of a path name, as Hive and Spark do: do not change it.

    >>> partition_of("data/lang=en/year=2024/city=S%C3%A3o/a=b.parquet")
    {'lang': 'en', 'year': '2024', 'city': 'São'}
    """
    named = map(_PARTITION.fullmatch, path.replace(os.sep, "/").split("/")[:-1])
    return {
        match[1]: None if match[2] == _NULL_PARTITION else unquote(match[2])
        for match in filter(None, named)
    }
