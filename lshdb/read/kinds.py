"""The kinds of files that are read: one table of their names, readers, suffixes and first bytes.

Without numpy and the rest of lshdb, for the process that reads files of strangers.
"""

import os
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """A kind of files.

    Attributes:
        name: as people call it.
        reader: what reads it: a module of this room, for rows, or one of `lshdb.offers.READERS`.
        suffixes: of its files, separated by spaces.
        starts: what these begin with; those of a text in small letters, perhaps behind blanks.
        is_text: whether a file can be read as the text that it is.
    """

    name: str
    reader: str
    suffixes: str = ""
    starts: tuple[bytes, ...] = ()
    is_text: bool = False


KINDS = {
    "jsonl": Kind("JSON lines", "json_rows", ".jsonl .ndjson", is_text=True),
    "json": Kind("JSON", "json_rows", ".json", is_text=True),
    "csv": Kind("CSV", "csv_rows", ".csv", is_text=True),
    "tsv": Kind("TSV", "csv_rows", ".tsv .tab", is_text=True),
    "parquet": Kind("Parquet", "arrow_rows", ".parquet .pq", (b"PAR1",)),
    "arrow": Kind("Arrow", "arrow_rows", ".arrow .feather .ipc", (b"ARROW1",)),
    "arrows": Kind("Arrow", "arrow_rows", ".arrows"),
    "pdf": Kind("PDF", "documents", ".pdf", (b"%PDF-",)),
    "docx": Kind("Word", "documents", ".docx .docm .dotx"),
    "pptx": Kind("PowerPoint", "documents", ".pptx .pptm .ppsx"),
    "odt": Kind("OpenDocument", "documents", ".odt .odp"),
    "xlsx": Kind("sheets", "documents", ".xlsx .xlsm .xlsb .xls .ods"),
    "epub": Kind("EPUB", "documents", ".epub"),
    "html": Kind(
        "HTML", "documents", ".html .htm .xhtml", (b"<!doctype html", b"<html"), is_text=True
    ),
    "rtf": Kind("RTF", "documents", ".rtf", (b"{\\rtf",), is_text=True),
    "eml": Kind("mail", "documents", ".eml .emlx .mht .mhtml", is_text=True),
    "mbox": Kind("mail", "documents", ".mbox .mbx", is_text=True),
    "ipynb": Kind("notebook", "documents", ".ipynb", is_text=True),
    "zip": Kind("ZIP, as DOCX, XLSX, ODT, EPUB and JAR are", "documents", "", (b"PK\3\4",)),
    "archive": Kind("archive", "archives", ".zip .tgz .tar"),
}
"""All that is read but plain text. `arrow` is an Arrow file and `arrows` a stream of it; `zip` is
what its first bytes say, and `archive`, perhaps compressed, is read as a directory."""


def _by_suffix(reader: str) -> dict[str, Any]:
    """The kinds whose readers' names end so, by their suffixes."""
    return {
        suffix: name
        for name, kind in KINDS.items()
        if kind.reader.endswith(reader)
        for suffix in kind.suffixes.split()
    }


ROWS = _by_suffix("_rows")
"""The formats of rows, by their suffixes."""
DOCUMENTS: dict[str, str] = _by_suffix("documents")
"""The kinds of documents, by their suffixes."""
ARCHIVES = tuple(_by_suffix("archives"))
SQLITE = b"SQLite format 3\0"
_STARTS = {
    **{start: kind.name for kind in KINDS.values() if not kind.is_text for start in kind.starts},
    b"PK\5\6": "ZIP",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\7": "RAR",
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    **{b"BZh%d1AY&SY" % level: "bzip2" for level in range(1, 10)},
    b"\x89PNG\r\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"ID3\2": "MP3",
    b"ID3\3": "MP3",
    b"ID3\4": "MP3",
    b"OggS\0": "Ogg",
    b"fLaC\0": "FLAC",
    b"wOF2": "WOFF",
    b"wOFF": "WOFF",
    b"\xd0\xcf\x11\xe0\xa1\xb1": "DOC, XLS or PPT",
    b"\x7fELF": "ELF",
    b"\xca\xfe\xba\xbe": "Java class",
    b"\0asm": "WebAssembly",
    b"\x93NUMPY": "NumPy",
    b"\x89HDF\r\n": "HDF5",
    b"Obj\1": "Avro",
    SQLITE: "SQLite",
    **{b"\x80%c" % protocol: "pickle" for protocol in range(2, 6)},
}
"""First bytes of common files that are no text, though some have no NUL byte; and their names."""
PROBE = 1024
"""First bytes of a file that show its kind."""


def kind_of(path: str) -> str:
    """The kind of a document by its suffix; empty for others."""
    return DOCUMENTS.get(os.path.splitext(path)[1].lower(), "")


def binary_kind(start: bytes) -> str | None:
    """The name of a file that is not a text, by its first bytes; None for a possible text."""
    return next((name for magic, name in _STARTS.items() if start.startswith(magic)), None)
