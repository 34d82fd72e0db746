"""Parts of a batch: documents that are digested and signed together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from lshdb.ingest.workers import Job
from lshdb.shingling.content import digest, encoded
from lshdb.shingling.shingling import Content
from lshdb.sketching.settings import Settings
from lshdb.sketching.signing import Signed, sign
from lshdb.sources.batch import Batch


@dataclass(frozen=True, slots=True)
class Part:
    """Documents to sign together.

    Attributes:
        contents: cleaned (see lshdb.shingling.content).
        sign: whether signatures are wanted; else only digests.
    """

    contents: Sequence[Content]
    sign: bool


@dataclass(frozen=True, slots=True)
class Signatures:
    """What is made of the documents of a part.

    Attributes:
        digests: of the stored forms, 16 bytes each.
        signed: their signatures; None if they were not wanted.
        stored: the stored forms of sets; of texts these are the contents.
    """

    digests: Sequence[bytes]
    signed: Signed | None
    stored: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SignedPart:
    """A signed part of n documents.

    Attributes:
        batch: the documents without their contents.
        stored: their stored forms; empty if the database keeps no content, unless they still have
            to be signed.
        digests, signed: as in Signatures.
    """

    batch: Batch
    stored: Sequence[str] = ()
    digests: Sequence[bytes] = ()
    signed: Signed | None = None

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the documents, in order, repeated as they are."""
        return self.batch.keys


@dataclass(frozen=True, slots=True)
class Signing(Job[Part, Signatures]):
    """Digests and signs parts.

    Attributes:
        settings: of the database.
    """

    settings: Settings

    def run(self, part: Part) -> Signatures:
        """Sign a part."""
        signed = sign(part.contents, self.settings) if part.sign else None
        if not self.settings.shingling.of_sets:
            texts = cast("Sequence[str]", part.contents)
            return Signatures([digest(text.encode()) for text in texts], signed)
        stored = [encoded(content) for content in part.contents]
        own = [digest(form.encode()) for form in stored]
        is_stored = self.settings.content or not part.sign
        return Signatures(own, signed, stored if is_stored else ())
