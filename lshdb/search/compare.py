"""Why two documents are similar, or not, by exact comparison, signatures and buckets."""

from dataclasses import dataclass, replace

import numpy as np

from lshdb.errors import UsageError, warn_of_limit
from lshdb.keys import with_article
from lshdb.model import Comparison, Document, Passage, SharedBucket
from lshdb.search import differences, limits, passage_runs, passage_windows, query
from lshdb.search.lookup import buckets_of
from lshdb.search.similarity import standard_error
from lshdb.shingling import hashing, shingles
from lshdb.shingling.arrays import NO_NUMBERS, Lanes
from lshdb.shingling.content import cleaned, digest, encoded, from_stored
from lshdb.shingling.shingling import Element
from lshdb.sketching import constructions, signing
from lshdb.store.store import Store

_Content = str | tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two documents; the signature is None if it has no shingles."""

    key: str
    digest: bytes
    content: _Content | None
    signature: Lanes | None


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
        candidates = bool(constructions.evaluate(collided[np.newaxis], settings.construction)[0])
        same = np.flatnonzero(collided)
        pairs = zip(same.tolist(), own[same].tolist(), strict=True)
        buckets = tuple(SharedBucket(band_no, key) for band_no, key in pairs)
    a_shingles = b_shingles = shared = union = None
    similarity = a_in_b = b_in_a = None
    if one.content is not None and other.content is not None:
        contents, seed = [one.content, other.content], hashing.secret_seed()
        sets = shingles.distinct_shingles(contents, settings.shingling, seed)
        a_shingles, b_shingles = np.diff(sets.offsets).tolist()
        union = len(hashing.distinct(sets.hashes))
        shared = a_shingles + b_shingles - union
        similarity = shared / max(union, 1)
        a_in_b, b_in_a = shared / max(a_shingles, 1), shared / max(b_shingles, 1)
    shared_elements = None
    if isinstance(one.content, tuple) and isinstance(other.content, tuple):
        shared_elements = tuple(differences.sets_beside(one.content, other.content)[2])
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
        candidate_probability=constructions.candidate_probability(likely, settings.construction)
        or 0.0,
        passages=_passages(store, one.content, other.content),
        shared_elements=shared_elements,
        a_content=one.content,
        b_content=other.content,
        base=tuple(name for name, _ in settings.shingling.base),
    )


def _side(store: Store, given: str | Document) -> _Side:
    shingling = store.settings.shingling
    if isinstance(given, str):
        row = query.row_of_key(store, given)
        content = None if row.content is None else from_stored(row.content, shingling)
        own = store.sizes(np.array([row.doc_id]))[1][0].tobytes()
        return _Side(row.key, own, content, row.signature)
    if not isinstance(given, Document):
        raise UsageError(f"{with_article(type(given).__name__)} is neither a key nor a Document")
    content = cleaned(given.content, shingling)
    signed = signing.sign([content], store.settings)
    signature = signed.signatures[0] if signed.shingles[0] else None
    return _Side(given.key, digest(encoded(content).encode()), content, signature)


def _passages(store: Store, a: _Content | None, b: _Content | None) -> tuple[Passage, ...] | None:
    if not isinstance(a, str) or not isinstance(b, str):
        return None
    settings, max_length = store.settings, store.limits.text_characters
    if (longest := max(len(a), len(b))) > max_length:
        warn_of_limit(limits.text_cut(longest - max_length, max_length))
    every = passage_windows.Counting.of(settings, NO_NUMBERS)
    size = settings.shingling.size
    # Cut between words: a part of a word would be another word.
    cut = [
        text if len(text) <= max_length else text[:max_length].rsplit(maxsplit=1)[0]
        for text in (a, b)
    ]
    texts = replace(every, run=size).windows_of(cut)
    if texts.units.min() < size:
        # A shorter text is one shingle, which only a text of the same words equals.
        size = int(texts.units[0])
        if not size or size != texts.units[1]:
            return ()
        texts = replace(every, run=size).windows_of(cut)
    one, other = np.arange(2).reshape(2, 1)
    criteria = passage_runs.Criteria(size, size, 0, store.limits.passages)
    found = passage_runs.shared_passages(passage_runs.Pairs(texts, one, other), criteria)
    return tuple(
        Passage(
            each.start,
            each.end,
            each.stored_start,
            each.stored_end,
            each.words - size + 1,
            each.line,
            each.stored_line,
        )
        for shared in found
        for each in shared.passages
    )
