"""Decides on documents batch by batch: each is kept, or dropped because of an earlier one.

Documents are decided on in order, each as if all before it were written already. References come
first: what resembles one of their documents is dropped. The others are compared with the documents
of earlier runs and with those kept so far. The result depends only on the order of documents, not
on how they are cut into batches.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from lshdb import offers
from lshdb.apps.dedup import rules
from lshdb.apps.dedup.adding import Versions
from lshdb.apps.dedup.collection import (
    Collection,
    DropReason,
    Locations,
    MatchedReferences,
    picked_fields,
)
from lshdb.apps.dedup.cutting import Cuts, Describe, without
from lshdb.apps.dedup.model import DroppedRow
from lshdb.apps.dedup.options import RowsOptions
from lshdb.apps.dedup.rows import rows_of
from lshdb.apps.passages.passages import Copies
from lshdb.apps.passages.positions import counts
from lshdb.apps.review.decisions import MarkedDocuments
from lshdb.errors import Cut, warn_of_limit
from lshdb.model import AddReport
from lshdb.options import AddManyOptions
from lshdb.read.batch import Origin
from lshdb.store import late, lookups
from lshdb.store.store import KnownDocument, Store
from lshdb.text.arrays import IntArray, Mask, int_array
from lshdb.write import writing
from lshdb.write.add import Select
from lshdb.write.batches import Addable, Job, signed
from lshdb.write.doc_ids import DocIds
from lshdb.write.parts import SignedPart


@dataclass(frozen=True, slots=True)
class DecidedBatch:
    """The rows or text files of a batch that have a document, each kept or dropped.

    Attributes:
        origin: the rows of the batch; None for text files.
        keys: the keys of the documents.
        indices: the indices of their rows in the origin.
        dropped: why each document is dropped; None for a kept one.
        cuts: the passages that are cut out; to be read once.
    """

    origin: Origin | None
    keys: Sequence[str]
    indices: Sequence[int]
    dropped: Sequence[DroppedRow | None]
    cuts: Iterable[DroppedRow] = ()

    @property
    def kept(self) -> list[int]:
        """The indices of the rows that are kept."""
        rows = zip(self.indices, self.dropped, strict=True)
        return [index for index, dropped in rows if dropped is None]

    def cut(
        self, plan: "Plan", kind: str, texts: Sequence[str], cuts: Cuts, before: int
    ) -> "DecidedBatch":
        """The rows without what is cut out of their texts, before which the cuts have others."""
        bounds = cuts.rows.searchsorted(np.arange(before, before + len(texts) + 1)).tolist()
        changed = {
            index: "".join(without(text, cuts.spans[first:end]))
            for index, (text, (first, end)) in enumerate(zip(texts, pairwise(bounds), strict=True))
            if first < end
        }
        if not changed:
            return self
        assert self.origin is not None
        dropped = [*self.dropped]
        left = counts([*changed.values()], kind) >= plan.options.min_words
        for index, stays in zip(changed, left.tolist(), strict=True):
            if not stays:
                dropped[index] = cuts.row(bounds[index])
        texts_left = {self.indices[index]: text for index, text in changed.items()}
        origin = rows_of(self.origin).with_texts(texts_left, plan.text_field)
        cut_rows = map(cuts.row, range(bounds[0], bounds[-1]))
        return replace(self, origin=origin, dropped=dropped, cuts=cut_rows)


@dataclass(frozen=True, eq=False)
class Plan:
    """How the documents of a run are decided on.

    Attributes:
        rule: the rule.
        references: collections that come before all documents; the last one has all documents of
            the run, in order, if those that resemble a later one are dropped, too.
        stored: the database with documents of earlier runs; None without one.
        stage: a file of the run for the kept documents; None without one.
        is_ordered: whether rows come in another order than the input: then a similar document of
            an earlier run is the reason, although one of this run is more similar.
        replaces: whether a kept row replaces the stored document of its key; otherwise both stay
            (see `Versions.key_of`). A text file always does.
        options: what dropped rows have; with `cut`, passages are cut out, and all rows are kept.
        text_field: the field of the rows that passages are cut out of.
    """

    rule: rules.RowRule
    references: Sequence[Collection] = ()
    stored: Collection | None = None
    stage: Collection | None = None
    is_ordered: bool = False
    replaces: bool = False
    options: RowsOptions = field(default_factory=RowsOptions)
    text_field: str = ""

    @property
    def stores(self) -> bool:
        """Whether kept documents go into `stored`, and replace others there.

        Else they go into the stage; without one into none, as all are compared with references
        only.
        """
        return self.stage is None and self.stored is not None


@dataclass(eq=False)
class Decider:
    """Decides on the documents of one batch after the other.

    Attributes:
        plan: how documents are decided on.
        store: has the settings by which the documents are signed: another process may reindex it.
        of_run: the documents that the run has written so far, or found unchanged.
        cut: how many documents were kept although compared with only a part of a bucket.
        unsure: how many were compared with only a part of a bucket of a reference.
    """

    plan: Plan
    store: Store
    of_run: DocIds
    cut: int = 0
    unsure: int = 0

    def __post_init__(self) -> None:
        plan, comparing = self.plan, self.plan.rule.comparing
        self._references = [_Compared(each, comparing(each)) for each in plan.references]
        self._own = [
            _Compared(each, comparing(each), self._marked(each))
            for each in (plan.stored, plan.stage)
            if each is not None
        ]
        self._documents = 0
        self._before = 0 if plan.stored is None else plan.stored.store.last_doc_id()
        # By collection and code, how many documents are cut or unsure because of it.
        self._codes = Counter[tuple[Collection, int]]()

    def _marked(self, collection: Collection) -> MarkedDocuments | None:
        stored = self.plan.stored
        if stored is None or not stored.decided.marks:
            return None
        with stored.store.reading():
            reader = None if collection.is_private else stored.store
            return MarkedDocuments(stored.decided, reader)

    def decide(self, parts: Sequence[SignedPart]) -> tuple[AddReport, list[DecidedBatch]]:
        """Decide on a batch, and write its kept documents in a transaction of the caller."""
        batch = _Batch(writing.joined(parts, self.store.settings), self.plan)
        for compared in self._references:
            self._compare(compared, parts, batch)
        read, skipped = batch.documents.batch, len(batch.documents.keys)
        report = AddReport(failed=len(read.failures), replaced=read.replaced, skipped=skipped)
        if self._own:
            report = self._decide_in_order(parts, batch)
        self._documents += skipped
        return report, [*batch.decided(parts, self.store.settings.shingling.kind)]

    def _compare(self, compared: "_Compared", parts: Sequence[SignedPart], batch: "_Batch") -> None:
        """Drop documents that resemble one of a collection that does not change."""
        is_reference = compared.collection.is_reference
        with compared.collection.reader() as reader:
            self._begin(compared, reader, parts)
            for row, dropped in enumerate(batch.dropped):
                number = self._documents + row + 1
                itself = frozenset[int]() if is_reference else {number}
                reason = compared.matcher.reason(row, itself)
                if reason is None:
                    self.unsure += self._is_cut(compared, row)
                    continue
                if dropped is None or reason.similarity > dropped.similarity:
                    compared.reasons.append((row, reason))
                if self.plan.options.choice.all_references and is_reference:
                    batch.references.add(row, compared.matches(row))
            batch.drop(compared)

    def _is_cut(self, compared: "_Compared", row: int) -> bool:
        """Whether a document was compared with a part of what it may resemble only."""
        codes = compared.matcher.cut_codes(row)
        for code in codes:
            self._codes[compared.collection, code] += 1
        return bool(codes)

    def _begin(
        self, compared: "_Compared", reader: lookups.StoreReader, parts: Sequence[SignedPart]
    ) -> None:
        """Compare a batch with a collection as it is now, which is not changed meanwhile."""
        # Signed as the collection, without the indexes that the rule does not use.
        of_run = self.store.settings
        settings = replace(reader.settings, reworded=of_run.reworded)
        if not self.plan.rule.index(settings).passages:
            settings = replace(settings, passages=of_run.passages)
        documents = writing.joined(parts, settings)
        compared.begin(reader, documents, np.ones(len(documents.keys), dtype=np.bool_), None)

    def _decide_in_order(self, parts: Sequence[SignedPart], batch: "_Batch") -> AddReport:
        """Compare documents with those of earlier runs and with each other; write the kept ones."""
        documents, stored = batch.documents, self.plan.stored
        versions = Versions(self.store if stored is None else stored.store, self._before)
        if stored is not None:
            versions.look_up(documents.keys, documents.digests)
        replaced = sum(map(versions.known.__contains__, documents.keys))
        undecided = np.array([row is None for row in batch.dropped], dtype=np.bool_)
        with ExitStack() as stack:
            *earlier, kept = self._own
            for compared in earlier:
                self._begin(compared, stack.enter_context(compared.collection.reader()), parts)
            kept.begin(kept.collection.store, documents, undecided, replaced)
            batch.begin(versions, self._own)
            for row in np.flatnonzero(undecided).tolist():
                if batch.stays(row):
                    self.cut += self._is_cut(kept, row)
                    batch.keep(row)
            return batch.finish(self.of_run)

    def cuts(self) -> Iterator[Cut]:
        """What limits left out, with the code that most of these documents share."""
        listed = self.store.limits.dedup_listed
        kept = "kept documents", "a bucket, or a run of words,", "others"
        for count, (which, code_of, others), collections in (
            (self.cut, kept, [self.plan.stage or self.plan.stored]),
            (self.unsure, ("documents", "a bucket", "of the reference"), self.plan.references),
        ):
            if count:
                codes = (key for key in self._codes if key[0] in collections)
                collection, code = most = max(codes, key=self._codes.__getitem__)
                with collection.reader() as reader:
                    named = self.plan.rule.named(reader, code)
                note = (
                    f"{which} that share {code_of} with more than {listed} {others}: {count:,}; "
                    f"they were compared with the first {listed} of these and with those in their "
                    f"smaller buckets, and may be similar to others; {self._codes[most]:,} of them "
                    f"share {named}"
                )
                yield Cut("dedup", count, note)


@dataclass(eq=False)
class _Batch:
    """The decisions on the documents of a batch, made in order.

    Attributes:
        documents: the batch.
        plan: how documents are decided on.
        dropped: why each document is dropped; None for the others.
        copied: the passages that are cut out, with what describes them.
        references: the documents of references that rows match.
    """

    documents: SignedPart
    plan: Plan

    def __post_init__(self) -> None:
        self.dropped: list[DroppedRow | None] = [None] * len(self.documents.keys)
        self.copied: list[tuple[Copies, Describe]] = []
        self.references = MatchedReferences()

    def drop(self, compared: "_Compared") -> None:
        """Drop documents because of those of a collection."""
        named = compared.matcher.named(compared.reasons)
        describe = compared.describing(int_array(reason.doc_id for _, reason in named), self)
        for row, reason in named:
            self.dropped[row] = describe(row, reason)
        for copied in compared.matcher.passages():
            self.copied.append((copied, compared.describing(copied.sources, self)))
        del compared.matcher  # with the shingles of the batch

    def decided(self, parts: Sequence[SignedPart], kind: str) -> Iterator[DecidedBatch]:
        """The decisions on the rows of each part; `kind` is that of the texts' shingles."""
        first, named = 0, self.references.named
        dropped = [row and named(index, row) for index, row in enumerate(self.dropped)]
        is_cut = self.plan.options.cut is not None
        cuts = Cuts.of(self.copied, self.documents.stored, kind) if is_cut else None
        for part in parts:
            batch, last = part.batch, first + len(part.keys)
            rows = DecidedBatch(batch.origin, batch.keys, batch.indices, dropped[first:last])
            yield rows.cut(self.plan, kind, part.stored, cuts, first) if cuts else rows
            first = last

    def begin(self, versions: Versions, compared: Sequence["_Compared"]) -> None:
        """Compare with collections, of which the last one gets the kept documents.

        Args:
            versions: the stored documents with the same keys.
            compared: the collections.
        """
        self._versions, self._compared = versions, compared
        self._kept = compared[-1].collection
        self._next_id = self._kept.store.last_doc_id() + 1
        self._written: list[int] = []
        self._keys: dict[int, str] = {}  # under which documents are stored, if not their own

    def stays(self, row: int) -> bool:
        """Decide whether a document is kept."""
        key, digest = self.documents.keys[row], self.documents.digests[row]
        versions, plan = self._versions, self.plan
        itself = versions.same(key, digest) if versions.known else None
        if itself and (self._replaces(row) or itself.doc_id <= versions.before):
            self._compared[0].reasons.append((row, DropReason(itself.doc_id, 1.0, True)))
            if plan.stores or itself.metadata != self.documents.batch.all_metadata()[row]:
                self._keys[row] = itself.key
                self._written.append(row)
                self._next_id += not plan.stores
            return False
        best: tuple[_Compared, DropReason] | None = None
        for compared in self._compared:
            without = self._no_reasons(row, compared)
            if plan.options.cut is not None:
                compared.matcher.note_passages(row, without)
                continue
            reason = compared.matcher.reason(row, without)
            if reason is not None and (best is None or reason.similarity > best[1].similarity):
                best = compared, reason
                if plan.is_ordered:
                    break
        if best is not None:
            best[0].reasons.append((row, best[1]))
        return best is None

    def _replaces(self, row: int) -> bool:
        """Whether a document is the new version of the stored one of its key."""
        _, line = self.documents.batch.wheres[row]
        return self.plan.replaces or line is None

    def _no_reasons(self, row: int, compared: "_Compared") -> set[int]:
        """The doc_ids of a collection that are no reason to drop a document.

        Among them is the version of an earlier run that is stored under its key.
        """
        versions, key = self._versions, self.documents.keys[row]
        doc_ids: set[int] = set()
        if compared.marked is not None:
            doc_ids = compared.marked.different_from((key, self.documents.digests[row]))
        known = None if compared.collection.is_private else versions.known.get(key)
        if known and (known.doc_id <= versions.before or self._replaces(row)):
            return {*doc_ids, known.doc_id}
        return doc_ids

    def keep(self, row: int) -> None:
        """Note that a document is kept."""
        documents, versions = self.documents, self._versions
        key, digest = document = documents.keys[row], documents.digests[row]
        doc_id, replaces = self._next_id, False
        if self.plan.stores:
            if key in versions.known:
                replaces = self._replaces(row)
                if replaces:
                    doc_id = versions.known[key].doc_id
                elif versions.same(key, digest) is not None:
                    return  # it is there, and the rule does not compare such documents
                else:
                    self._kept.original_keys[doc_id] = key
                    key = self._keys[row] = versions.key_of(key, digest)
            metadata = documents.batch.all_metadata()[row]
            versions.known[key] = KnownDocument(doc_id, key, digest, metadata)
        self._next_id += not replaces
        compared = self._compared[-1]
        compared.matcher.keep(row, doc_id, replaces=replaces)
        if compared.marked is not None:
            compared.marked.add(doc_id, document)
        self._kept.locations.add(doc_id, documents.batch.wheres[row])
        self._written.append(row)

    def finish(self, of_run: DocIds) -> AddReport:
        """Write the kept documents, and record why the others are dropped."""
        writer = writing.Writer(self._kept.store, of_run=of_run)
        part = self.documents.take(self._written)
        keys = [self._keys.get(row, self.documents.keys[row]) for row in self._written]
        writer.write(replace(part, batch=replace(part.batch, keys=keys)))
        writer.finish()
        for compared in self._compared:
            self.drop(compared)
        return replace(writer.report, skipped=len(self.documents.keys) - len(self._written))


