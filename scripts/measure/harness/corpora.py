"""The documents of a benchmark, in files: every engine reads the same, in a separate process.

A corpus is a JSONL file of documents with numbers as keys, so that all engines name a document by
its position.
"""

import hashlib
import itertools
import json
import os
import random
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from measure.common.generate import texts

SIMILARITY: Final = 0.9
"""About the Jaccard similarity, by words, of a query to the document it was made from."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A JSONL file, {"id": "0", "text": ...} and so on: how many documents, and bytes of texts.

    `what` they are is in the name of a case.
    """

    path: Path
    documents: int
    bytes: int
    what: str = ""


def size_name(size: int) -> str:
    """3 KB for 3000."""
    return f"{size / 1000:g} KB" if size >= 1000 else f"{size} B"


def write_generated(path: Path, documents: int, size: int, duplicates: float = 0.1) -> Corpus:
    """Write documents of about `size` bytes, of which a share are near duplicates."""
    generated = texts(documents, size, duplicates=duplicates, similarity=SIMILARITY)
    return _write(path, (text for _, text in generated), size_name(size))


def write_alike(path: Path, copies: int, headed: int, words: int, share: float) -> Corpus:
    """Write copies of one document of some words, then others of which a share is one header.

    Their buckets hold a large part of the documents.
    """
    made = (text.split()[:words] for _, text in texts(headed + 2, 12 * words, duplicates=0))
    copy, head = next(made), next(made)[: round(share * words)]
    others = (" ".join([*head, *text[len(head) :]]) for text in made)
    return _write(path, itertools.chain(itertools.repeat(" ".join(copy), copies), others))


def write_pieces(path: Path, documents: int, size: int) -> Corpus:
    """Write pieces of the Python sources of this machine, of `size` characters, in random order.

    They are those of the standard library and of all that is installed beside it. Where these are
    too few, they come again with other names: other programs with the same way of writing.
    """
    choose = random.Random(1)
    roots = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")}
    sources = sorted({one for root in roots for one in root.rglob("*.py")})
    choose.shuffle(sources)
    pieces: list[str] = []
    for source in sources:
        if len(pieces) > 2 * documents:
            break
        text = source.read_text("utf-8", "replace") if source.is_file() else ""
        pieces += [text[start : start + size] for start in range(0, len(text) - size // 2, size)]
    choose.shuffle(pieces)
    for number in range(1, -(-documents // max(1, len(pieces)))):
        pieces += [_renamed(piece, number) for piece in pieces[: documents - len(pieces)]]
    return _write(path, iter(pieces[:documents]), f"pieces of {size_name(size)} of Python sources")


def _renamed(source: str, number: int) -> str:
    """A program with another name for each that has four letters or more."""
    return re.sub(r"[A-Za-z_]\w{3,}", lambda name: f"{name[0]}{number}", source)


def with_random_keys(path: Path, corpus: Corpus) -> Corpus:
    """Write the same documents with other keys, in random order."""
    with corpus.path.open("rb") as file, path.open("wb") as out:
        for line in file:
            number = line.split(b'"', 4)[3]
            key = hashlib.blake2b(number, digest_size=8).hexdigest().encode()
            out.write(line.replace(number, key, 1))
    flush(path)
    return replace(corpus, path=path)


def read_texts(path: Path | str, limit: int | None = None) -> list[str]:
    """The texts of a corpus."""
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, limit)]


def _write(path: Path, contents: Iterator[str], what: str = "") -> Corpus:
    count = total = 0
    with path.open("w", encoding="utf-8") as file:
        for text in contents:
            file.write(json.dumps({"id": str(count), "text": text}, ensure_ascii=False) + "\n")
            total += len(text.encode())
            count += 1
    flush(path)
    return Corpus(path, count, total, what)


def flush(path: Path) -> None:
    """Bring a file to the disk, so that writing it does not slow down what is measured."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def write_queries(path: Path, corpus: Corpus, count: int) -> None:
    """Write queries as JSON lines {"text", "near"}, of two kinds in turn.

    Near duplicates of documents of the corpus, a few words replaced by words of another document
    (`near` is the position of the first); and documents like nothing in it, the words of one of its
    documents in another order (`near` is null), so that they are of the same vocabulary.
    """
    choose = random.Random(1)
    indices = sorted(choose.choices(range(corpus.documents), k=count))
    wanted = set(indices)
    with corpus.path.open(encoding="utf-8") as lines:
        chosen = {i: json.loads(line)["text"] for i, line in enumerate(lines) if i in wanted}
    replaced = (1 - SIMILARITY) / (3 * (1 + SIMILARITY))
    with path.open("w", encoding="utf-8") as file:
        for number, index in enumerate(indices):
            words, is_near = chosen[index].split(), number % 2 == 0
            if is_near:
                other = chosen[choose.choice(indices)].split() or words
                words = [choose.choice(other) if choose.random() < replaced else w for w in words]
            else:
                choose.shuffle(words)
            row = {"text": " ".join(words), "near": index if is_near else None}
            file.write(json.dumps(row) + "\n")
