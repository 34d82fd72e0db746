"""The order in which stored documents are preferred, by a rule."""

from collections.abc import Sequence

import numpy as np

from lshdb.apps.keeping import ranking
from lshdb.apps.keeping.field_order import FieldOrder
from lshdb.errors import UsageError
from lshdb.options import OrderOptions
from lshdb.read.paths import escaped
from lshdb.search.pairs import Join
from lshdb.text.arrays import IntArray, int_array


def ordered(join: Join, options: OrderOptions, order: IntArray) -> IntArray:
    """int64[m]: the documents of a join in the order of a rule, the most preferred first.

    Args:
        join: has the documents.
        options: the rule.
        order: int64[m], the order of those that the rule ranks alike.

    Raises:
        UsageError: the rule needs what no document has.
    """
    if options.keep == "last":
        order = np.arange(len(join))[::-1]
    elif options.keep == "longest":
        # The elements of sets, not the characters of their JSON.
        of_sets = join.settings.shingling.of_sets
        sizes = join.shingles if of_sets else join.reader.lengths(join.doc_ids)
        order = order[np.argsort(-sizes[order], kind="stable")]
    elif options.keep != "first" or options.field:
        order = _ranked(join, options, order)
    if options.keep_in is not None:
        keys = join.reader.keys_of(join.doc_ids)
        inside = np.array([*map(ranking.below(options.keep_in), keys)], dtype=np.bool_)
        if len(join) and not inside.any():
            raise UsageError(f"keep_in {escaped(options.keep_in)}: no key is below this folder")
        order = order[np.argsort(~inside[order], kind="stable")]
    return order


def _ranked(join: Join, options: OrderOptions, order: IntArray) -> IntArray:
    """int64[m]: documents in the order of a field, a path or the time of a file."""
    files = {file.doc_id: file for file in join.reader.files_of(join.doc_ids.tolist())}
    is_timed = options.keep in ("newest", "oldest")
    for file in files.values() if is_timed else ():
        if file.state is not None and file.mtime_ns is None:
            raise UsageError(
                f"which one to keep: {file.key} had just changed when it was added, so its "
                "time is not known: run lshdb sync first"
            )
    field_ranks: Sequence[bytes | None] = [None] * len(join)
    if options.field:
        field_order = FieldOrder(options.field, options.unordered)
        metadata, keys = join.reader.metadata_of(join.doc_ids), join.reader.keys_of(join.doc_ids)
        field_ranks = [*map(field_order.rank_stored, metadata, keys)]
        field_order.finish("document")
    ranks = [
        ranking.rank(
            options,
            field_rank=field_rank,
            path=files[doc_id].key,
            modified=files[doc_id].mtime_ns,
        )
        for doc_id, field_rank in zip(join.doc_ids.tolist(), field_ranks, strict=True)
    ]
    if is_timed and ranks and all(value is None for _, value in ranks):
        raise UsageError("which one to keep: no document has the time of a file")
    descending = ranking.is_descending(options)
    return int_array(ranking.in_order(ranks, order.tolist(), descending=descending))
