"""Looking for problems in a file.

The file is read once, in order and in constant memory: documents with their signatures, then the
tables that follow from these, each compared by checksums.
"""

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.errors import ContentError, DamagedFile, QueryError
from lshdb.maintenance.findings import PROBLEMS, Problem
from lshdb.progress import Progress
from lshdb.shingling import arrays, rare_words, shingling
from lshdb.shingling.content import DIGEST_BYTES, LARGEST, cleaned, digest, encoded, from_stored
from lshdb.shingling.winnowing import NO_FINGERPRINTS, fingerprints
from lshdb.sketching import banding, signing
from lshdb.sketching.settings import Settings
from lshdb.sources.metadata import from_json
from lshdb.store import auditing, schema
from lshdb.store import statements as sql
from lshdb.store.auditing import StoredDocument
from lshdb.store.guard import Connection
from lshdb.store.index import (
    BANDS,
    FINGERPRINTS,
    RARE_WORDS,
    SLOTS,
    Index,
    IndexRows,
    IndexTable,
    band_rows,
)
from lshdb.store.lookups import DecisionRow
from lshdb.store.rows import record
from lshdb.store.sqlite_errors import translated_errors

_EXAMPLES = 5
_WRONG = {
    BANDS: "band-wrong",
    FINGERPRINTS: "fingerprint-wrong",
    RARE_WORDS: "rare-words-wrong",
}
_DERIVED = {"content", "shingles", "signature", "signature-missing"}
"""Problems of values that can be derived from a content with the right digest."""


@dataclass(eq=False)
class Comparison:
    """Compares the rows of a table with those that it should have, without holding either.

    The rows of the documents of each slot are a set. Different sets have equal sums of hashes with
    probability 2^-64, and the hashes are random in each check, so that nobody can make a file that
    deceives it.

    Attributes:
        expected: the number of rows that the table should have.
        found: the number that it has.
    """

    table: IndexTable

    def __post_init__(self) -> None:
        self.expected = self.found = 0
        self._document = self.table.document
        self._factors = [np.uint64(secrets.randbits(64) | 1) for _ in range(4)]
        self._sums = np.zeros(SLOTS, dtype=np.uint64)

    def expect(self, rows: IndexRows) -> None:
        """Add rows that the table should have."""
        np.add.at(self._sums, rows[self._document] & (SLOTS - 1), self._hashes(rows))
        self.expected += rows.shape[1]

    def find(self, rows: IndexRows) -> None:
        """Add rows that it has."""
        np.subtract.at(self._sums, rows[self._document] & (SLOTS - 1), self._hashes(rows))
        self.found += rows.shape[1]

    def differing(self) -> list[int]:
        """The slots whose rows are not as expected."""
        slots: list[int] = np.flatnonzero(self._sums).tolist()
        return slots

    def spoil(self) -> None:
        """Let all differ: the table cannot be read."""
        self._sums[:] = 1

    def _hashes(self, rows: IndexRows) -> npt.NDArray[np.uint64]:
        """A hash of each row, uint64[n]."""
        mixed = np.full(rows.shape[1], self._factors[0])
        for column, factor in zip(rows, self._factors[1:], strict=True):
            mixed = (mixed ^ column.view(np.uint64)) * factor
            mixed ^= mixed >> np.uint64(32)
            mixed *= self._factors[0]
            mixed ^= mixed >> np.uint64(29)
        return mixed


