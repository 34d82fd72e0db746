"""Why two documents are similar, or not, by exact comparison, signatures and buckets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError, warn_of_limit
from lshdb.model import Comparison, Document, Element, Passage, Settings, SharedBucket
from lshdb.search.buckets import buckets_of
from lshdb.search.limits import text_cut
from lshdb.search.passage_texts import Compared, Located, bridged, passages_at, shown
from lshdb.search.query import row_of_key
from lshdb.search.similarity import intersections, standard_error
from lshdb.shingling.content import cleaned, digest, encoded, from_stored
from lshdb.shingling.hashing import Hashes, secret_seed
from lshdb.shingling.shingles import distinct_shingles, shingle
from lshdb.sketching.constructions import candidate_probability, evaluate
from lshdb.sketching.signing import sign
from lshdb.store.store import Store


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two documents; the signature is None if it has no shingles."""

    key: str
    digest: bytes
    content: str | tuple[Element, ...] | None
    signature: npt.NDArray[np.uint32] | None


def compare(store: Store, a: str | Document, b: str | Document) -> Comparison:
    """Compare two documents; see Database.compare."""
    with store.reading():
        one, other = _side(store, a), _side(store, b)
    settings = store.settings
    lanes = settings.permutations
    agreeing = 0
    buckets: tuple[SharedBucket, ...] = ()
    candidates = False
    if one.signature is not None and other.signature is not None:
        agreeing = int((one.signature == other.signature).sum())
        own = buckets_of(store, one.signature)
        collided = own == buckets_of(store, other.signature)
        candidates = bool(evaluate(collided[np.newaxis], settings.construction)[0])
        same = np.flatnonzero(collided)
        pairs = zip(same.tolist(), own[same].tolist(), strict=True)
        buckets = tuple(SharedBucket(band_no, key) for band_no, key in pairs)
    a_shingles = b_shingles = shared = union = None
    similarity = a_in_b = b_in_a = None
    if one.content is not None and other.content is not None:
        shingling, seed = settings.shingling, secret_seed()
        hashes = distinct_shingles([one.content], shingling, seed).hashes
        others = distinct_shingles([other.content], shingling, seed)
        a_shingles, b_shingles = len(hashes), len(others.hashes)
        shared = int(intersections(hashes, others)[0])
        union = a_shingles + b_shingles - shared
        similarity = shared / max(union, 1)
        a_in_b, b_in_a = shared / max(a_shingles, 1), shared / max(b_shingles, 1)
    likely = agreeing / lanes if similarity is None else similarity
    return Comparison(
        a=one.key,
        b=other.key,
        a_shingles=a_shingles,
        b_shingles=b_shingles,
        shared=shared,
        union=union,
        similarity=similarity,
        identical=one.digest == other.digest and not settings.shingling.foreign,
        a_in_b=a_in_b,
        b_in_a=b_in_a,
        estimate=agreeing / lanes,
        standard_error=float(standard_error(likely, lanes)),
        agreeing_lanes=agreeing,
        lanes=lanes,
        shared_buckets=buckets,
        bands=settings.construction.bands,
        candidates=candidates,
        candidate_probability=candidate_probability(likely, settings.construction) or 0.0,
        passages=_passages(store, one.content, other.content),
        shared_elements=_shared_elements(one.content, other.content),
        a_content=one.content,
        b_content=other.content,
    )


def _side(store: Store, given: str | Document) -> _Side:
    shingling = store.settings.shingling
    if isinstance(given, str):
        row = row_of_key(store, given)
        content = None if row.content is None else from_stored(row.content, shingling)
        own = store.sizes(np.array([row.doc_id]))[1][0].tobytes()
        return _Side(row.key, own, content, row.signature)
    if not isinstance(given, Document):
        raise UsageError(f"a {type(given).__name__} is neither a key nor a Document")
    content = cleaned(given.content, shingling)
    signed = sign([content], store.settings)
    signature = signed.signatures[0] if signed.shingles[0] else None
    return _Side(given.key, digest(encoded(content).encode()), content, signature)


def _shared_elements(
    a: str | tuple[Element, ...] | None, b: str | tuple[Element, ...] | None
) -> tuple[Element, ...] | None:
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return None
    held = set(b)
    return tuple(element for element in a if element in held)


def _passages(
    store: Store, a: str | tuple[Element, ...] | None, b: str | tuple[Element, ...] | None
) -> tuple[Passage, ...] | None:
    if not isinstance(a, str) or not isinstance(b, str):
        return None
    settings, most = store.settings, store.limits.text_characters
    if (longest := max(len(a), len(b))) > most:
        warn_of_limit(text_cut(longest - most, most))
    own, other = (Located.of(text[:most], settings) for text in (a, b))
    hashes = _hashes(settings, a, most)
    others = _hashes(settings, b, most)
    compared = Compared(hashes, np.ones(len(hashes), dtype=np.bool_))
    found = compared.runs_in(others, np.array([0, len(others)]), np.ones(len(others), np.bool_))
    runs = shown(dict(found).get(0, []), 1, store.limits.passages)
    # A shorter text is one shingle, which only a text of the same words equals.
    size = min(settings.shingling.size, len(own.starts))
    rows = zip(passages_at(own, other, bridged(runs, size, 0)), runs, strict=True)
    return tuple(
        Passage(p.start, p.end, p.stored_start, p.stored_end, run.length, p.line, p.stored_line)
        for p, run in rows
    )


def _hashes(settings: Settings, text: str, most: int) -> Hashes:
    """The shingles of a text in its order, without those at the end of a very long one."""
    hashes = shingle([text[:most]], settings.shingling, secret_seed()).hashes
    if len(text) <= most:
        return hashes
    # The text has no shingle of a word that is cut in two.
    return hashes[: max(len(hashes) - settings.shingling.size, 0)]
