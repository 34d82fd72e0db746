"""RTF, by striprtf."""

from collections.abc import Iterator

from lshdb.apps.documents.extraction.kinds import Metadata


def pages(path: str, _: Metadata) -> Iterator[str]:
    """The text of a file."""
    from striprtf.striprtf import rtf_to_text

    with open(path, encoding="latin-1", newline="") as file:
        yield str(rtf_to_text(file.read(), errors="replace"))  # type: ignore[no-untyped-call]
