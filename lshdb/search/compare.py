"""Why two documents are alike, or not: what exact comparison, signatures and buckets show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError, warn_of_limit
from lshdb.model import Comparison, Document, Element, Passage, SharedBucket, Shingles
from lshdb.search.buckets import buckets_of
from lshdb.search.limits import PASSAGES, TEXT_CHARACTERS, passages_cut, text_cut
from lshdb.search.query import row_of_key
from lshdb.search.similarity import containment, intersections, jaccard, standard_error
from lshdb.shingling.content import cleaned, digest, encoded, from_stored
from lshdb.shingling.hashing import Hashes
from lshdb.shingling.passages import Run, shared_runs
from lshdb.shingling.positions import Positions, line_starts, shingle_positions
from lshdb.shingling.shingles import distinct_shingles, shingle
from lshdb.sketching.constructions import candidate_probability, evaluate
from lshdb.sketching.signing import sign
from lshdb.store.store import Store


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two documents; the signature is None where it has no shingles."""

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
    sizes = _sizes(store, one, other)
    shares: tuple[float | None, ...] = (None, None, None)
    if sizes is not None:
        shares = _shares(*sizes)
    exact = shares[0]
    likely = agreeing / lanes if exact is None else exact
    return Comparison(
        a=one.key,
        b=other.key,
        a_shingles=None if sizes is None else sizes[0],
        b_shingles=None if sizes is None else sizes[1],
        shared=None if sizes is None else sizes[2],
        union=None if sizes is None else sizes[0] + sizes[1] - sizes[2],
        similarity=exact,
        identical=one.digest == other.digest and not settings.shingling.foreign,
        a_in_b=shares[1],
        b_in_a=shares[2],
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


def _sizes(store: Store, one: _Side, other: _Side) -> tuple[int, int, int] | None:
    """How many distinct shingles each has, and how many both; None where it is not known."""
    if one.content is None or other.content is None:
        return None
    shingling, seed = store.settings.shingling, store.settings.seed
    a = distinct_shingles([one.content], shingling, seed).hashes
    b = distinct_shingles([other.content], shingling, seed)
    return len(a), len(b.hashes), int(intersections(a, b)[0])


def _shares(a: int, b: int, shared: int) -> tuple[float, float, float]:
    """Jaccard similarity, and containment of each in the other."""
    both = np.array([shared])
    similarity = jaccard(both, a, b)
    return float(similarity[0]), float(containment(both, a)[0]), float(containment(both, b)[0])


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
    a_hashes, a_at = _located(store, a)
    b_hashes, b_at = _located(store, b)
    if (longest := max(len(a), len(b))) > TEXT_CHARACTERS:
        warn_of_limit(text_cut(longest - TEXT_CHARACTERS, TEXT_CHARACTERS))
    runs = shared_runs(a_hashes, b_hashes, PASSAGES + 1)
    if len(runs) > PASSAGES:
        warn_of_limit(passages_cut(PASSAGES, int(a_at.starts[runs.pop().a_first])))
    return _passages_at(runs, a, a_at, b, b_at)


def _located(store: Store, text: str) -> tuple[Hashes, Positions]:
    """The shingles of a text in its order, those of the end of a very long one left out."""
    shingling = store.settings.shingling
    cut = text[:TEXT_CHARACTERS]
    shingles: Shingles = shingle([cut], shingling, store.settings.seed)
    hashes, at = shingles.hashes, shingle_positions(cut, shingling)
    if len(cut) < len(text):
        # Of a word that is cut in two the text has no shingle.
        end = max(len(hashes) - shingling.size, 0)
        hashes, at = hashes[:end], Positions(at.starts[:end], at.ends[:end])
    return hashes, at


def _passages_at(
    runs: Sequence[Run], a: str, a_at: Positions, b: str, b_at: Positions
) -> tuple[Passage, ...]:
    first, other, length = np.array(runs, dtype=np.int64).reshape(-1, 3).T
    places = a_at.starts[first], b_at.starts[other]
    lines = (
        np.searchsorted(line_starts(text), starts, side="right").tolist()
        for text, starts in zip((a, b), places, strict=True)
    )
    rows = zip(
        places[0].tolist(),
        a_at.ends[first + length - 1].tolist(),
        places[1].tolist(),
        b_at.ends[other + length - 1].tolist(),
        length.tolist(),
        *lines,
        strict=True,
    )
    return tuple(Passage(*row) for row in rows)