@dataclass(eq=False)
class Examination:
    """One examination of a whole file.

    Attributes:
        connection: to the file, of `auditing`.
        deep: whether contents are shingled and signed again.
        progress: called with the documents that were read.
        repairable: whether the file can be written safely: SQLite finds no damage, and its schema
            and settings are lshdb's, except parts that can be created.
        settings: those of the file; None if they are invalid.
        documents: how many documents were examined.
        orphans: the doc_ids of signatures without a document.
        derivable: slots of documents with values that may be derived again.
        tables: the comparison of each table of the index.
        differing: the tables with wrong rows, and the slots of these; none unless all were read.
    """

    connection: Connection
    deep: bool
    progress: Progress

    def __post_init__(self) -> None:
        self.repairable = True
        self.settings: Settings | None = None
        self.documents = 0
        self.orphans: list[int] = []
        self.derivable: set[int] = set()
        self.tables = {table: Comparison(table) for table in _WRONG}
        self._seed = secrets.randbits(62)
        self.differing: dict[IndexTable, list[int]] = {}
        self._rows = self.connection.rows
        self._found: Counter[str] = Counter()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)
        self._apply("the file's structure", self._structure())
        self._apply("the schema", self._schema())
        self._apply("the settings", self._read_settings())
        if self.settings is None:
            self._add("not-checked", "documents, signatures and bands")
            return
        whole = self._apply("documents", self._documents(self.settings))
        self._apply("signatures", self._signatures())
        if self._apply("the index", self._index()) and whole:
            self._compare()
        self._apply("decisions", self._decisions())

    def problems(self) -> tuple[Problem, ...]:
        """All, in the order of PROBLEMS."""
        return tuple(
            Problem(kind, self._found[kind], tuple(dict.fromkeys(self._examples[kind])))
            for kind in PROBLEMS
            if self._found[kind]
        )

    def _add(self, kind: str, example: str) -> None:
        """Count a problem, and remember the first examples."""
        self._found[kind] += 1
        if len(self._examples[kind]) < _EXAMPLES:
            self._examples[kind].append(example)
        self.repairable &= kind not in ("damaged", "settings")

    def _apply(self, what: str, rule: Iterable[tuple[str, str]]) -> bool:
        """Count the problems that a rule finds; return whether it completed."""
        try:
            with translated_errors(self.connection.path):
                for problem in rule:
                    self._add(*problem)
            return True
        except DamagedFile as error:
            self._add("damaged", str(error))
        except QueryError:  # a table or column is missing: the rule of the schema reports that
            pass
        self._add("not-checked", what)
        return False

    # The rules yield the kind of each problem and words that name its place.

    def _structure(self) -> Iterator[tuple[str, str]]:
        self.progress(0, None, "pages")
        # Otherwise the file's own expressions would run; constraints are checked here.
        self._rows(sql.CHECK_NO_CONSTRAINTS)
        lines = [" ".join(line.split()) for (line,) in self._rows(sql.CHECK_STRUCTURE)]
        self._rows(sql.CHECK_CONSTRAINTS)
        yield from (("damaged", line) for line in lines if lines != ["ok"])

    def _schema(self) -> Iterator[tuple[str, str]]:
        for fault in schema.faults(self.connection):
            self.repairable &= fault.creatable
            yield "schema", fault.what
        for table, row, *_ in self._rows(sql.BROKEN_REFERENCES):
            if table != "signatures":  # those are reported as signatures without a document
                yield "foreign-key", f"table {table}, row {row or 0}"

    def _read_settings(self) -> Iterator[tuple[str, str]]:
        try:
            self.settings = auditing.settings(self.connection)
        except DamagedFile as error:
            yield "settings", str(error)

    def _documents(self, settings: Settings) -> Iterator[tuple[str, str]]:
        derived = settings.passages or settings.reworded
        contents = self.deep or settings.shingling.of_sets or derived
        ((total,),) = self._rows(sql.COUNT_DOCUMENTS)
        for batch in auditing.documents(
            self.connection, contents=bool(settings.content and contents)
        ):
            checked = CheckedBatch(batch, settings, self.deep)
            for one, faults in zip(batch, checked.faults, strict=True):
                for kind in faults:
                    yield kind, _printable(one.key)
            self.derivable.update(batch[at].doc_id % SLOTS for at in checked.derivable())
            bands = auditing.written(self.connection, bands_of(batch, settings))
            self.tables[BANDS].expect(bands)
            self.tables[FINGERPRINTS].expect(checked.fingerprints)
            if settings.reworded:
                self.tables[RARE_WORDS].expect(checked.terms(self._seed))
            self.documents += len(batch)
            self.progress(self.documents, total, "documents")

    def _signatures(self) -> Iterator[tuple[str, str]]:
        self.orphans = [doc_id for (doc_id,) in self._rows(sql.ORPHAN_SIGNATURES)]
        yield from (("signature-orphan", f"doc_id {one}") for one in self.orphans)

    def _index(self) -> Iterator[tuple[str, str]]:
        index = Index(self.connection)
        read = {table: index.rows(table) for table in (BANDS, FINGERPRINTS)}
        if self.settings is not None and self.settings.reworded:
            read[RARE_WORDS] = index.terms(self._seed)
        for table, parts in read.items():
            compared = self.tables[table]
            try:
                for rows in parts:
                    compared.find(rows)
                    self.progress(compared.found, compared.expected, f"rows of {table.name}")
            except DamagedFile:
                if table is not RARE_WORDS:  # whose damage SQLite repairs by making it again
                    raise
                compared.spoil()
        yield from ()

    def _compare(self) -> None:
        for table, compared in self.tables.items():
            if slots := compared.differing():
                self.differing[table] = slots
                same = compared.found == compared.expected
                instead = "some of them wrong" if same else f"not {compared.expected}"
                self._add(_WRONG[table], f"the table has {compared.found} rows, {instead}")

    def _decisions(self) -> Iterator[tuple[str, str]]:
        rows = (record(DecisionRow, row) for row in self._rows(sql.DECISIONS))
        for number, some in groupby(rows, key=attrgetter("decision")):
            if not _can_be(number, list(some)):
                yield "decision", f"decision {number}"


