"""RTF, by striprtf."""

from collections.abc import Iterator

from lshdb.apps.documents.extraction.kinds import Metadata


def pages(path: str, _: Metadata) -> Iterator[str]:
    """The text of a file."""
    with open(path, "rb") as file:
        yield text_of(file.read())


def text_of(data: bytes) -> str:
    """The text of RTF."""
    from striprtf.striprtf import rtf_to_text

    return str(rtf_to_text(data.decode("latin-1"), errors="replace"))  # type: ignore[no-untyped-call]
