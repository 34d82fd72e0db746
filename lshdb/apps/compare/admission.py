"""A document that is added unless a similar one is stored, all in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lshdb import model
from lshdb.apps.compare import differences
from lshdb.apps.compare.model import Change
from lshdb.apps.compare.options import AdmissionOptions
from lshdb.errors import KeyInUse
from lshdb.formatting import shortened
from lshdb.groups import replaced
from lshdb.model import StoredDocument
from lshdb.options import RankingOptions
from lshdb.results import Result
from lshdb.search.query import answers
from lshdb.search.stored_documents import stored_document
from lshdb.sketch.settings import Settings, recall_at
from lshdb.sketch.signing import digested
from lshdb.store.store import Store
from lshdb.text.shingling import Content
from lshdb.write import parts, writing
from lshdb.write.batches import batch_of

_SHOWN = 80
"""Characters of a stored text in a message."""


@dataclass(frozen=True, slots=True)
class Similar(Result):
    """A stored document that is similar to a new one.

    Attributes:
        key: its key.
        similarity: Jaccard similarity, in [0, 1].
        exact: whether it is exact, not estimated.
        identical, same_text: as for Match.
        content: its text or the elements of its set; None where content is not kept.
        changes: the differences of the two, in order; for sets the elements that only one has.
            Empty if they differ in case, blanks or punctuation around words only, or not at all,
            and where content is not kept.
    """

    key: str
    similarity: float
    exact: bool
    identical: bool
    same_text: bool
    content: Content | None
    changes: tuple[Change, ...]


AdmissionOutcome = Literal["added", "replaced", "unchanged", "similar"]


@dataclass(frozen=True, slots=True)
class Admission(Result):
    """The result of adding a document unless a similar one is stored.

    Attributes:
        key: its key.
        outcome: `added`; `replaced`, if it took the place of another; `unchanged`, if it was
            stored before under this key, with the same content and metadata; or `similar`: it was
            left out, as others are similar.
        similar: the documents that were similar to it when it came, best first, without the
            replaced one.
        more: whether there are more similar documents than `similar` lists.
        replaced: the document that it replaced, as it was; None if it replaced none.
        threshold: the minimum similarity of these documents.
        recall: the share of documents at this similarity that the comparison finds.
        compared_all: whether it was compared with all documents, not only with those that the
            index finds: for a threshold below the one that the index is made for.
        empty: whether it has no shingle, and so is similar to nothing.
    """

    key: str
    outcome: AdmissionOutcome
    similar: tuple[Similar, ...]
    more: bool
    replaced: StoredDocument | None
    threshold: float
    recall: float
    compared_all: bool
    empty: bool


def add_unless_similar(store: Store, options: AdmissionOptions) -> Admission:
    """Add a document unless similar ones are stored; see Database.add_unless_similar."""
    document = model.Document(**vars(options.document))
    batch = batch_of(document, store.settings, store.limits)
    part = parts.part_of(batch, digested(store.settings, (batch.contents, True)))
    with store.writing():
        # The index may have been rebuilt since the file was read last.
        part = replace(part, signed=writing.signatures_of(part, store.settings))
        (key,) = part.keys
        ((outcome,), _) = writing.outcomes(part, store.known([key]))
        old = None
        if options.replace is not None:
            old = stored_document(store, options.replace)
        if outcome == "updated" and options.replace != key:
            stored = stored_document(store, key).content
            holds = f", {shortened(str(stored), _SHOWN)!r}" if stored not in (None, "") else ""
            raise KeyInUse(
                f"the key {key!r} is in use by another document{holds}: give another key, or this "
                "one as replace, too"
            )
        threshold, compares_all, recall = comparison_at(store.settings, options.threshold)
        # Some more, as neither the replaced document nor its own earlier version counts.
        query = RankingOptions(top=options.top + 3, threshold=threshold, exhaustive=compares_all)
        ((matches, cuts),) = answers(store, query, writing.query_batch(part), None)
        if cuts:  # what is similar may be in the rest of a large bucket
            ((matches, _),) = answers(
                store, replaced(query, top=None), writing.query_batch(part), None
            )
        others = [match for match in matches if match.key not in (key, options.replace)]
        became: AdmissionOutcome = "unchanged" if outcome == "unchanged" else "added"
        if old is not None and (outcome, old.key) != ("unchanged", key):
            became = "replaced"
        elif outcome == "added" and others and not options.force:
            became = "similar"
        assert part.signed is not None
        admission = Admission(
            key,
            became,
            tuple(_similar(store, match, batch.contents[0]) for match in others[: options.top]),
            len(others) > options.top,
            old if became == "replaced" else None,
            threshold,
            recall,
            compares_all,
            not part.signed.shingles[0],
        )
        if became in ("added", "replaced"):
            if old is not None and old.key != key:
                writing.delete(store, [old.doc_id])
            writer = writing.Writer(store)
            writer.write(part)
            writer.finish()
        return admission


def comparison_at(settings: Settings, threshold: float | None) -> tuple[float, bool, float]:
    """How documents are compared at a threshold, so that no recall is lost silently.

    Below its own threshold, the index finds less than it was made for: all documents are compared.

    Args:
        settings: of the file.
        threshold: None for the file's own.

    Returns:
        The threshold; whether all documents are compared; and the recall there, the share of
        documents at this similarity that are found.
    """
    if threshold is None:
        threshold = settings.threshold
    recall = recall_at(settings, threshold)
    compares_all = threshold < settings.threshold and recall < settings.recall
    return threshold, compares_all, 1.0 if compares_all else recall


def _similar(store: Store, match: model.Match, content: Content) -> Similar:
    """A match with the differences."""
    stored = stored_document(store, match.key).content
    changes: Sequence[Change] = ()
    if isinstance(stored, str) and isinstance(content, str):
        changes = differences.changed_words(content, stored)
    elif stored is not None:
        only_given, only_stored, _ = differences.sets_beside([*content], [*stored])
        changes = [Change(str(element), "") for element in only_given]
        changes += [Change("", str(element)) for element in only_stored]
    likeness = match.similarity, match.exact, match.identical, match.same_text
    return Similar(match.key, *likeness, stored, tuple(changes))
