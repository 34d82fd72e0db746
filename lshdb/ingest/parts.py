"""Parts of a batch: documents, or lines of JSON, that are parsed, digested and signed in one go."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from lshdb.errors import ContentError, InputError
from lshdb.model import Content, Settings
from lshdb.shingling.content import cleaned, digests, encoded
from lshdb.sketching.signing import Signed, sign
from lshdb.sources.metadata import to_json
from lshdb.sources.parsing import Rows
from lshdb.sources.records import Failure, Lines, RecordParser


@dataclass(frozen=True, slots=True)
class Part:
    """What is signed in one go: documents or lines.

    Attributes:
        documents: keys and documents, cleaned (see lshdb.shingling.content).
        lines: a block of lines or rows, not parsed yet.
        sign: whether signatures are wanted; else only digests.
        metadata: of the documents, as stored; none here where no document has any.
    """

    documents: Sequence[tuple[str, Content]] = ()
    lines: Lines | None = None
    sign: bool = True
    metadata: Sequence[str | None] = ()

    @property
    def rows(self) -> Lines | None:
        """The rows that are in a file."""
        return None if self.lines is None or self.lines.stretch is None else self.lines


@dataclass(frozen=True, slots=True)
class SignedPart:
    """What became of a part; n documents.

    Attributes:
        keys: their keys, in order, repeated as they are.
        stored: their stored forms; none where the database keeps no content, unless they are
            still to be signed.
        digests: of the stored forms, 16 bytes each.
        signed: their signatures; None if they were not wanted.
        failures: lines and rows that gave no document.
        replaced: how many had bytes or code units that are not Unicode.
        lines: where they came as lines, the place of each one's line in its block, from 0.
        metadata: of the documents, as stored; none here where no document has any.
        rows: where they are rows of a file, which.
        unread: whether those could not be read, so that there is nothing here: see Rows.again.
    """

    keys: Sequence[str]
    stored: Sequence[str]
    digests: Sequence[bytes]
    signed: Signed | None
    failures: list[Failure]
    replaced: int
    lines: Sequence[int] = ()
    metadata: Sequence[str | None] = ()
    rows: Lines | None = None
    unread: bool = False

    @classmethod
    def not_read(cls, part: Part) -> SignedPart:
        """A part whose rows could not be read."""
        return cls([], [], [], None, [], 0, rows=part.rows, unread=True)

    def metadata_at(self, places: Sequence[int]) -> list[str | None]:
        """The metadata of the documents at some places."""
        if not self.metadata:
            return [None] * len(places)
        return [self.metadata[place] for place in places]


def sign_part(
    part: Part, settings: Settings, parser: RecordParser | None, rows: Rows | None = None
) -> SignedPart:
    """Parse, digest and sign a part.

    Args:
        part: what is signed.
        settings: of the database.
        parser: for lines; it is not changed.
        rows: for lines that are in a file: without it these stay unread.
    """
    failures: list[Failure] = []
    keys: list[str] = []
    contents: list[Content] = []
    lines: list[int] = []
    metadata: list[str | None] = []
    if part.lines is not None:
        assert parser is not None
        parser = dataclasses.replace(parser)  # counts for itself: others may be at work
        if part.rows is not None and rows is None:
            return SignedPart.not_read(part)
        try:
            numbered = (rows or Rows()).numbered(part.lines, parser)
        except (InputError, OSError):
            return SignedPart.not_read(part)
        for place, item in numbered:
            content: Content
            if isinstance(item, tuple):
                key, content = item
                other = None
            elif isinstance(item, Failure):
                failures.append(item)
                continue
            else:
                key = item.key
                try:
                    content = cleaned(item.content, settings.shingling)
                    other = to_json(item.metadata)
                except ContentError as error:
                    failures.append(Failure(key, str(error)))
                    continue
            keys.append(key)
            contents.append(content)
            lines.append(place)
            metadata.append(other)
    else:
        keys += [key for key, _ in part.documents]
        contents += [content for _, content in part.documents]
        metadata += part.metadata
    signed = sign(contents, settings) if part.sign else None
    of_sets = settings.shingling.of_sets
    forms = [encoded(one) for one in contents] if of_sets else cast("list[str]", contents)
    own = digests(forms)
    stored = [] if part.sign and not settings.content else forms
    replaced = parser.replaced if part.lines is not None and parser is not None else 0
    if not any(metadata):
        metadata = []
    return SignedPart(keys, stored, own, signed, failures, replaced, lines, metadata, part.rows)
