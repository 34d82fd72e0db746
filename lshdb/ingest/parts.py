"""Parts of a batch: documents, lines or rows that are parsed, digested and signed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from lshdb.errors import ContentError
from lshdb.limits import DEFAULTS, Limits
from lshdb.model import Content, Failure, FileState, Settings
from lshdb.shingling.content import cleaned, digest, encoded
from lshdb.sketching.signing import Signed, sign
from lshdb.sources.metadata import to_json
from lshdb.sources.readers import parsed
from lshdb.sources.records import Block, Origin, RecordParser, Where
from lshdb.workers import Job


@dataclass(frozen=True, slots=True)
class Part:
    """Documents, or a block of rows, to sign together.

    Attributes:
        documents: keys and documents, cleaned (see lshdb.shingling.content).
        block: lines or rows, not parsed yet.
        sign: whether signatures are wanted; else only digests.
        metadata: of the documents, as stored; empty if no document has any.
        files: of the documents that are text files, the keys and states.
    """

    documents: Sequence[tuple[str, Content]] = ()
    block: Block | None = None
    sign: bool = True
    metadata: Sequence[str | None] = ()
    files: Sequence[tuple[str, FileState]] = ()


@dataclass(frozen=True, slots=True)
class SignedPart:
    """A signed part of n documents.

    Attributes:
        keys: their keys, in order, repeated as they are.
        stored: their stored forms; empty if the database keeps no content, unless they still have
            to be signed.
        digests: of the stored forms, 16 bytes each.
        signed: their signatures; None if they were not wanted.
        failures: lines and rows that gave no document.
        replaced: how many had bytes or code units that are not Unicode.
        places: for a block, the place of each one's line or row in it, from 0.
        metadata: of the documents, as stored; empty if no document has any.
        files: of the documents that are text files, the keys and states.
        origin: the file of a block, and the numbers of its lines or rows.
        block: the block itself, if it is kept.
    """

    keys: Sequence[str]
    stored: Sequence[str]
    digests: Sequence[bytes]
    signed: Signed | None
    failures: list[Failure]
    replaced: int
    places: Sequence[int] = ()
    metadata: Sequence[str | None] = ()
    files: Sequence[tuple[str, FileState]] = ()
    origin: Origin | None = None
    block: Block | None = None

    def where(self) -> list[Where]:
        """Where each document is from."""
        if self.origin is None:
            files = {key for key, _ in self.files}
            return [(key if key in files else None, None) for key in self.keys]
        file, numbers = self.origin
        return [(file, numbers[place]) for place in self.places]

    def all_metadata(self) -> Sequence[str | None]:
        """The metadata of each document."""
        return self.metadata or [None] * len(self.keys)


@dataclass(frozen=True, slots=True)
class Signing(Job[Part, SignedPart]):
    """Parses, digests and signs parts.

    Attributes:
        settings: of the database.
        parser: for blocks; it is not changed.
        limits: of the database.
    """

    settings: Settings
    parser: RecordParser | None
    limits: Limits = DEFAULTS

    def run(self, part: Part) -> SignedPart:
        """Sign a part."""
        failures: list[Failure] = []
        keys: list[str] = []
        contents: list[Content] = []
        places: list[int] = []
        metadata: list[str | None] = []
        replaced = 0
        if part.block is not None:
            assert self.parser is not None
            parser = replace(self.parser)  # counts for itself: others may be at work
            for place, item in parsed(part.block, parser):
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
                        content = cleaned(
                            item.content, self.settings.shingling, self.limits.largest_document
                        )
                        other = to_json(item.metadata)
                    except ContentError as error:
                        failures.append(Failure(part.block.where(place), str(error)))
                        continue
                keys.append(key)
                contents.append(content)
                places.append(place)
                metadata.append(other)
            replaced = parser.replaced
        else:
            keys += [key for key, _ in part.documents]
            contents += [content for _, content in part.documents]
            metadata += part.metadata
        signed = sign(contents, self.settings) if part.sign else None
        of_sets = self.settings.shingling.of_sets
        forms = [encoded(one) for one in contents] if of_sets else cast("list[str]", contents)
        own = [digest(form.encode()) for form in forms]
        stored = [] if part.sign and not self.settings.content else forms
        if not any(metadata):
            metadata = []
        return SignedPart(
            keys, stored, own, signed, failures, replaced, places, metadata, part.files
        )
