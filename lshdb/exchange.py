"""What is taken from other programs, and given to them: tables and signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lshdb.errors import UsageError
from lshdb.model import AddReport, Keep, Match
from lshdb.reading import Reading
from lshdb.search import Query, search

if TYPE_CHECKING:
    import pyarrow as pa

    from lshdb.joining import PairBlock
    from lshdb.outcomes import OnSimilar, Skipped
    from lshdb.records import Failure
    from lshdb.sketching import SignatureSet, Sketching


class Exchange(Reading):
    """The part of `Database` that speaks of tables and of signatures."""

    # tables

    def add_table(
        self,
        table: object,
        key: str = "id",
        text: str = "text",
        set: str | None = None,
        *,
        metadata: bool = True,
        metadata_fields: Sequence[str] = (),
        on_batch: Callable[[AddReport], None] | None = None,
        on_failure: Callable[[Failure], None] | None = None,
        workers: int | None = None,
        on_similar: OnSimilar = "keep",
        on_skip: Callable[[Skipped], None] | None = None,
    ) -> AddReport:
        """Add the rows of a table. Needs the extra `arrow` (pyarrow).

        Rows go to where they are parsed and signed in Arrow's own form, with no object made for
        each of them before. The other columns are kept as metadata, as those of a file are.

        Args:
            table: anything with the Arrow C stream interface: a pyarrow Table, RecordBatch or
                RecordBatchReader, a pandas or Polars DataFrame, a DuckDB relation; an iterable
                of these, read as needed; or a Hugging Face dataset.
            key: the column of keys, strings or integers.
            text: the column of texts, where the database holds texts.
            set: the column of sets, lists of strings or integers, where it holds sets; `set`.
            metadata: whether the other columns are kept.
            metadata_fields: which of them; all if there are none here, but for an index without
                a name that pandas gives.
            on_batch: as for `add_many`.
            on_failure: called with each row that gives no document (a null, an empty key), named
                `table:ROW`, rows counted from 1; the others are added, and these counted.
            workers: as for `add_many`.
            on_similar: as for `add_many`.
            on_skip: as for `add_many`.

        Raises:
            UsageError: this is no table, or pyarrow is not installed.
            InputError: the table lacks a column, has it in another type, or cannot be read; if
                that shows late, the batches before stay.
            ContentError: a database of signatures that were made elsewhere.
            StoreError: writing failed; the batches before stay.

        >>> import lshdb, pyarrow
        >>> table = pyarrow.table({"id": [1, 2], "text": ["The fox and the grapes", None]})
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_table(table, on_failure=print)
        Failure(where='table:2', reason="column 'text' is null")
        >>> report.added, report.failed
        (1, 1)
        """
        from lshdb.ingest import add_documents
        from lshdb.processes import default_workers
        from lshdb.records import RecordParser
        from lshdb.screening import screening
        from lshdb.tables import record_batches

        of_sets = self.settings.shingling.of_sets
        if set is not None and not of_sets:
            raise UsageError(f"set={set!r}: this database holds texts, of a column named by text")
        parser = RecordParser(
            of_sets,
            key,
            text,
            "set" if set is None else set,
            strict=False,
            auto_key=False,
            metadata=metadata,
            metadata_fields=tuple(metadata_fields),
        )
        if metadata_fields and not metadata:
            raise UsageError("metadata=False and metadata_fields do not go together")
        asked = screening(on_similar)
        schema, batches = record_batches(table)
        from lshdb.arrow_blocks import blocks, wanted_columns  # imports pyarrow, which is there

        if schema is not None:
            wanted_columns(schema, parser)
        return add_documents(
            self._store,
            blocks(batches, parser, "table", "the table cannot be read"),
            on_batch or _ignore,
            default_workers() if workers is None else workers,
            parser,
            on_failure or _ignore,
            asked,
            on_skip or _ignore,
        )

    def pairs_table(self, *, threshold: float | None = None, estimate: bool = False) -> pa.Table:
        """All pairs of similar documents as an Arrow table. Needs the extra `arrow` (pyarrow).

        Args:
            threshold: as for `pairs`.
            estimate: as for `pairs`.

        Returns:
            A row for each pair, in the order of `pairs`: a and b (string), similarity (double),
            exact (bool), estimate (double).

        Raises:
            UsageError: a threshold out of range, or pyarrow is not installed.
            StoreError: the file cannot be read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The fox; the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     db.pairs_table().to_pylist()
        [{'a': 'a', 'b': 'c', 'similarity': 1.0, 'exact': True, 'estimate': 1.0}]
        """
        from lshdb.tables import arrow, pair_batches, pairs_schema

        schema = pairs_schema()
        batches = pair_batches(self.pair_blocks(threshold, estimate))
        return arrow().Table.from_batches(batches, schema)

    def pair_blocks(self, threshold: float | None, estimate: bool) -> Iterator[PairBlock]:
        """What `pairs` gives, some thousands of pairs at a time, as columns.

        Raises:
            UsageError: a threshold out of range.
            StoreError: while iterating, the file cannot be read.
        """
        from lshdb.joining import Request, pair_blocks

        return pair_blocks(self._store, Request(threshold, estimate))

    def clusters_table(
        self,
        *,
        threshold: float | None = None,
        keep: Keep = "first",
        star: bool = False,
        estimate: bool = False,
    ) -> pa.Table:
        """The documents of all clusters as an Arrow table. Needs the extra `arrow` (pyarrow).

        Args:
            threshold: as for `clusters`.
            keep: as for `clusters`.
            star: as for `clusters`.
            estimate: as for `clusters`.

        Returns:
            A row for each member of a cluster, in the order of `clusters`: cluster (int64, its
            number), key (string), keep (string, the key to keep), role (string: `keep`, `member`,
            or `below` if it is less similar to the kept one than the threshold), similarity
            (double, to the kept one), exact (bool).

        Raises:
            UsageError: a threshold out of range, an unknown `keep`, or no pyarrow.
            StoreError: the file cannot be read.

        Warns:
            LimitWarning: as for `clusters`.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The fox; the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     db.clusters_table().select(["cluster", "key", "role"]).to_pylist()
        [{'cluster': 1, 'key': 'a', 'role': 'keep'}, {'cluster': 1, 'key': 'c', 'role': 'member'}]
        """
        from lshdb.tables import arrow, cluster_batches, clusters_schema

        schema = clusters_schema()
        found = self.clusters(threshold=threshold, keep=keep, star=star, estimate=estimate)
        batches = cluster_batches(
            found, self.settings.threshold if threshold is None else threshold
        )
        return arrow().Table.from_batches(batches, schema)

    # signatures

    def signatures(self) -> SignatureSet:
        """The signatures of all documents, as a matrix with its keys.

        Documents without shingles are similar to nothing, and not among them.

        Raises:
            StoreError: the file cannot be read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     found = db.signatures()
        >>> found.keys, found.signatures.shape, str(found.made_with)
        (['fox'], (1, 128), 'shingle word:3, 128 lanes, sketch fast, seed 1')
        """
        from lshdb.signature_sets import read_signatures

        return read_signatures(self._store)

    def add_signatures(
        self,
        keys: Sequence[str],
        signatures: npt.ArrayLike,
        made_with: Sketching,
        *,
        shingles: npt.ArrayLike | None = None,
        digests: Sequence[bytes] | None = None,
        on_batch: Callable[[AddReport], None] | None = None,
    ) -> AddReport:
        """Add documents by their signatures: of another lshdb file, or another program's.

        The database must be one without contents, and its signatures made in the same way: only
        such can be compared. For another program's it is made with `shingle="foreign:NAME"`: the
        file then knows by this name what its lanes are, and takes no others, nor texts. The share
        of equal lanes is taken as the estimate of the similarity.

        Args:
            keys: n keys, as for `add`; one given again replaces the earlier document.
            signatures: uint32[n, permutations]; other integers if they fit in 32 bits.
            made_with: how they were made.
            shingles: int64[n], how many shingles each document has, repetitions counted; not for
                another program's signatures, where lengths and containment cannot be told.
            digests: 16 bytes each, of the documents' contents, as `Database.signatures` has them:
                equal for equal documents only. None to take signatures for documents.
            on_batch: as for `add_many`.

        Raises:
            SettingsMismatch: the database keeps contents, or its signatures are made otherwise.
            ContentError: signatures, keys or numbers that cannot be; nothing is written.
            StoreError: writing failed; the batches before stay.

        >>> import lshdb, numpy
        >>> lanes = numpy.random.default_rng(1).integers(1 << 32, size=(2, 128), dtype="u4")
        >>> lanes[1, :120] = lanes[0, :120]
        >>> with lshdb.open("peer.db", shingle="foreign:my lanes", content=False) as db:
        ...     report = db.add_signatures(
        ...         ["a", "b"], lanes, lshdb.Sketching.foreign("my lanes", 128)
        ...     )
        ...     list(db.pairs())
        [Pair(a='a', b='b', similarity=0.9375, exact=False, estimate=0.9375)]
        """
        from lshdb.signature_sets import add_signatures

        return add_signatures(
            self._store, keys, signatures, made_with, shingles, digests, on_batch or _ignore
        )

    def query_signature(
        self,
        signature: npt.ArrayLike,
        made_with: Sketching,
        *,
        top: int | None = None,
        threshold: float | None = None,
        exhaustive: bool = False,
    ) -> list[Match]:
        """The stored documents similar to one of which there is only a signature, best first.

        Similarities are estimates, also where contents are kept.

        Args:
            signature: uint32[permutations].
            made_with: how it was made: as those of the database.
            top: as for `query`.
            threshold: as for `query`.
            exhaustive: as for `query`.

        Raises:
            SettingsMismatch: the signatures of the database are made otherwise.
            ContentError: this is no signature.
            UsageError: numbers out of range.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The fox; the ant")])
        ...     known = db.signatures()
        ...     [match.key for match in db.query_signature(known.signatures[0], known.made_with)]
        ['a']
        """
        from lshdb.signature_sets import check_made_with, lanes

        check_made_with(self._store, made_with)
        row = lanes(np.asarray(signature)[np.newaxis], self.settings.permutations)[0]
        with self._store.reading():
            least = self._store.settings.threshold if threshold is None else threshold
            query = Query(None, None, top, least, True, exhaustive, signature=row)
            return search(self._store, query)


def _ignore(_: object) -> None:
    pass
