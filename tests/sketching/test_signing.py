"""Signing: batches, cut and joined in any way, have what each of their documents has alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from lshdb.shingling.shingling import Shingling
from lshdb.sketching.constructions import Construction
from lshdb.sketching.settings import Settings
from lshdb.sketching.signing import Signed, sign

SETTINGS = Settings(0.8, 0.9, Shingling("word", 2), 16, Construction(4, 4), "fast", 1, True, 4)
TEXTS = st.lists(st.sampled_from("abcdé"), max_size=12).map(" ".join)
LARGE = " ".join(f"w{number}" for number in range(200_000))


def documents_of(signed: Signed) -> list[tuple[object, ...]]:
    """Signature, shingle count, bucket keys and fingerprints of each document."""
    prints = signed.fingerprints
    assert (np.diff(prints.values) >= 0).all()
    found: list[list[tuple[int, int]]] = [[] for _ in signed.shingles]
    rows = zip(prints.documents, prints.values.tolist(), prints.positions.tolist(), strict=True)
    for document, value, position in rows:
        found[document].append((value, position))
    columns = (signed.signatures.tolist(), signed.shingles.tolist(), signed.bucket_keys.tolist())
    return [*zip(*columns, found, strict=True)]


@given(st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=4))
@example([["", "a b c d"], [], [LARGE, "a b c d e"]])
def test_batches_have_what_their_documents_have(batches: list[list[str]]) -> None:
    texts = [text for batch in batches for text in batch]
    alone = [documents_of(sign([text], SETTINGS))[0] for text in texts]
    words = [len(text.split()) for text in texts]
    assert [count for _, count, *_ in alone] == [max(n - 1, min(n, 1)) for n in words]
    together = sign(texts, SETTINGS)
    joined = Signed.joined([sign(batch, SETTINGS) for batch in batches])
    assert documents_of(together) == documents_of(joined) == alone
    assert (joined.construction, joined.run) == (SETTINGS.construction, SETTINGS.passages)
    for indices in (range(0, len(texts), 2), range(len(texts) - 1, -1, -1)):
        taken = documents_of(joined.take(np.array(indices, dtype=np.int64)))
        assert taken == [alone[index] for index in indices]
    reindexed = replace(SETTINGS, construction=Construction(3, 5))
    assert documents_of(joined.banded(reindexed)) == documents_of(sign(texts, reindexed))
    assert joined.banded(SETTINGS) is joined
