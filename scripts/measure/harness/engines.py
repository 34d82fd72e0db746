"""lshdb and its peers behind one small interface, each as its own users would run it.

A peer gets the best of its interfaces (batches, threads), and the shingles that it takes; where it
makes none they are made in Python, by the cheapest code that makes the same as lshdb's.

lshdb has 128 lanes, of which its 12 bands of 5 rows use 60. The others have 16 bands of 6 rows,
which reach the same recall, where they can; rensa and FastSketchLSH have 16 bands of 8 rows, since
their bands must use up all 128 lanes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import numpy as np

LANES: Final = 128
BANDS: Final = 16
ROWS: Final = 6
THRESHOLD: Final = 0.8

_AT_ONCE: Final = 500
"""Documents whose shingles, as Python strings, are in memory at once."""


def shingler(shingle: str) -> Callable[[str], list[str]]:
    """Make shingles of ASCII text in Python: `word:W` or `char:K`."""
    kind, _, number = shingle.partition(":")
    size = int(number)

    def of_words(text: str) -> list[str]:
        words = text.lower().split()
        if len(words) < size:
            return [" ".join(words)] if words else []
        return list(map(" ".join, zip(*(words[i:] for i in range(size)), strict=False)))

    def of_characters(text: str) -> list[str]:
        flat = " ".join(text.lower().split())
        if len(flat) < size:
            return [flat] if flat else []
        return [flat[i : i + size] for i in range(len(flat) - size + 1)]

    return of_words if kind == "word" else of_characters


class Lshdb:
    """lshdb's library, with a file that has the documents. Their keys are their positions."""

    def __init__(self, shingle: str, path: Path | None) -> None:
        import lshdb

        self._shingle = shingle
        self._db: Any = None if path is None else lshdb.open(path)

    def sketch(self, texts: Sequence[str]) -> None:
        """Make the signatures of texts, and drop them."""
        from lshdb.maintain.resolve import resolve
        from lshdb.options import SettingsOptions
        from lshdb.sketch.signing import sign

        sign(texts, resolve(SettingsOptions(shingle=self._shingle)))

    def query(self, text: str) -> list[int]:
        """The documents similar to a text."""
        return [int(match.key) for match in self._db.query(text)]

    def pairs(self) -> set[tuple[int, int]]:
        """All similar pairs. Documents are numbered in the order of addition, as in a pair."""
        return {(int(pair.a), int(pair.b)) for pair in self._db.pairs()}


@dataclass(slots=True)
class Peer:
    """A library that keeps its index in memory. A document is named by its position, from 0.

    Attributes:
        sign: the signatures of the documents of a batch.
        insert: index signatures, of which the first has this position.
        ask: the documents that share a bucket with one, by its signature.
        ask_all: the answers for each of many.
        sign_alone: the same where signatures alone are measured, if it is another function.
        batch: how many documents are signed at once.
    """

    sign: Callable[[Sequence[str]], Sequence[Any]]
    insert: Callable[[Sequence[Any], int], object]
    ask: Callable[[Any], Iterable[int]]
    ask_all: Callable[[Sequence[Any]], Iterable[Iterable[int]]]
    sign_alone: Callable[[list[str]], object] | None = None
    batch: int = _AT_ONCE
    signatures: Sequence[Any] = ()

    def sketch(self, texts: Sequence[str]) -> None:
        """Make the signatures of texts, and drop them."""
        for start in range(0, len(texts), self.batch):
            (self.sign_alone or self.sign)([*texts[start : start + self.batch]])

    def index(self, texts: Sequence[str]) -> None:
        """Index all texts."""
        signatures: list[Any] = []
        for start in range(0, len(texts), self.batch):
            signed = self.sign(texts[start : start + self.batch])
            self.insert(signed, start)
            signatures.extend(signed)
        self.signatures = signatures

    def query(self, text: str) -> list[int]:
        """The documents that share a bucket with a text."""
        return [*self.ask(self.sign([text])[0])]

    def pairs(self) -> set[tuple[int, int]]:
        """All pairs of documents that share a bucket."""
        return {
            (min(index, other), max(index, other))
            for index, answer in enumerate(self.ask_all(self.signatures))
            for other in answer
            if other != index
        }


