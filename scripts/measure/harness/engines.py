"""lshdb and its peers behind one small interface, each as its own users would run it.

A peer gets the best of its interfaces: batches where it has them, threads where it has them, and
the shingles that it takes. Shingles of peers that make none are made in Python, by the cheapest
code that makes the same as lshdb's: for ASCII text words are split at white space.

lshdb has 128 lanes, of which its 12 bands of 5 rows use 60. The others have 16 bands of 6 rows,
which reach the same recall, where they can: datasketch has 128 lanes of which it uses 96; gaoya has
just 96; rensa and FastSketchLSH have 128 lanes in 16 bands of 8 rows, since their bands must use up
all lanes.
"""

# ruff: noqa: D102  (Engine documents the methods, once)

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Protocol

LANES: Final = 128
BANDS: Final = 16
ROWS: Final = 6
THRESHOLD: Final = 0.8

_AT_ONCE: Final = 500
"""Documents whose shingles, as Python strings, are in memory at once."""
_IDEOGRAPHS: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_WORD: Final = re.compile(rf"[{_IDEOGRAPHS}]|(?:(?![{_IDEOGRAPHS}])\w)+")


class Engine(Protocol):
    """Something that finds near duplicates. A document is named by its position, from 0."""

    def sketch(self, texts: Sequence[str]) -> None:
        """Make the signatures of texts, and drop them."""

    def index(self, texts: Sequence[str]) -> None:
        """Index all texts."""

    def query(self, text: str) -> list[int]:
        """The indexed documents similar to a text (peers: those that share a bucket)."""

    def pairs(self, texts: Sequence[str]) -> set[tuple[int, int]]:
        """All pairs of the documents that were indexed, which are given again."""

    def close(self) -> None:
        """End."""


def shingler(shingle: str) -> Callable[[str], list[str]]:
    """Make shingles in Python: `word:W` or `char:K`."""
    kind, _, number = shingle.partition(":")
    size = int(number)

    def of_words(text: str) -> list[str]:
        words = text.lower().split() if text.isascii() else _WORD.findall(_folded(text))
        if len(words) < size:
            return [" ".join(words)] if words else []
        return list(map(" ".join, zip(*(words[i:] for i in range(size)), strict=False)))

    def of_characters(text: str) -> list[str]:
        flat = " ".join((text.lower() if text.isascii() else _folded(text)).split())
        if len(flat) < size:
            return [flat] if flat else []
        return [flat[i : i + size] for i in range(len(flat) - size + 1)]

    return of_words if kind == "word" else of_characters


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), _AT_ONCE):
        yield texts[start : start + _AT_ONCE]


def _pairs(index: int, found: Sequence[int]) -> set[tuple[int, int]]:
    return {(min(index, other), max(index, other)) for other in found if other != index}


class Lshdb:
    """lshdb's library. Its documents' keys are their positions."""

    def __init__(self, shingle: str, threads: int, path: Path | None) -> None:
        import lshdb

        self._lshdb = lshdb
        self._shingle = shingle
        self._workers = 0 if threads == 1 else None
        self._db = lshdb.open(path, shingle=shingle) if path is not None else None

    def sketch(self, texts: Sequence[str]) -> None:
        from lshdb.options import SettingsOptions
        from lshdb.sketching.signing import sign
        from lshdb.tuning.resolve import resolve

        sign(texts, resolve(SettingsOptions(shingle=self._shingle)))

    def index(self, texts: Sequence[str]) -> None:
        assert self._db is not None
        self._db.add_many(((str(i), text) for i, text in enumerate(texts)), workers=self._workers)

    def query(self, text: str) -> list[int]:
        assert self._db is not None
        return [int(match.key) for match in self._db.query(text)]

    def pairs(self, texts: Sequence[str]) -> set[tuple[int, int]]:  # noqa: ARG002
        assert self._db is not None
        # Documents are numbered in the order of addition, which is that of a pair.
        return {(int(pair.a), int(pair.b)) for pair in self._db.pairs()}

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