@dataclass(eq=False)
class _Compared:
    """A collection that batches are compared with, and why it drops documents of this batch.

    Attributes:
        collection: the documents.
        comparing: makes the matcher of a batch.
        marked: the documents that reviewers marked as no duplicates of others; None if no
            decision does.
        reader: of the collection as it is for this batch.
        matcher: compares the rows of this batch.
        reasons: why documents are dropped, by their rows in the batch.
    """

    collection: Collection
    comparing: rules.Comparing
    marked: MarkedDocuments | None = None

    def begin(
        self,
        reader: lookups.StoreReader,
        documents: SignedPart,
        decided: Mask,
        replaced: int | None,
    ) -> None:
        """Compare a batch; see rules.Comparing."""
        self.reader, self.reasons = reader, list[tuple[int, DropReason]]()
        self.matcher = self.comparing(reader, documents, decided, replaced)

    def matches(self, row: int) -> Iterator[tuple[float, str]]:
        """The similarities and keys of all documents of the collection that a row matches."""
        similarities = self.matcher.matches(row)
        doc_ids = int_array(sorted(similarities))
        for doc_id, key in zip(doc_ids.tolist(), self._keys_of(doc_ids), strict=True):
            yield similarities[doc_id], key

    def _keys_of(self, doc_ids: IntArray) -> list[str]:
        return self.collection.rebased(self.reader, doc_ids, self.reader.keys_of(doc_ids))

    def describing(self, doc_ids: IntArray, rows: _Batch) -> Describe:
        """What makes the rows of documents that are dropped because of some of the collection."""
        documents, fields, collection = rows.documents, rows.plan.options.fields, self.collection
        batch, files = documents.batch, documents.batch.files
        doc_ids = np.unique(doc_ids)
        metadata = self.reader.metadata_of(doc_ids) if fields else itertools.repeat(None)
        _, *digests = self.reader.identities(doc_ids)
        columns = zip(self._keys_of(doc_ids), metadata, *digests, strict=False)
        kept = dict(zip(doc_ids.tolist(), columns, strict=True))

        def described(row: int, reason: DropReason) -> DroppedRow:
            """The row of a document."""
            key, stored, text_digest, bytes_digest = kept[reason.doc_id]
            digest = documents.digests[row]
            same_text = digest == text_digest
            has_bytes = files.get(row, digest.hex()) == bytes_digest is not None
            key = collection.original_keys.get(reason.doc_id, key)
            return DroppedRow(
                batch.keys[row],
                *batch.wheres[row],
                key,
                *collection.locations.where(reason.doc_id, key),
                reason.similarity,
                reason.exact,
                same_text and has_bytes,
                same_text,
                collection.reference,
                *picked_fields(fields, batch.all_metadata()[row], stored),
                reason.passage,
            )

        return described