def _datasketch(shingle: str, _threads: int) -> Peer:
    """datasketch: MinHash in numpy, MinHashLSH in dictionaries."""
    from datasketch import MinHash, MinHashLSH

    shingles = shingler(shingle)
    index: Any = MinHashLSH(num_perm=LANES, params=(BANDS, ROWS))

    def sign(texts: Sequence[str]) -> list[Any]:
        encoded = ([word.encode() for word in shingles(text)] for text in texts)
        return [*MinHash.generator(encoded, num_perm=LANES)]

    def insert(signatures: Sequence[Any], first: int) -> None:
        with index.insertion_session() as session:
            for number, signature in enumerate(signatures, first):
                session.insert(number, signature)

    return Peer(sign, insert, index.query, lambda signatures: map(index.query, signatures))


def _rensa(shingle: str, _threads: int) -> Peer:
    """rensa: R-MinHash over all shingles (its rho pipeline samples them), and its LSH."""
    import rensa

    shingles = shingler(shingle)
    index: Any = rensa.RMinHashLSH(THRESHOLD, LANES, BANDS)

    def sign(texts: Sequence[str]) -> Any:
        return rensa.RMinHash.from_token_sets([*map(shingles, texts)], LANES, 42)

    return Peer(sign, index.insert_many, index.query, index.query_all)


def _gaoya(shingle: str, _threads: int) -> Peer:
    """gaoya: shingles, signatures and index in Rust, on all cores."""
    from gaoya.minhash import MinHashStringIndex

    kind, _, number = shingle.partition(":")
    index: Any = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=THRESHOLD,
        num_bands=BANDS,
        band_size=ROWS,
        analyzer=kind,
        lowercase=True,
        ngram_range=(int(number), int(number)),
        id_container="smallvec",  # the fastest of its three
    )

    def insert(texts: Sequence[str], first: int) -> None:
        index.par_bulk_insert_docs([*range(first, first + len(texts))], [*texts])

    return Peer(
        lambda texts: texts,  # it signs where it indexes and asks
        insert,
        index.query,
        lambda texts: index.par_bulk_query([*texts]),
        sign_alone=index.minhash_index.bulk_hash_docs,
        batch=1 << 60,
    )


def _fast_sketch(shingle: str, threads: int) -> Peer:
    """FastSketchLSH: fast similarity sketching in C++, and an LSH of its own, on all cores."""
    import FastSketchLSH

    shingles = shingler(shingle)
    sketcher: Any = FastSketchLSH.FastSimilaritySketch(size=LANES)
    index: Any = FastSketchLSH.LSH(LANES, BANDS, num_threads=threads)

    def sign(texts: Sequence[str]) -> Any:
        return sketcher.batch([*map(shingles, texts)], num_threads=threads)

    return Peer(
        sign,
        lambda signatures, _: index.insert(signatures),
        index.query,
        lambda signatures: index.query(np.vstack(signatures)),
    )


_PEERS: Final[dict[str, Callable[[str, int], Peer]]] = {
    "datasketch": _datasketch,
    "rensa": _rensa,
    "gaoya": _gaoya,
    "FastSketchLSH": _fast_sketch,
}
NAMES: Final = ("lshdb", *_PEERS)

_SHARE: Final = {"datasketch": 0.1, "rensa": 0.2, "FastSketchLSH": 0.2}
"""The part of the documents that is enough for an engine whose shingles are made in Python."""

NOTES: Final = {
    "lshdb": "128 lanes, 12 bands of 5 rows; a durable file, content kept, answers verified",
    "datasketch": "128 lanes, 16 bands of 6 rows; in memory, answers not verified",
    "rensa": "128 lanes, 16 bands of 8 rows; in memory, answers not verified",
    "gaoya": "96 lanes, 16 bands of 6 rows; in memory, answers ranked by estimate",
    "FastSketchLSH": "128 lanes, 16 bands of 8 rows; in memory, answers not verified",
}


def make(name: str, shingle: str, *, threads: int = 0, database: str | None = None) -> Lshdb | Peer:
    """An engine; `threads` is 1 for one core or 0 for all, `database` lshdb's file."""
    if name in _PEERS:
        return _PEERS[name](shingle, threads)
    return Lshdb(shingle, None if database is None else Path(database))


def enough(name: str, documents: int) -> int:
    """How many of the documents an engine is given where figures are rates."""
    return max(1, round(documents * _SHARE.get(name, 1.0)))


def installed(name: str) -> str | None:
    """The version of an engine, or None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