@dataclass(eq=False)
class CheckedBatch:
    """Some documents, and what is wrong with them.

    Attributes:
        batch: the documents.
        settings: those of the file.
        deep: whether contents are shingled and signed again.
        faults: the kinds of problems of each document.
        contents: by place, those that were read and are readable.
        fingerprints: the rows that follow from these.
    """

    batch: Sequence[StoredDocument]
    settings: Settings
    deep: bool

    def __post_init__(self) -> None:
        settings = self.settings
        self.contents: dict[int, shingling.Content] = {}
        self.faults = [self._faults(at, one) for at, one in enumerate(self.batch)]
        contents, found = list(self.contents.values()), NO_FINGERPRINTS
        own = (self.batch[at] for at in self.contents)
        counts: Sequence[int] = [one.shingles or int(one.signature is not None) for one in own]
        if self.deep and contents:
            signed = signing.sign(contents, settings)
            self._compare(signed)
            found, counts = signed.fingerprints, signed.shingles.tolist()
        elif settings.passages:
            found = fingerprints(contents, settings.shingling, settings.passages, settings.seed)
        rows = found.rows(np.array([self.batch[at].doc_id for at in self.contents], dtype=np.int64))
        self.fingerprints = rows[:, (np.array(counts, dtype=np.int64) != 0)[found.documents]]

    def derivable(self) -> list[int]:
        """The places of documents with values to be derived from their contents."""
        return [
            at
            for at, kinds in enumerate(self.faults)
            if kinds & _DERIVED and not kinds & {"digest", "content-missing"}
        ]

    def terms(self, seed: int) -> IndexRows:
        """The rows of rare words of the texts that are readable, as of Index.terms."""
        texts = {
            self.batch[at].doc_id: text
            for at, text in self.contents.items()
            if isinstance(text, str) and self.batch[at].shingles > 0
        }
        own = [sorted(set(some.split())) for some in rare_words.indexed([*texts.values()])]
        doc_ids = np.repeat(np.array([*texts], dtype=np.int64), [*map(len, own)])
        hashes = rare_words.term_hashes([*chain.from_iterable(own)], seed).view(np.int64)
        return np.stack([hashes, doc_ids, np.zeros_like(doc_ids)])

    def _faults(self, at: int, one: StoredDocument) -> set[str]:
        settings, signature = self.settings, one.signature
        wrong = {
            "doc-id": one.doc_id < 1,
            "key": not _is_key(one.key),
            "content": bool(one.filled) and not settings.content,
            "content-missing": settings.content and not one.filled,
            "metadata": not _is_valid(from_json, one.metadata),
            "digest": len(one.digest) != DIGEST_BYTES,
            "shingles": not 0 <= one.shingles <= LARGEST,
            # A signature of another size is useless, as is one of a document without shingles.
            "signature": signature is not None
            and (len(signature) != 4 * settings.permutations or one.shingles <= 0),
            "signature-missing": signature is None and one.shingles > 0,
        }
        if one.content is not None:
            content = _readable(one.content, settings)
            own = None if content is None else encoded(content)
            wrong["content"] |= own != one.content
            if content is not None and own is not None:
                self.contents[at] = content
                wrong["digest"] |= digest(own.encode()) != one.digest
        return {kind for kind, is_wrong in wrong.items() if is_wrong}

    def _compare(self, signed: signing.Signed) -> None:
        lanes = signed.signatures.astype("<u4")
        for at, count, own in zip(self.contents, signed.shingles.tolist(), lanes, strict=True):
            one = self.batch[at]
            if count != one.shingles:
                self.faults[at].add("shingles")
            if one.signature != (own.tobytes() if count else None):
                missing = one.signature is None
                self.faults[at].add("signature-missing" if missing else "signature")