def decided(
    job: Job, items: Iterable[Addable], plan: Plan
) -> Iterator[tuple[AddReport, list[DecidedBatch]]]:
    """Decide on a stream of documents, batch by batch.

    Args:
        job: reads and signs documents; its store is that of the kept ones, if they go into one.
        items: documents, or batches of them.
        plan: how documents are decided on.

    Yields:
        The report of each batch when it is in the file, and the decisions on its parts.
    """
    store = job.store
    late.complete(store)  # what a killed addition left: buckets are looked up for each batch
    decider = Decider(plan, store, job.of_run)
    with signed(job, items) as stream:
        for batch in stream:
            parts, transaction = [*batch], store.writing()
            try:
                with transaction:
                    result = decider.decide(parts)
            except KeyboardInterrupt:
                if transaction.committed:
                    yield result
                raise
            del parts
            yield result
            del result
        for cut in decider.cuts():
            warn_of_limit(cut)


def selecting(options: AddManyOptions) -> Select:
    """A function that adds documents unless a kept one is similar."""

    def select(job: Job, items: Iterable[Addable]) -> Iterator[AddReport]:
        if job.store.settings.records:
            offers.offered(offers.SEARCHES, "records").check(options.on_similar)
        stored = Collection(job.store, Locations(job.store.last_doc_id() + 1))
        plan = Plan(rules.SimilarRule(), stored=stored, replaces=True)
        for report, batches in decided(job, items, plan):
            for row in itertools.chain.from_iterable(batch.dropped for batch in batches):
                if row is not None and row.kept != row.key and options.on_skip is not None:
                    options.on_skip(row)
            yield report

    return select
