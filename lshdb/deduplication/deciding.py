"""Decides on documents batch by batch: dropped because of others before them, or kept.

Documents are decided on in order, each as if all before it were written already. References come
first: what resembles one of their documents is dropped. The others are compared with the documents
of earlier runs and with those kept so far. The result depends only on the order of documents, not
on how they are cut into batches.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np

from lshdb.deduplication.collection import Collection, Reason
from lshdb.deduplication.cutting import Cutting, covering, without
from lshdb.deduplication.matching import Matcher
from lshdb.deduplication.rules import Comparing, RowRule
from lshdb.errors import warn_of_limit
from lshdb.ingest.batches import Item, Job, signed
from lshdb.ingest.parts import SignedPart
from lshdb.ingest.writing import Writer, joined
from lshdb.keys import distinct_key
from lshdb.model import AddReport, DroppedRow
from lshdb.search.cut_notes import dedup_cut, reference_cut
from lshdb.shingling.positions import count
from lshdb.sources.batch import Origin
from lshdb.sources.sinks import rows_of
from lshdb.store import late
from lshdb.store.lookups import StoreReader
from lshdb.store.store import KnownDocument, Store


@dataclass(frozen=True, slots=True)
class Decided:
    """The rows or text files of a batch that have a document, each kept or dropped.

    Attributes:
        origin: the rows that they came from; None for text files.
        keys: of the documents.
        indices: of their rows, from 0.
        dropped: why each is not kept; None for those that are.
        clusters: the number of each one's cluster, if they are wanted (see Clusters).
        cuts: what is cut out of their texts, with the indices of the documents.
        before: the rows as they came, if texts are cut in those of `origin`.
    """

    origin: Origin | None
    keys: Sequence[str]
    indices: Sequence[int]
    dropped: Sequence[DroppedRow | None]
    clusters: Sequence[int] = ()
    cuts: Sequence[tuple[int, DroppedRow]] = ()
    before: Origin | None = None

    @property
    def kept(self) -> list[int]:
        """The indices of the rows that are kept."""
        rows = zip(self.indices, self.dropped, strict=True)
        return [index for index, dropped in rows if dropped is None]

    def cut(
        self, cutting: Cutting, texts: Sequence[str], copied: Sequence[Sequence[DroppedRow]]
    ) -> Decided:
        """The same rows with shorter texts, from theirs and what is copied in each."""
        changed, cuts, dropped = dict[int, str](), list[tuple[int, DroppedRow]](), [*self.dropped]
        for index in range(len(texts)):
            if passages := covering(copied[index], texts[index], cutting.kind):
                left = without(texts[index], passages)
                changed[self.indices[index]] = left
                cuts += ((index, passage) for passage in passages)
                if count(left, cutting.kind) < cutting.min_words:
                    dropped[index] = passages[0]
        if self.origin is None or not changed:
            return self
        rows = rows_of(self.origin).with_texts(changed, cutting.field)
        origin = replace(self.origin, rows=rows)
        return replace(self, origin=origin, dropped=dropped, cuts=cuts, before=self.origin)


@dataclass(eq=False)
class Clusters:
    """Numbers the clusters of a run: a kept row, and the rows that are dropped for it.

    The number is that of the kept row among all rows of the input, from 1. A cluster around a
    document of a reference or of an earlier run has the number of the first row decided on in it.

    Attributes:
        of_origins: whether origins have the numbers of rows, from 0; else rows come in their order.
    """

    of_origins: bool = False

    def __post_init__(self) -> None:
        self._rows = array("q")  # of kept documents, by doc_id
        self._others: dict[tuple[int, int], int] = {}

    def keep(self, doc_id: int, row: int) -> None:
        """Note which row a document of the run is."""
        self._rows.extend([0] * (doc_id + 1 - len(self._rows)))
        self._rows[doc_id] = row

    def of(self, collection: Collection, doc_id: int, row: int) -> int:
        """The cluster of a row that is dropped for a document."""
        if doc_id < len(self._rows) and collection.is_private and not collection.is_reference:
            return self._rows[doc_id]
        return self._others.setdefault((id(collection), doc_id), row)


@dataclass(frozen=True, eq=False)
class Plan:
    """How the documents of a run are decided on.

    Attributes:
        rule: for which documents others are dropped.
        references: collections that come before all documents.
        stored: documents of earlier runs.
        kept: the collection that kept documents are added to; the same as `stored` if they go
            into the database at once; None if documents are not compared with each other.
        everything: all documents of the run, in order, if those that resemble a later one are
            dropped, too.
        stored_first: whether a similar document of an earlier run is the reason, although one of
            this run is more similar.
        replaces: whether a kept row replaces the stored document of its key; otherwise both stay
            (see `distinct_key`). A text file always does.
        fields: of metadata, which dropped rows have.
        cutting: how passages are cut out of documents, which are all kept; None to drop.
        clusters: numbers the clusters; None if nobody wants them.
    """

    rule: RowRule
    references: Sequence[Collection] = ()
    stored: Collection | None = None
    kept: Collection | None = None
    everything: Collection | None = None
    stored_first: bool = False
    replaces: bool = False
    fields: Sequence[str] = ()
    cutting: Cutting | None = None
    clusters: Clusters | None = None


@dataclass(eq=False)
class Versions:
    """The documents that a database has under the keys of a batch.

    Attributes:
        store: the database.
        before: the last doc_id of earlier runs.
        known: by key; with those that are kept meanwhile.
    """

    store: Store
    before: int
    known: dict[str, KnownDocument] = field(default_factory=dict)

    def look_up(self, keys: Sequence[str], digests: Sequence[bytes]) -> None:
        """Find the documents of the keys of a batch, and of those that tell them apart."""
        self.known = self.store.known([*dict.fromkeys(keys)])
        others = {
            distinct_key(key, digest)
            for key, digest in zip(keys, digests, strict=True)
            if key in self.known and self.known[key].digest != digest
        }
        if others:
            self.known |= self.store.known([*others])

    def same(self, key: str, digest: bytes) -> KnownDocument | None:
        """The document of a key with the same content."""
        for name in (key, distinct_key(key, digest)):
            document = self.known.get(name)
            if document is not None and document.digest == digest:
                return document
        return None

    def stored_before(self, key: str, digest: bytes) -> KnownDocument | None:
        """The same, if an earlier run stored it."""
        document = self.same(key, digest)
        return document if document is not None and document.doc_id <= self.before else None


@dataclass(eq=False)
class Decider:
    """Decides on the documents of one batch after the other.

    Attributes:
        plan: how.
        store: by whose settings the documents are signed: another process may reindex it.
        cut: how many were kept so far although compared with only a part of a bucket.
        unsure: of how many the same is true of a reference.
    """

    plan: Plan
    store: Store
    cut: int = 0
    unsure: int = 0

    def __post_init__(self) -> None:
        plan, comparing = self.plan, self.plan.rule.comparing
        self._references = [(one, comparing(one)) for one in plan.references]
        own = [plan.stored] if plan.stored is not plan.kept else []
        self._own = [(one, comparing(one)) for one in (*own, plan.kept) if one is not None]
        self._everything = None if plan.everything is None else comparing(plan.everything)
        self._rows = 0  # of all batches so far
        self._documents = 0
        self._before = 0 if plan.stored is None else plan.stored.store.last_doc_id()

    def decide(self, parts: Sequence[SignedPart]) -> tuple[AddReport, list[Decided]]:
        """Decide on a batch, and write its kept documents in a transaction of the caller."""
        documents = joined(parts, self.store.settings)
        rows = _Rows(documents, self._row_numbers(parts), self.plan)
        for collection, comparing in self._references:
            self._compare(collection, comparing, parts, rows)
        if self.plan.everything is not None and self._everything is not None:
            self._compare(self.plan.everything, self._everything, parts, rows, itself=True)
        batch = documents.batch
        report = AddReport(
            failed=len(batch.failures), replaced=batch.replaced, skipped=len(documents.keys)
        )
        if self._own:
            report = self._decide_in_order(parts, documents, rows)
        self._documents += len(documents.keys)
        counted = [one.batch.count for one in parts]
        self._rows += sum(counted)
        return report, [*rows.decided(parts)]

    def _row_numbers(self, parts: Sequence[SignedPart]) -> list[int]:
        """The numbers of the rows of documents among all rows of the run, from 1."""
        numbers, first = list[int](), self._rows + 1
        clusters = self.plan.clusters
        for part in parts:
            indices = part.batch.indices or range(len(part.keys))
            if clusters is not None and clusters.of_origins and part.batch.origin is not None:
                numbers += (part.batch.origin.numbers[index] + 1 for index in indices)
                continue
            numbers += (first + index for index in indices)
            first += part.batch.count
        return numbers

    def _compare(
        self,
        collection: Collection,
        comparing: Comparing,
        parts: Sequence[SignedPart],
        rows: _Rows,
        *,
        itself: bool = False,
    ) -> None:
        """Drop documents that resemble one of a collection that does not grow."""
        with collection.reader() as reader:
            part = self._signed_for(reader, parts)
            matcher = comparing(reader, part, None, 0)
            reasons = list[tuple[int, Reason]]()
            for row in range(len(part.keys)):
                own = {self._documents + row + 1} if itself else frozenset()
                reason = matcher.reason(row, own)
                if reason is None:
                    self.unsure += matcher.is_cut(row)
                elif reason.similarity > rows.similarity(row):
                    reasons.append((row, reason))
            rows.drop(collection, reader, reasons)

    def _signed_for(self, reader: StoreReader, parts: Sequence[SignedPart]) -> SignedPart:
        """The documents, signed as those of a collection: indexes that no rule asks are left."""
        there, here = reader.settings, self.store.settings
        passages = there.passages if self.plan.rule.index(there).passages else here.passages
        return joined(parts, replace(there, passages=passages, reworded=here.reworded))

    def _decide_in_order(
        self, parts: Sequence[SignedPart], documents: SignedPart, rows: _Rows
    ) -> AddReport:
        """Compare documents with those of earlier runs and with each other."""
        plan = self.plan
        versions = None
        if plan.stored is not None:
            versions = Versions(plan.stored.store, self._before)
            versions.look_up(documents.keys, documents.digests)
        undecided = np.array([one is None for one in rows.dropped], dtype=np.bool_)
        with ExitStack() as stack:
            matchers = list[_Compared]()
            for collection, comparing in self._own:
                grows = collection is plan.kept
                reader: StoreReader = collection.store
                if not grows:
                    reader = stack.enter_context(collection.reader())
                part = documents if grows else self._signed_for(reader, parts)
                replaced = 0
                if versions is not None:
                    replaced = sum(map(versions.known.__contains__, documents.keys))
                matcher = comparing(reader, part, undecided if grows else None, replaced)
                matchers.append(_Compared(collection, reader, matcher))
            loop = _Loop(plan, documents, versions, matchers, rows)
            for row in np.flatnonzero(undecided).tolist():
                self.cut += loop.decide(row)
            loop.drop()
        return loop.write()


@dataclass(eq=False)
class _Rows:
    """What is decided so far of the documents of a batch.

    Attributes:
        documents: all of them.
        numbers: of their rows among all of the run.
        plan: how they are decided on.
        dropped: why each is dropped; None for the others.
        copied: what is cut out of documents, by their indices.
    """

    documents: SignedPart
    numbers: Sequence[int]
    plan: Plan

    def __post_init__(self) -> None:
        self.dropped: list[DroppedRow | None] = [None] * len(self.documents.keys)
        self.copied: defaultdict[int, list[DroppedRow]] = defaultdict(list)
        self.clusters = [*self.numbers] if self.plan.clusters is not None else []

    def similarity(self, row: int) -> float:
        """To the document because of which one is dropped; 0 if it is not."""
        dropped = self.dropped[row]
        return 0.0 if dropped is None else dropped.similarity

    def drop(
        self,
        collection: Collection,
        reader: StoreReader,
        reasons: Sequence[tuple[int, Reason]],
    ) -> None:
        """Drop documents because of those of a collection."""
        batch = self.documents.batch
        for row, dropped in collection.rows(reader, batch, reasons, self.plan.fields):
            self.dropped[row] = dropped
        if (clusters := self.plan.clusters) is not None:
            for row, reason in reasons:
                self.clusters[row] = clusters.of(collection, reason.doc_id, self.numbers[row])

    def cut(
        self,
        collection: Collection,
        reader: StoreReader,
        reasons: Sequence[tuple[int, Reason]],
    ) -> None:
        """Cut passages out of documents that stand in those of a collection."""
        batch = self.documents.batch
        for row, dropped in collection.rows(reader, batch, reasons, self.plan.fields):
            self.copied[row].append(dropped)

    def decided(self, parts: Sequence[SignedPart]) -> Iterator[Decided]:
        """The rows of each part."""
        first = 0
        for part in parts:
            batch, last = part.batch, first + len(part.keys)
            clusters = self.clusters[first:last]
            rows = Decided(
                batch.origin, batch.keys, batch.indices, self.dropped[first:last], clusters
            )
            if self.plan.cutting is not None:
                copied = [self.copied[row] for row in range(first, last)]
                rows = rows.cut(self.plan.cutting, part.stored, copied)
            yield rows
            first = last


@dataclass(frozen=True, slots=True)
class _Compared:
    """A collection that documents of a batch are compared with."""

    collection: Collection
    reader: StoreReader
    matcher: Matcher


@dataclass(eq=False)
class _Loop:
    """Goes through the documents of a batch in order.

    Attributes:
        plan: how they are decided on.
        documents: all of them.
        versions: what the database has under their keys.
        compared: the collections; that of kept documents is the last.
        rows: takes what is decided.
    """

    plan: Plan
    documents: SignedPart
    versions: Versions | None
    compared: Sequence[_Compared]
    rows: _Rows

    def __post_init__(self) -> None:
        kept = self.plan.kept
        assert kept is not None
        self._store = kept.store
        self._next_id = kept.store.last_doc_id() + 1
        self._written: list[int] = []
        self._keys: dict[int, str] = {}  # under which documents are stored, if not their own
        self._reasons: list[list[tuple[int, Reason]]] = [[] for _ in self.compared]
        self._copied: list[list[tuple[int, Reason]]] = [[] for _ in self.compared]
        self._kept = kept
        self._marks = _Marks(self.documents)
        if self.plan.stored is not None:
            self._marks.read(self.plan.stored.store)

    def decide(self, row: int) -> bool:
        """Decide on a document; whether it is kept although not compared with all candidates."""
        key, digest = self.documents.keys[row], self.documents.digests[row]
        versions, plan = self.versions, self.plan
        if versions is not None:
            same = versions.same if self._replaces(row) else versions.stored_before
            if (itself := same(key, digest)) is not None:
                self._reasons[0].append((row, Reason(itself.doc_id, 1.0, True, True)))
                into_database = plan.stored is plan.kept
                if into_database or itself.metadata != self.documents.batch.all_metadata()[row]:
                    self._keys[row] = itself.key
                    self._written.append(row)
                    self._next_id += not into_database
                return False
        best: tuple[int, Reason] | None = None
        for place, compared in enumerate(self.compared):
            reason = compared.matcher.reason(row, self._no_reasons(row, place))
            if reason is not None and (best is None or reason.similarity > best[1].similarity):
                best = place, reason
                if plan.stored_first:
                    break
        if best is not None and plan.cutting is None:
            self._reasons[best[0]].append((row, best[1]))
            return False
        if best is not None:
            for place, compared in enumerate(self.compared):
                passages = compared.matcher.passages(row, self._no_reasons(row, place))
                self._copied[place] += ((row, reason) for reason in passages)
        return self._keep(row)

    def _replaces(self, row: int) -> bool:
        """Whether a document is the new version of the stored one of its key."""
        _, line = self.documents.batch.wheres[row]
        return self.plan.replaces or line is None

    def _no_reasons(self, row: int, place: int) -> set[int]:
        """The doc_ids of a collection that are no reason to drop a document.

        Among them is the version of an earlier run that is stored under its key.
        """
        others = self._marks.without(row, place) if self._marks else set()
        versions, key = self.versions, self.documents.keys[row]
        if versions is None or key not in versions.known:
            return others
        version = versions.known[key]
        is_earlier = version.doc_id <= versions.before or self._replaces(row)
        if self.compared[place].collection is self.plan.stored and is_earlier:
            return {*others, version.doc_id}
        return others

    def _keep(self, row: int) -> bool:
        documents, versions = self.documents, self.versions
        key, digest = documents.keys[row], documents.digests[row]
        into_database = self.plan.stored is self.plan.kept
        doc_id, replaces = self._next_id, False
        if into_database and versions is not None:
            if self._replaces(row):
                replaces = key in versions.known
            elif key in versions.known:
                if versions.same(key, digest) is not None:
                    return False  # it is there, and the rule does not compare such documents
                self._kept.own_keys[doc_id] = key
                key = self._keys[row] = distinct_key(key, digest)
            if replaces:
                doc_id = versions.known[key].doc_id
            versions.known[key] = KnownDocument(
                doc_id, key, digest, documents.batch.all_metadata()[row]
            )
        self._next_id += not replaces
        matcher, place = self.compared[-1].matcher, len(self.compared) - 1
        is_cut = matcher.is_cut(row)
        matcher.keep(row, doc_id, replaces=replaces)
        if self._marks:
            self._marks.keep(row, place, doc_id)
        collection = self._kept
        if collection.locations is not None:
            collection.locations.add(doc_id, documents.batch.wheres[row])
        if self.plan.clusters is not None:
            self.plan.clusters.keep(doc_id, self.rows.numbers[row])
        self._written.append(row)
        return is_cut

    def drop(self) -> None:
        """Take what is decided to the rows, while stored documents can be read."""
        self._writer = Writer(self._store)
        part = self.documents.take(self._written)
        if self._keys:
            keys = [self._keys.get(row, self.documents.keys[row]) for row in self._written]
            part = replace(part, batch=replace(part.batch, keys=keys))
        self._writer.write(part)
        self._writer.finish()
        for compared, reasons, copied in zip(
            self.compared, self._reasons, self._copied, strict=True
        ):
            self.rows.drop(compared.collection, compared.reader, reasons)
            self.rows.cut(compared.collection, compared.reader, copied)

    def write(self) -> AddReport:
        """What was written of the documents."""
        skipped = len(self.documents.keys) - len(self._written)
        return replace(self._writer.report, skipped=skipped)


@dataclass(eq=False)
class _Marks:
    """Documents of a batch that reviewers marked as no duplicates of others.

    Attributes:
        documents: the batch.
    """

    documents: SignedPart

    def __post_init__(self) -> None:
        self._without: dict[tuple[int, int], set[int]] = {}
        self._marked: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self._without or self._marked)

    def read(self, store: StoreReader) -> None:
        """Read the decisions of a database."""
        keys, digests = self.documents.keys, self.documents.digests
        marks = store.different_from([*dict.fromkeys(keys)])
        if not marks:
            return
        rows: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
        for row, document in enumerate(zip(keys, digests, strict=True)):
            rows[document].append(row)
        for key, digest, other_key, other_digest, doc_id in marks:
            for row in rows.get((key, digest), ()):
                self._without.setdefault((row, 0), set()).add(doc_id)
                self._marked[other_key, other_digest].append(row)

    def without(self, row: int, place: int) -> set[int]:
        """The doc_ids that are no reason, in one of the collections."""
        return self._without.get((row, place), set())

    def keep(self, row: int, place: int, doc_id: int) -> None:
        """Note the doc_id of a document that is kept."""
        document = self.documents.keys[row], self.documents.digests[row]
        for other in self._marked.get(document, ()):
            self._without.setdefault((other, place), set()).add(doc_id)


def decided(
    job: Job, items: Iterable[Item], plan: Plan
) -> Iterator[tuple[AddReport, list[Decided]]]:
    """Decide on a stream of documents, batch by batch.

    Args:
        job: how they are read and signed; its store is that of `plan.kept`, if there is one.
        items: documents, or batches of them.
        plan: how they are decided on.

    Yields:
        The report of each batch when it is in the file, and what is decided of its parts.
    """
    store = job.store
    late.complete(store)  # what a killed addition left: buckets are looked up for each batch
    decider = Decider(plan, store)
    with signed(job, items) as stream:
        for batch in stream:
            parts = [*batch]
            with store.writing():
                result = decider.decide(parts)
            del parts
            yield result
            del result
        if decider.cut:
            warn_of_limit(dedup_cut(decider.cut, store.limits.dedup_listed))
        if decider.unsure:
            warn_of_limit(reference_cut(decider.unsure, store.limits.dedup_listed))
