"""Documents of one key: which of them a database has, and under which keys further ones stay."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lshdb.keys import DIGEST_SHOWN, distinct_key
from lshdb.store.store import KnownDocument, Store


@dataclass(eq=False)
class Versions:
    """The documents that a database has under the keys of a batch.

    Attributes:
        store: the database.
        before: the last doc_id of earlier runs.
        known: the documents by key, with those that are kept meanwhile.
    """

    store: Store
    before: int = 0
    known: dict[str, KnownDocument] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._looked_up = set[str]()

    def look_up(self, keys: Sequence[str], digests: Sequence[bytes]) -> None:
        """Find the documents under the keys of a batch, and under those that distinguish them."""
        self.known = self.store.known([*dict.fromkeys(keys)])
        self._looked_up = set(keys)
        others = {
            distinct_key(key, digest, {key: self.known[key].digest}.get)
            for key, digest in zip(keys, digests, strict=True)
            if key in self.known
        }
        self._add(others - self._looked_up)

    def _add(self, keys: set[str]) -> None:
        if keys:
            self.known |= self.store.known([*keys])
            self._looked_up |= keys

    def key_of(self, key: str, digest: bytes) -> str:
        """The key under which a document is stored, or can be beside the others of its key."""

        def digest_at(key: str) -> bytes | None:
            self._add({key} - self._looked_up - self.known.keys())
            return self.known[key].digest if key in self.known else None

        return distinct_key(key, digest, digest_at)

    def same(self, key: str, digest: bytes) -> KnownDocument | None:
        """The document of a key with the same content."""
        return self.known.get(self.key_of(key, digest))

    def keep(self, key: str, digest: bytes, *, beside: bool = True) -> str:
        """Note that a document is stored; return under which key: `beside` others, or its own."""
        key = self.key_of(key, digest) if beside else key
        self.known[key] = KnownDocument(0, key, digest, None)
        return key


def is_key_of(stored: str, key: str, same_text: bool) -> bool:
    """Whether a document is stored under a key, or under the key that a later row of it got.

    Args:
        stored: the key that it is stored under.
        key: the document's key.
        same_text: whether the stored document has the same content, and so the same digest.

    >>> is_key_of("a#0000000000000000-2", "a", True), is_key_of("a#b", "a", True)
    (True, False)
    """
    made = rf"{re.escape(key)}#[0-9a-f]{{{2 * DIGEST_SHOWN}}}(-[0-9]+)?"
    return stored == key or (same_text and re.fullmatch(made, stored) is not None)
