"""Looking for problems in a file.

The file is read once, in order and in constant memory: documents with their signatures, then the
tables that follow from these, each compared by checksums.
"""

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from lshdb.errors import ContentError, DamagedFile, QueryError
from lshdb.maintenance.findings import PROBLEMS, Problem
from lshdb.progress import Progress
from lshdb.shingling import arrays, shingling
from lshdb.shingling.content import DIGEST_BYTES, LARGEST, cleaned, digest, encoded, from_stored
from lshdb.shingling.winnowing import fingerprints
from lshdb.sketching import banding, signing
from lshdb.sketching.settings import Settings
from lshdb.sources.metadata import from_json
from lshdb.store import statements as sql
from lshdb.store.auditing import Auditor, StoredDocument
from lshdb.store.index import BANDS, FINGERPRINTS, SLOTS, IndexRows, IndexTable, band_rows

_EXAMPLES = 5
_WRONG = {BANDS: "band-wrong", FINGERPRINTS: "fingerprint-wrong"}
_DERIVED = ("content", "shingles", "signature", "signature-missing")
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
        audit: reads the file.
        deep: whether contents are shingled and signed again.
        progress: called with the documents that were read.
        repairable: whether the file can be written safely: SQLite finds no damage, and its schema
            and settings are lshdb's, except parts that can be created.
        settings: those of the file; None if they are invalid.
        documents: how many documents were examined.
        orphans: the doc_ids of signatures without a document.
        derivable: slots of documents with values that may be derived again.
        tables: the comparison of each table of the index.
        complete: whether all of them were read.
    """

    audit: Auditor
    deep: bool
    progress: Progress

    def __post_init__(self) -> None:
        self.repairable = self.complete = True
        self.settings: Settings | None = None
        self.documents = 0
        self.orphans: list[int] = []
        self.derivable: set[int] = set()
        self.tables = {table: Comparison(table) for table in (BANDS, FINGERPRINTS)}
        self._found: Counter[str] = Counter()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)
        self._attempt("the file's structure", self._structure)
        self._attempt("the schema", self._schema)
        self._attempt("the settings", self._read_settings)
        if self.settings is None:
            self._add("not-checked", ["documents, signatures and bands"])
        else:
            self._contents(self.settings)

    def problems(self) -> tuple[Problem, ...]:
        """All, in the order of PROBLEMS."""
        return tuple(
            Problem(kind, self._found[kind], tuple(dict.fromkeys(self._examples[kind])))
            for kind in PROBLEMS
            if self._found[kind]
        )

    def _add(self, kind: str, examples: Sequence[str]) -> None:
        """Count problems, and remember the first examples."""
        self._found[kind] += len(examples)
        own = self._examples[kind]
        own.extend(examples[: _EXAMPLES - len(own)])

    def _attempt(self, what: str, stage: Callable[[], None]) -> bool:
        """Run a stage; return whether it completed."""
        try:
            stage()
        except DamagedFile as error:
            self._add("damaged", [str(error)])
            self.repairable = False
        except QueryError:  # a table or column is missing: the schema's stage has reported that
            pass
        else:
            return True
        self._add("not-checked", [what])
        return False

    def _structure(self) -> None:
        self.progress(0, None, "pages")
        problems = self.audit.problems()
        self._add("damaged", problems)
        self.repairable &= not problems

    def _schema(self) -> None:
        faults = self.audit.schema_faults()
        self._add("schema", [fault.what for fault in faults])
        self.repairable &= all(fault.creatable for fault in faults)
        for table, row, *_ in self.audit.rows(sql.BROKEN_REFERENCES):
            if table != "signatures":  # those are reported as signatures without a document
                self._add("foreign-key", [f"table {table}, row {row or 0}"])

    def _read_settings(self) -> None:
        try:
            self.settings = self.audit.settings()
        except DamagedFile as error:
            self._add("settings", [str(error)])
            self.repairable = False

    def _contents(self, settings: Settings) -> None:
        self.complete = self._attempt("documents", lambda: self._documents(settings))
        self._attempt("signatures", self._orphan_signatures)
        self.complete &= self._attempt("the index", self._index)
        for table, compared in self.tables.items() if self.complete else ():
            if compared.differing():
                same = compared.found == compared.expected
                instead = "some of them wrong" if same else f"not {compared.expected}"
                self._add(_WRONG[table], [f"the table has {compared.found} rows, {instead}"])
        self._attempt("decisions", self._decisions)

    def _documents(self, settings: Settings) -> None:
        contents = self.deep or settings.shingling.of_sets or settings.passages
        ((total,),) = self.audit.rows(sql.COUNT_DOCUMENTS)
        for batch in self.audit.documents(contents=bool(settings.content and contents)):
            checked = CheckedBatch(batch, settings, self.deep)
            for kind, places in checked.faults.items():
                self._add(kind, [_printable(batch[at].key) for at in sorted(places)])
            self.derivable.update(batch[at].doc_id % SLOTS for at in checked.derivable())
            self.tables[BANDS].expect(self.audit.written(bands_of(batch, settings)))
            if settings.passages:
                self.tables[FINGERPRINTS].expect(checked.fingerprints())
            self.documents += len(batch)
            self.progress(self.documents, total, "documents")

    def _orphan_signatures(self) -> None:
        self.orphans = [doc_id for (doc_id,) in self.audit.rows(sql.ORPHAN_SIGNATURES)]
        self._add("signature-orphan", [f"doc_id {one}" for one in self.orphans])

    def _index(self) -> None:
        for table, compared in self.tables.items():
            for rows in self.audit.index.rows(table):
                compared.find(rows)
                self.progress(compared.found, compared.expected, f"rows of {table.name}")

    def _decisions(self) -> None:
        for number, rows in groupby(self.audit.decisions(), key=itemgetter(0)):
            if not _can_be(number, list(rows)):
                self._add("decision", [f"decision {number}"])


@dataclass(eq=False)
class CheckedBatch:
    """Some documents, and what is wrong with them.

    Attributes:
        batch: the documents.
        settings: those of the file.
        deep: whether contents are shingled and signed again.
        faults: for each kind of problem, the places of documents in the batch.
        contents: by place, those that were read; None for what is not readable.
    """

    batch: Sequence[StoredDocument]
    settings: Settings
    deep: bool

    def __post_init__(self) -> None:
        self.faults: defaultdict[str, set[int]] = defaultdict(set)
        self.contents: dict[int, shingling.Content | None] = {}
        for at, one in enumerate(self.batch):
            self._check(at, one)
        if self.deep and self.settings.content:
            self._compare()

    def derivable(self) -> set[int]:
        """The places of documents with values to be derived from their contents."""
        wrong = set[int]().union(*(self.faults[kind] for kind in _DERIVED))
        return wrong - self.faults["digest"] - self.faults["content-missing"]

    def fingerprints(self) -> IndexRows:
        """The rows of fingerprints of the texts that are readable."""
        texts = {at: text for at, text in self.contents.items() if isinstance(text, str)}
        settings = self.settings
        found = fingerprints(
            list(texts.values()), settings.shingling, settings.passages, settings.seed
        )
        return found.rows(np.array([self.batch[at].doc_id for at in texts], dtype=np.int64))

    def _check(self, at: int, one: StoredDocument) -> None:
        settings, signature = self.settings, one.signature
        wrong = {
            "doc-id": one.doc_id < 1,
            "key": not _is_key(one.key),
            "content": bool(one.filled) and not settings.content,
            "content-missing": settings.content and not one.filled,
            "metadata": not _is_metadata(one.metadata),
            "digest": len(one.digest) != DIGEST_BYTES,
            "shingles": not 0 <= one.shingles <= LARGEST,
            # A signature of another size is useless, as is one of a document without shingles.
            "signature": signature is not None
            and (len(signature) != 4 * settings.permutations or one.shingles <= 0),
            "signature-missing": signature is None and one.shingles > 0,
        }
        if settings.content and one.content is not None:
            content = self.contents[at] = _readable(one.content, settings)
            own = None if content is None else encoded(content)
            wrong["content"] |= own != one.content
            wrong["digest"] |= own is not None and digest(own.encode()) != one.digest
        for kind, is_wrong in wrong.items():
            if is_wrong:
                self.faults[kind].add(at)

    def _compare(self) -> None:
        readable = {at: content for at, content in self.contents.items() if content is not None}
        signed = signing.sign(list(readable.values()), self.settings)
        lanes = signed.signatures.astype("<u4")
        for at, count, own in zip(readable, signed.shingles.tolist(), lanes, strict=True):
            one = self.batch[at]
            if count != one.shingles:
                self.faults["shingles"].add(at)
            if one.signature != (own.tobytes() if count else None):
                missing = one.signature is None
                self.faults["signature-missing" if missing else "signature"].add(at)


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
    if not _is_utf8(stored):
        return None
    try:
        if settings.shingling.of_sets:
            return cleaned(from_stored(stored, settings.shingling), settings.shingling)
        return stored
    # Deeply nested sets are not valid sets either.
    except (DamagedFile, ContentError, RecursionError):
        return None


def _can_be(number: int, rows: list[tuple[Any, ...]]) -> bool:
    """Whether these rows form one decision, about one document or several."""
    verdict = rows[0][1]
    return (
        number > 0
        and verdict in ("keep", "drop", "different")
        and (len(rows) > 1) == (verdict == "different")
        and len({(row[1], *row[4:7]) for row in rows}) == 1
        and all(len(row[3]) == DIGEST_BYTES and _is_key(row[2]) for row in rows)
        and all(_is_utf8(text or "") for text in rows[0][4:7])
    )


def _is_key(key: str) -> bool:
    return key != "" and "\0" not in key and _is_utf8(key)


def _is_metadata(stored: str | None) -> bool:
    try:
        from_json(stored)
    except DamagedFile:
        return False
    return True


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(key: str) -> str:
    return key.encode(errors="surrogateescape").decode(errors="replace")