def whole_signatures(
    batch: Sequence[StoredDocument], settings: Settings
) -> tuple[arrays.IntArray, npt.NDArray[np.uint32]]:
    """The documents int64[m] with signatures of the right size, and these, uint32[m, k]."""
    size = 4 * settings.permutations
    some = {one.doc_id: blob for one in batch if len(blob := one.signature or b"") == size}
    packed = np.frombuffer(b"".join(some.values()), dtype="<u4")
    matrix = packed.reshape(len(some), settings.permutations)
    return np.array([*some], dtype=np.int64), matrix.astype(np.uint32, copy=False)


def bands_of(batch: Sequence[StoredDocument], settings: Settings) -> IndexRows:
    """The rows of bands that follow from the signatures of documents."""
    doc_ids, signatures = whole_signatures(batch, settings)
    return band_rows(doc_ids, banding.bucket_keys(signatures, settings.construction, settings.seed))


def _readable(stored: str, settings: Settings) -> shingling.Content | None:
    if not _is_valid(str.encode, stored):
        return None
    try:
        if settings.shingling.of_sets:
            return cleaned(from_stored(stored, settings.shingling), settings.shingling)
        return stored
    # Deeply nested sets are not valid sets either.
    except (DamagedFile, ContentError, RecursionError):
        return None


def _can_be(number: int, rows: list[DecisionRow]) -> bool:
    """Whether these rows form one decision, about one document or several."""
    shared = {(row.verdict, row.note, row.who, row.decided) for row in rows}
    verdict = rows[0].verdict
    return (
        number > 0
        and verdict in ("keep", "drop", "different")
        and (len(rows) > 1) == (verdict == "different")
        and len(shared) == 1
        and all(len(row.digest) == DIGEST_BYTES and _is_key(row.key) for row in rows)
        and all(_is_valid(str.encode, text or "") for text in shared.pop())
    )


def _is_key(key: str) -> bool:
    return key != "" and "\0" not in key and _is_valid(str.encode, key)


def _is_valid(read: Callable[[str], object], stored: Any) -> bool:
    """Whether a value can be read so; a text that is not UTF-8 has lone surrogates."""
    try:
        read(stored)
    except (DamagedFile, UnicodeEncodeError):
        return False
    return True


def _printable(key: str) -> str:
    return key.encode(errors="surrogateescape").decode(errors="replace")
