"""Blocks of documents that are shingled at once: many small documents, or a piece of a large one.

The larger a block, the fewer calls for the same text; but its arrays, some times as large, are to
stay in the processor's cache. `scripts/bench kernels` shows what a change does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

import numpy as np

from lshdb.hashing import reuse_freed_memory
from lshdb.model import Content, Shingling

BLOCK: Final = {"char": 1 << 18, "word": 1 << 19, "set": 1 << 15}
"""Characters (or elements) in a block; a word takes about six characters."""


def groups(contents: Sequence[Content], shingling: Shingling) -> Iterator[list[int]]:
    """Cut a batch into groups of documents of one block each; a large document stands alone.

    ASCII texts and others go to different groups: ASCII needs no Unicode tables.
    """
    reuse_freed_memory()
    count, block = len(contents), BLOCK[shingling.kind]
    lengths = np.fromiter(map(len, contents), dtype=np.int64, count=count)
    # Asked of all at once, as a step of Python for each would take a tenth of the time of signing.
    if set(map(type, contents)) == {str}:
        ascii = np.fromiter(map(str.isascii, cast(Sequence[str], contents)), np.bool_, count)
        large = lengths > block
    else:
        ascii = np.array([not isinstance(one, str) or one.isascii() for one in contents], np.bool_)
        large = np.array([is_large(one, shingling) for one in contents], np.bool_)
    for place in np.flatnonzero(large).tolist():
        yield [place]
    for kind in (ascii, ~ascii):
        places = np.flatnonzero(kind & ~large)
        ends = np.cumsum(lengths[places] + 1)
        first = 0
        while first < len(places):
            before = ends[first - 1] if first else 0
            last = int(np.searchsorted(ends, before + block))
            yield places[first : last + 1].tolist()
            first = last + 1


def is_large(content: Content, shingling: Shingling) -> bool:
    """Whether a document is shingled in pieces, by `pieces`."""
    return isinstance(content, str) and len(content) > BLOCK[shingling.kind]
