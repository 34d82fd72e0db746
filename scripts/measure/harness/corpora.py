"""The documents of a benchmark, in files: every engine reads the same, in a separate process.

A corpus is a JSONL file of documents with numbers as keys, so that all engines name a document by
its position.
"""

import itertools
import json
import os
import random
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
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


def write_headed(path: Path, documents: int, size: int, block: int) -> Corpus:
    """Write documents of about `size` bytes, of which every tenth block begins with one header.

    The header is half of a document. A tenth of the documents are near duplicates, of others in
    their own thousand.
    """
    generated = texts(documents, size, duplicates=0.1, similarity=SIMILARITY)
    _, header = next(texts(1, size, seed=2))
    head = header.split()[: len(header.split()) // 2]

    def text_of(number: int, text: str) -> str:
        return " ".join(head + text.split()[len(head) :]) if is_headed(number, block) else text

    contents = (text_of(number, text) for number, (_, text) in enumerate(generated))
    return _write(path, contents, size_name(size))


def is_headed(number: int, block: int) -> bool:
    """Whether `write_headed` gives the document of this number the header."""
    return number // block % 10 == 0


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


def write_queries(path: Path, corpus: Corpus, count: int, block: int = 0) -> None:
    """Write queries as JSON lines {"text", "near"}, of two kinds in turn.


    Near duplicates of documents of the corpus, a few words replaced by words of another document
    (`near` is the position of the first); and documents like nothing in it, the words of one of its
    documents in another order (`near` is null), so that they are of the same vocabulary. With the
    `block` of `write_headed`, all are made of documents with the header, and keep it.
    """
    choose = random.Random(1)
    numbers = [i for i in range(corpus.documents) if not block or is_headed(i, block)]
    indices = sorted(choose.choices(numbers, k=count))
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
                head = words[: len(words) // 2] if block else []
                rest = words[len(head) :]
                choose.shuffle(rest)
                words = head + rest
            row = {"text": " ".join(words), "near": index if is_near else None}
            file.write(json.dumps(row) + "\n")
