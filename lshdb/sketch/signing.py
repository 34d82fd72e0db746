"""From documents to signatures and bucket keys.

Signing works block by block (lshdb.text.shingles), so that a batch takes little more memory
than its documents, and a document of 100 MB not much more than itself.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from lshdb import offers
from lshdb.sketch import constructions, minhash
from lshdb.sketch.banding import bucket_keys
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings, parts_of
from lshdb.text import arrays, shingles
from lshdb.text.content import digest, encoded
from lshdb.text.kinds import Tokens, kind_of
from lshdb.text.shingling import Content, Shingling


@dataclasses.dataclass(frozen=True)
class Signed:
    """The signatures of n documents.

    Attributes:
        signatures: [n, permutations], of the type of the lanes.
        shingles: int64[n], how many shingles each has, repetitions counted; 0 means empty.
        bucket_keys: int64[n, bands].
        construction: the shape that the bucket keys were made for.
        parts: the rows of the other parts of the index, by their names.
        base: the base texts that do not count, as `base_of` names them.
    """

    signatures: arrays.Lanes
    shingles: arrays.IntArray
    bucket_keys: arrays.IntArray
    construction: constructions.Construction
    parts: Mapping[str, PartRows] = dataclasses.field(default_factory=dict)
    base: bytes = b""

    def fits(self, settings: Settings) -> bool:
        """Whether its lanes are wide enough for these settings, and made without the base texts."""
        is_wide = self.signatures.dtype.itemsize >= settings.lane_type.itemsize
        return is_wide and self.base == base_of(settings.shingling)

    def take(self, indices: arrays.IntArray) -> Signed:
        """The documents with these indices int64[m], each once."""
        numbers = np.full(len(self.shingles), -1)
        numbers[indices] = np.arange(len(indices))
        return dataclasses.replace(
            self,
            signatures=self.signatures[indices],
            shingles=self.shingles[indices],
            bucket_keys=self.bucket_keys[indices],
            parts={name: rows.numbered(numbers) for name, rows in self.parts.items()},
        )

    def indexed(self, settings: Settings, texts: Sequence[str]) -> Signed:
        """The same with the lanes and all that an index of these settings has of n texts.

        The file may have been reindexed, or be another one.
        """
        signed = self
        same_type = self.signatures.dtype == settings.lane_type
        if not same_type or self.construction != settings.construction:
            signatures = self.signatures.astype(settings.lane_type, copy=False)
            keys = bucket_keys(signatures, settings.construction, settings.seed)
            signed = dataclasses.replace(
                self, signatures=signatures, bucket_keys=keys, construction=settings.construction
            )
        if {name: rows.value for name, rows in self.parts.items()} != parts_of(settings):
            rows = [
                _part_rows(settings, [texts[index] for index in group], group)
                for group in shingles.groups(texts, settings.shingling)
            ]
            signed = dataclasses.replace(signed, parts=_joined_rows(parts_of(settings), rows))
        return signed

    @staticmethod
    def joined(parts: Sequence[Signed]) -> Signed:
        """The documents of several batches with the same settings; at least one batch."""
        first, rows, count = parts[0], [], 0
        for part in parts:
            numbers = np.arange(count, count + len(part.shingles))
            rows.append({name: each.numbered(numbers) for name, each in part.parts.items()})
            count += len(numbers)
        values = {name: each.value for name, each in first.parts.items()}
        return dataclasses.replace(
            first,
            signatures=np.concatenate([part.signatures for part in parts]),
            shingles=np.concatenate([part.shingles for part in parts]),
            bucket_keys=np.concatenate([part.bucket_keys for part in parts]),
            parts=_joined_rows(values, rows),
        )


def _part_rows(
    settings: Settings,
    contents: Sequence[Content],
    numbers: Sequence[int],
    tokens: Tokens | None = None,
) -> dict[str, PartRows]:
    """The rows, of each part that settings name, of documents that get these numbers."""
    return {
        name: offers.offered(offers.PARTS, name)
        .made(contents, settings, tokens)
        .numbered(np.array(numbers))
        for name in parts_of(settings)
    }


def _joined_rows(
    values: Mapping[str, int], groups: Sequence[Mapping[str, PartRows]]
) -> dict[str, PartRows]:
    """The rows of all groups of documents, for parts with these values."""
    return {
        name: PartRows.joined(value, [group[name] for group in groups])
        for name, value in values.items()
    }


def sign(contents: Sequence[Content], settings: Settings) -> Signed:
    """The signatures, shingle counts and bucket keys of a batch of n documents.

    Also the rows of the parts of the index that settings name; `plain_settings` name none.
    """
    sketch = minhash.make_sketch(settings.sketch, settings.permutations, settings.seed)
    shingling, seed = settings.shingling, settings.seed
    kind, parts = kind_of(shingling), parts_of(settings)
    # What is assigned to narrow lanes is cut to its low half.
    signatures = np.empty((len(contents), settings.permutations), dtype=settings.lane_type)
    counts = np.empty(len(contents), dtype=np.int64)
    rows: list[dict[str, PartRows]] = []
    for group in shingles.groups(contents, shingling):
        group_contents = [contents[i] for i in group]
        content, cut = group_contents[0], None
        if shingles.is_large(content, shingling):
            stream = functools.partial(shingles.pieces, content, shingling, seed)
            signatures[group[0]], counts[group[0]] = minhash.of_pieces(sketch, stream)
        else:
            # Parts of the index may need the units, too, which take nine tenths of the time.
            cut = kind.units(cast("Sequence[str]", group_contents), shingling) if kind else None
            hashed = shingles.shingle_group(group_contents, shingling, seed, cut)
            signatures[group] = sketch.signatures(hashed)
            counts[group] = arrays.sizes_of(hashed.offsets)
        if parts:
            rows.append(_part_rows(settings, group_contents, group, cut))
    keys = bucket_keys(signatures, settings.construction, settings.seed)
    return Signed(
        signatures,
        counts,
        keys,
        settings.construction,
        _joined_rows(parts, rows),
        base_of(shingling),
    )


Digested = tuple[Sequence[str], Sequence[bytes], Signed | None]
"""The stored forms of documents, their digests of 16 bytes, and their signatures if wanted."""


def digested(settings: Settings, item: tuple[Sequence[Content], bool]) -> Digested:
    """Digest cleaned documents, and sign them if the item says so; in any process."""
    contents, is_signed = item
    stored = [encoded(content) for content in contents]
    digests = [digest(form.encode()) for form in stored]
    # Texts are stored as they are, and need not come back from another process.
    forms = stored if settings.shingling.of_sets else ()
    return forms, digests, sign(contents, settings) if is_signed else None


def base_of(shingling: Shingling) -> bytes:
    """The digest of the base texts, empty without any: the texts may be long."""
    if not shingling.base:
        return b""
    return digest("\0".join(text for _, text in shingling.base).encode())