class Datasketch:
    """datasketch: MinHash in numpy, MinHashLSH in dictionaries."""

    def __init__(self, shingle: str, _threads: int, _path: Path | None) -> None:
        from datasketch import MinHash, MinHashLSH

        self._minhash: Any = MinHash
        self._shingles = shingler(shingle)
        self._lsh: Any = MinHashLSH(num_perm=LANES, params=(BANDS, ROWS))
        self._signatures: list[Any] = []

    def _signed(self, texts: Sequence[str]) -> Iterator[Any]:
        shingles = ([one.encode() for one in self._shingles(text)] for text in texts)
        made: Iterator[Any] = self._minhash.generator(shingles, num_perm=LANES)
        return made

    def sketch(self, texts: Sequence[str]) -> None:
        for _ in self._signed(texts):
            pass

    def index(self, texts: Sequence[str]) -> None:
        with self._lsh.insertion_session() as session:
            for index, signature in enumerate(self._signed(texts)):
                session.insert(index, signature)
                self._signatures.append(signature)

    def query(self, text: str) -> list[int]:
        return list(self._lsh.query(next(self._signed([text]))))

    def pairs(self, texts: Sequence[str]) -> set[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        for index in range(len(texts)):
            found |= _pairs(index, self._lsh.query(self._signatures[index]))
        return found

    def close(self) -> None:
        pass


class Rensa:
    """rensa: R-MinHash over all shingles (its rho pipeline samples them), and its LSH."""

    def __init__(self, shingle: str, _threads: int, _path: Path | None) -> None:
        import rensa

        self._sketch: Any = rensa.RMinHash
        self._shingles = shingler(shingle)
        self._lsh: Any = rensa.RMinHashLSH(THRESHOLD, LANES, BANDS)
        self._signatures: list[Any] = []

    def _signed(self, texts: Sequence[str]) -> list[Any]:
        shingles = [self._shingles(text) for text in texts]
        made: list[Any] = self._sketch.from_token_sets(shingles, LANES, 42)
        return made

    def sketch(self, texts: Sequence[str]) -> None:
        for some in _batches(texts):
            self._signed(some)

    def index(self, texts: Sequence[str]) -> None:
        for some in _batches(texts):
            signatures = self._signed(some)
            self._lsh.insert_many(signatures, len(self._signatures))
            self._signatures += signatures

    def query(self, text: str) -> list[int]:
        return list(self._lsh.query(self._signed([text])[0]))

    def pairs(self, texts: Sequence[str]) -> set[tuple[int, int]]:
        assert len(texts) == len(self._signatures)
        answers = self._lsh.query_all(self._signatures)
        return set[tuple[int, int]]().union(*map(_pairs, range(len(texts)), answers))

    def close(self) -> None:
        pass


class Gaoya:
    """gaoya: shingles, signatures and index in Rust, on all cores."""

    def __init__(self, shingle: str, _threads: int, _path: Path | None) -> None:
        from gaoya.minhash import MinHashStringIndex

        kind, _, number = shingle.partition(":")
        size = int(number)
        self._index: Any = MinHashStringIndex(
            hash_size=32,
            jaccard_threshold=THRESHOLD,
            num_bands=BANDS,
            band_size=ROWS,
            analyzer=kind,
            lowercase=True,
            ngram_range=(size, size),
            id_container="smallvec",  # the fastest of its three
        )

    def sketch(self, texts: Sequence[str]) -> None:
        self._index.minhash_index.bulk_hash_docs(list(texts))

    def index(self, texts: Sequence[str]) -> None:
        self._index.par_bulk_insert_docs(list(range(len(texts))), list(texts))

    def query(self, text: str) -> list[int]:
        return list(self._index.query(text))

    def pairs(self, texts: Sequence[str]) -> set[tuple[int, int]]:
        answers = self._index.par_bulk_query(list(texts))
        return set[tuple[int, int]]().union(*map(_pairs, range(len(texts)), answers))

    def close(self) -> None:
        pass


class FastSketchLSH:
    """FastSketchLSH: fast similarity sketching in C++, and an LSH of its own, on all cores."""

    def __init__(self, shingle: str, threads: int, _path: Path | None) -> None:
        import FastSketchLSH as FastSketch
        import numpy as np

        self._stack = np.vstack
        self._shingles = shingler(shingle)
        self._threads = 1 if threads == 1 else 0
        self._sketcher: Any = FastSketch.FastSimilaritySketch(size=LANES)
        self._lsh: Any = FastSketch.LSH(LANES, BANDS, num_threads=self._threads)
        self._signatures: list[Any] = []

    def _signed(self, texts: Sequence[str]) -> Any:
        shingles = [self._shingles(text) for text in texts]
        return self._sketcher.batch(shingles, num_threads=self._threads)

    def sketch(self, texts: Sequence[str]) -> None:
        for some in _batches(texts):
            self._signed(some)

    def index(self, texts: Sequence[str]) -> None:
        for some in _batches(texts):
            signatures = self._signed(some)
            self._lsh.insert(signatures)
            self._signatures.append(signatures)

    def query(self, text: str) -> list[int]:
        return list(self._lsh.query(self._signed([text])[0]))

    def pairs(self, texts: Sequence[str]) -> set[tuple[int, int]]:
        answers = self._lsh.query(self._stack(self._signatures))
        return set[tuple[int, int]]().union(*map(_pairs, range(len(texts)), answers))

    def close(self) -> None:
        pass


_CLASSES: Final[dict[str, Callable[[str, int, Path | None], Engine]]] = {
    "lshdb": Lshdb,
    "datasketch": Datasketch,
    "rensa": Rensa,
    "gaoya": Gaoya,
    "FastSketchLSH": FastSketchLSH,
}
NAMES: Final = ("lshdb", "datasketch", "rensa", "gaoya", "FastSketchLSH")

_SHARE: Final = {"datasketch": 0.1, "rensa": 0.2, "FastSketchLSH": 0.2}
"""The part of the documents that is enough for an engine whose shingles are made in Python."""

NOTES: Final = {
    "lshdb": "128 lanes, 12 bands of 5 rows; a durable file, content kept, answers verified",
    "datasketch": "128 lanes, 16 bands of 6 rows; in memory, answers not verified",
    "rensa": "128 lanes, 16 bands of 8 rows; in memory, answers not verified",
    "gaoya": "96 lanes, 16 bands of 6 rows; in memory, answers ranked by estimate",
    "FastSketchLSH": "128 lanes, 16 bands of 8 rows; in memory, answers not verified",
}


def make(name: str, shingle: str, *, threads: int = 0, path: Path | None = None) -> Engine:
    """An engine; `threads` is 1 for one core or 0 for all, `path` where lshdb's file is."""
    return _CLASSES[name](shingle, threads, path)


def enough(name: str, documents: int) -> int:
    """How many of the documents an engine is given where figures are rates."""
    return max(1, round(documents * _SHARE.get(name, 1.0)))


def installed(name: str) -> str | None:
    """The version of an engine, or None where it is not installed."""
    if importlib.util.find_spec(name) is None:
        return None
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
