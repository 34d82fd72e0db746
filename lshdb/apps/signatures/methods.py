"""The methods of `Database` for signatures, in and out."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from lshdb.apps.signatures.model import SignatureSet
from lshdb.apps.signatures.signature_sets import Sketching, check_comparable
from lshdb.database import Database, store_of
from lshdb.errors import ContentError, SettingsMismatch
from lshdb.model import AddReport
from lshdb.options import RankingOptions
from lshdb.read.batch import Batch
from lshdb.search import result_tables
from lshdb.search.query import search
from lshdb.sketch import banding, minhash, signing
from lshdb.sketch.settings import Settings
from lshdb.taking import takes
from lshdb.text import arrays, content
from lshdb.write import batches, parts, writing
from lshdb.write.doc_ids import DocIds

_BATCH = 50_000
"""Number of documents written in a transaction."""
_UNKNOWN = 1
"""The number of shingles that is stored where it is above 0, but unknown."""


def signatures(db: Database) -> SignatureSet:
    """The signatures of all documents, as a matrix with its keys.

    Documents without shingles are similar to nothing and are left out.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    ...     known = db.signatures()
    >>> known.keys, known.signatures.shape, str(known.made_with)
    (['fox'], (1, 128), 'shingle word:3, 128 lanes of 16 bits, sketch fast, seed 1')
    """
    store = store_of(db)
    settings = store.settings
    with store.reading():
        documents, empty = store.count()
        matrix = np.empty((documents - empty, settings.permutations), dtype=settings.lane_type)
        shingles = np.empty(len(matrix), dtype=np.int64)
        keys: list[str] = []
        digests: list[bytes] = []
        for doc_ids, batch in store.all_signatures():
            part = slice(len(keys), len(keys) + len(doc_ids))
            matrix[part] = batch
            shingles[part], batch_digests = store.sizes(doc_ids)
            digests += batch_digests.tolist()
            keys += store.keys_of(doc_ids)
    known = None if settings.shingling.foreign else shingles
    return SignatureSet(keys, matrix, Sketching.of(settings), known, digests)


@takes()
def add_signatures(
    db: Database,
    keys: Iterable[Any],
    signatures: "ArrayLike",
    made_with: Sketching,
    *,
    shingles: "ArrayLike | None" = None,
    digests: Sequence[bytes] | None = None,
    on_batch: Callable[[AddReport], None] | None = None,
) -> AddReport:
    """Add documents by their signatures, from another lshdb file or another program.

    The database must keep no contents, and its signatures must be made in the same way: others
    cannot be compared. For another program's signatures, make it with
    `shingle="foreign:NAME"`: the file then takes only lanes of this name, and no texts. The
    share of equal lanes is the estimate of the similarity.

    Args:
        keys: n keys, as for `add`; one given again replaces the earlier document.
        signatures: uint16[n, permutations], uint32 for lanes of 32 bits, or other integers
            that fit in them.
        made_with: how they were made.
        shingles: int64[n], how many shingles each document has, repetitions counted; not for
            another program's signatures, whose lengths and containment are unknown.
        digests: 16 bytes each, of the documents' contents, as `signatures` has them: equal for
            equal documents only. None to compare signatures instead.
        on_batch: as for `add_many`.

    Raises:
        SettingsMismatch: the database keeps contents, or its signatures are made differently.
        ContentError: impossible signatures, keys or numbers; nothing is written.
        StoreError: writing failed; earlier batches stay.

    >>> import lshdb, numpy
    >>> lanes = numpy.random.default_rng(1).integers(1 << 32, size=(2, 128), dtype="u4")
    >>> lanes[1, :120] = lanes[0, :120]
    >>> with lshdb.open("peer.db", shingle="foreign:my lanes", content=False) as db:
    ...     made_with = lshdb.Sketching.foreign("my lanes", 128)
    ...     report = db.add_signatures(["a", "b"], lanes, made_with)
    ...     [(pair.a, pair.b, pair.similarity, pair.exact) for pair in db.pairs()]
    [('a', 'b', 0.9375, False)]
    """
    store = store_of(db)
    settings = store.settings
    if settings.content:
        raise SettingsMismatch(
            f"{store.path} keeps contents, and these are only signatures: add them to a database "
            "without contents (content=False, lshdb init --no-content)"
        )
    check_comparable(str(store.path), Sketching.of(store.settings), made_with)
    matrix = _lanes(signatures, made_with, settings)
    checked_keys = [*map(batches.checked_key, keys)]
    sizes = _sizes(shingles, matrix, settings)
    lengths = {len(checked_keys), len(sizes), len(checked_keys if digests is None else digests)}
    if lengths != {len(matrix)}:
        raise ContentError(
            f"{len(matrix):,} signatures, and {len(checked_keys):,} keys, {len(sizes):,} numbers "
            f"of shingles{'' if digests is None else f', {len(digests):,} digests'}"
        )
    for digest in digests or ():
        if not isinstance(digest, bytes) or len(digest) != content.DIGEST_BYTES:
            raise ContentError(f"a digest is {content.DIGEST_BYTES} bytes")
    total, of_run = AddReport(), DocIds()
    for part in arrays.chunks(len(matrix), _BATCH):
        part_matrix = matrix[part]
        if digests is not None:
            part_digests = [*digests[part]]
        else:  # of signatures, which differ from those of all contents
            packed = np.ascontiguousarray(part_matrix, part_matrix.dtype.newbyteorder("<"))
            part_digests = [content.digest(b"\xff" + row.tobytes()) for row in packed]
        with store.writing():
            shape = store.settings.construction  # it may have been reindexed meanwhile
            buckets = banding.bucket_keys(part_matrix, shape, settings.seed)
            signed = signing.Signed(
                part_matrix, sizes[part], buckets, shape, base=signing.base_of(settings.shingling)
            )
            writer = writing.Writer(store, of_run=of_run)
            writer.write(parts.SignedPart(Batch(checked_keys[part]), (), part_digests, signed))
            writer.finish()
        total += writer.report
        if on_batch is not None:
            on_batch(writer.report)
    return total


@takes()
def query_signature(
    db: Database,
    signature: "ArrayLike",
    made_with: Sketching,
    *,
    top: int | None = None,
    threshold: float | None = None,
    exhaustive: bool = False,
) -> result_tables.Matches:
    """The stored documents similar to a document given by its signature only, best first.

    Similarities are estimates even where contents are kept.

    Args:
        signature: uint16[permutations], or uint32 for lanes of 32 bits.
        made_with: how it was made, which must be as in the database.
        top: as for `query`.
        threshold: as for `query`.
        exhaustive: as for `query`.

    Raises:
        SettingsMismatch: the signatures of the database are made differently.
        ContentError: this is not a signature.
        UsageError: numbers out of range.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The fox; the ant")])
    ...     known = db.signatures()
    ...     matches = db.query_signature(known.signatures[0], known.made_with)
    ...     [match.key for match in matches]
    ['a']
    """
    store = store_of(db)
    query = RankingOptions(top=top, threshold=threshold, exhaustive=exhaustive, estimate=True)
    check_comparable(str(store.path), Sketching.of(store.settings), made_with)
    row = _lanes(np.asarray(signature)[np.newaxis], made_with, store.settings)[0]
    return result_tables.Matches(search(store, query, row), result_tables.match_columns(query))


def _lanes(signatures: "ArrayLike", made_with: Sketching, settings: Settings) -> arrays.Lanes:
    """Signatures as lanes [n, permutations] of a file, cut to the bits that it keeps.

    Raises:
        ContentError: another type or number of lanes, or lanes of more bits than `made_with` says.
    """
    matrix: npt.NDArray[Any] = np.asarray(signatures)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise ContentError(
            f"signatures are a matrix of integers, a row for each document, not {matrix.dtype} "
            f"with {matrix.ndim} dimensions"
        )
    if matrix.shape[1] != settings.permutations:
        raise ContentError(
            f"signatures have {matrix.shape[1]} lanes, and need {settings.permutations}"
        )
    bits = made_with.lane_bits
    if matrix.size and not 0 <= matrix.min() <= matrix.max() < 1 << bits:
        raise ContentError(
            f"lanes are integers from 0 to {(1 << bits) - 1}: fold longer ones to {bits} bits, "
            "all in one way"
        )
    return matrix.astype(settings.lane_type, copy=False)


def _sizes(
    shingles: "ArrayLike | None", matrix: arrays.Lanes, settings: Settings
) -> arrays.IntArray:
    """The number of shingles of each document, int64[n]; ContentError for impossible numbers."""
    empty = minhash.is_empty(matrix)
    if settings.shingling.foreign:
        if shingles is not None:
            raise ContentError("for another program's signatures, numbers of shingles are not kept")
        return np.where(empty, 0, _UNKNOWN)
    if shingles is None:
        raise ContentError("give the numbers of shingles: Database.signatures has them")
    sizes: npt.NDArray[Any] = np.asarray(shingles)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
        raise ContentError("numbers of shingles are integers, one for each document")
    if len(sizes) == len(empty) and ((sizes < 0).any() or (empty != (sizes == 0)).any()):
        raise ContentError(
            f"a document without shingles has {np.iinfo(matrix.dtype).max} in all lanes, and no "
            "other may"
        )
    if len(sizes) and sizes.max() > content.LARGEST:
        raise ContentError(f"no document has more than {content.LARGEST:,} shingles")
    return sizes.astype(np.int64)
