"""Why two documents are similar, or not, by exact comparison, signatures and buckets."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from lshdb import errors
from lshdb.apps.compare import differences, model
from lshdb.apps.passages import passage_runs, passage_windows
from lshdb.model import Document
from lshdb.read.batch import Batch
from lshdb.search import query
from lshdb.search.lookup import buckets_of
from lshdb.search.similarity import standard_error
from lshdb.sketch import constructions, minhash, signing
from lshdb.sketch.settings import recall_at
from lshdb.store.store import Store
from lshdb.text import arrays, hashing, shingles
from lshdb.text.content import cleaned, digest, encoded, from_stored
from lshdb.text.shingling import Element

_PlainContent = str | tuple[Element, ...]
_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True, slots=True)
class _ComparedDocument:
    """One of the two documents; the signature is None if it has no shingles."""

    key: str
    digest: bytes
    bytes_digest: str | None
    content: _PlainContent | None
    signature: arrays.Lanes | None


def compare(store: Store, a: str | Document | Batch, b: str | Document | Batch) -> model.Comparison:
    """Compare two documents, of which one that was just read is a batch; see Database.compare."""
    with store.reading():
        settings = store.settings  # of the same state as the documents
        a_side, b_side = _side(store, a), _side(store, b)
        exact = _exact(store, a_side.content, b_side.content)
    same_text = a_side.digest == b_side.digest and not settings.shingling.foreign
    agreeing = 0
    buckets: tuple[model.SharedBucket, ...] = ()
    candidates = settings.records and (exact["similarity"] or 0) >= settings.threshold
    if a_side.signature is not None and b_side.signature is not None:
        agreeing = int((a_side.signature == b_side.signature).sum())
        a_buckets = buckets_of(store, a_side.signature)
        collided = a_buckets == buckets_of(store, b_side.signature)
        candidates |= bool(constructions.evaluate(collided[np.newaxis], settings.construction)[0])
        same = np.flatnonzero(collided)
        pairs = zip(same.tolist(), a_buckets[same].tolist(), strict=True)
        buckets = tuple(model.SharedBucket(band_no, key) for band_no, key in pairs)
    shared_elements = None
    if isinstance(a_side.content, tuple) and isinstance(b_side.content, tuple):
        shared_elements = tuple(differences.sets_beside(a_side.content, b_side.content)[2])
    estimate = float(minhash.estimate(agreeing, settings.permutations, settings.lane_bits))
    likely = estimate if exact["union"] is None else exact["shared"] / max(exact["union"], 1)
    return model.Comparison(
        a=a_side.key,
        b=b_side.key,
        **exact,
        identical=same_text and a_side.bytes_digest == b_side.bytes_digest is not None,
        same_text=same_text,
        estimate=estimate,
        standard_error=float(standard_error(likely, settings, settings.permutations)),
        agreeing_lanes=agreeing,
        lanes=settings.permutations,
        shared_buckets=buckets,
        bands=settings.construction.bands,
        candidates=candidates,
        candidate_probability=recall_at(settings, likely) or 0.0,
        passages=_passages(store, a_side.content, b_side.content),
        shared_elements=shared_elements,
        a_content=a_side.content,
        b_content=b_side.content,
        base=tuple(name for name, _ in settings.shingling.base),
        _changes=_found_in(differences.changed_words, a_side.content, b_side.content),
        _renames=_found_in(differences.renames_of, a_side.content, b_side.content)
        if settings.shingling.of_programs
        else list,
    )


def _exact(store: Store, a: _PlainContent | None, b: _PlainContent | None) -> dict[str, Any]:
    """What two contents have in common, as fields of a Comparison; None where one is not kept."""
    settings = store.settings
    if a is None or b is None:
        names = ("a_shingles", "b_shingles", "shared", "union", "similarity", "a_in_b", "b_in_a")
        return dict.fromkeys(names)
    sets = shingles.distinct_shingles([a, b], settings.shingling, hashing.secret_seed())
    a_shingles, b_shingles = np.diff(sets.offsets).tolist()
    union = len(hashing.distinct(sets.hashes))
    shared = a_shingles + b_shingles - union
    similarity = shared / max(union, 1)
    if settings.records and isinstance(a, str) and isinstance(b, str):
        pair, lengths = np.arange(2).reshape(2, 1), np.array([len(a), len(b)])
        measure = query.measure_of(store)
        similarity = float(measure.weigh(lambda _: (a, b), lengths, *pair)[1][0])
    return {
        "a_shingles": a_shingles,
        "b_shingles": b_shingles,
        "shared": shared,
        "union": union,
        "similarity": similarity,
        "a_in_b": shared / max(a_shingles, 1),
        "b_in_a": shared / max(b_shingles, 1),
    }


def _found_in(
    search: Callable[[str, str], list[_T]], a: _PlainContent | None, b: _PlainContent | None
) -> Callable[[], list[_T]]:
    """What searches two texts when it is called; it finds nothing in other contents."""
    return partial(search, a, b) if isinstance(a, str) and isinstance(b, str) else list


def _side(store: Store, document: str | Document | Batch) -> _ComparedDocument:
    shingling = store.settings.shingling
    if isinstance(document, str):
        row = query.row_of_key(store, document)
        content = None if row.content is None else from_stored(row.content, shingling)
        [file] = store.files_of([row.doc_id])
        [bytes_digest] = store.bytes_digests(np.array([row.doc_id]))
        return _ComparedDocument(row.key, file.digest, bytes_digest, content, row.signature)
    if isinstance(document, Document):
        document = Batch([document.key], [document.content])
    if not isinstance(document, Batch):
        raise errors.UsageError(f"{type(document).__name__} is neither a key nor a Document")
    content = cleaned(document.contents[0], shingling)
    signed = signing.sign([content], store.settings)
    signature = signed.signatures[0] if signed.shingles[0] else None
    text_digest = digest(encoded(content).encode())
    bytes_digest = document.files.get(0, text_digest.hex())
    return _ComparedDocument(document.keys[0], text_digest, bytes_digest, content, signature)


def text_cut(characters: int, limit: int) -> errors.Cut:
    """These characters of a text come after those that are searched for passages."""
    return errors.Cut(
        "compare",
        characters,
        f"only the first {limit:,} characters of each text are searched for passages",
    )


def _passages(
    store: Store, a: _PlainContent | None, b: _PlainContent | None
) -> tuple[model.Passage, ...] | None:
    if not isinstance(a, str) or not isinstance(b, str):
        return None
    settings, max_length = store.settings, store.limits.text_characters
    if (longest := max(len(a), len(b))) > max_length:
        errors.warn_of_limit(text_cut(longest - max_length, max_length))
    counting = passage_windows.Counting.of(settings, arrays.NO_NUMBERS)
    size = settings.shingling.size
    # Cut between words: a part of a word would be another word.
    cut = [
        text if len(text) <= max_length else text[:max_length].rsplit(maxsplit=1)[0]
        for text in (a, b)
    ]
    texts = dataclasses.replace(counting, run=size).windows_of(cut)
    if texts.units.min() < size:
        # A shorter text is one shingle, which only a text of the same words equals.
        size = int(texts.units[0])
        if not size or size != texts.units[1]:
            return ()
        texts = dataclasses.replace(counting, run=size).windows_of(cut)
    first, second = np.arange(2).reshape(2, 1)
    criteria = passage_runs.Criteria(size, size, 0, store.limits.passages)
    _, shared = passage_runs.shared_passages(texts, criteria, first, second)
    return tuple(
        model.Passage(
            passage.start,
            passage.end,
            passage.stored_start,
            passage.stored_end,
            passage.words - size + 1,
            passage.line,
            passage.stored_line,
        )
        for passage in passage_runs.passages_of(shared, cut, first, second)
    )
