"""Looking for problems in a file; lshdb.maintenance.check repairs what can be derived.

The file is read once, documents with their signatures and then band rows, in constant memory.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import ContentError, DamagedFile, QueryError
from lshdb.maintenance.findings import PROBLEMS, Problem
from lshdb.model import Content, Settings
from lshdb.progress import Progress
from lshdb.shingling.content import DIGEST_BYTES, LARGEST, cleaned, digest, encoded, from_stored
from lshdb.shingling.winnowing import Fingerprints, fingerprints
from lshdb.sketching.banding import bucket_keys
from lshdb.sketching.signing import sign
from lshdb.sources.metadata import from_json
from lshdb.store.auditing import AuditedDocuments, Auditor

Integers: TypeAlias = npt.NDArray[np.int64]
Faults: TypeAlias = dict[str, npt.NDArray[np.bool_]]
"""Which documents of a batch have a kind of problem, bool[n]."""

_EXAMPLES: Final = 5


class Findings:
    """Collects problems."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(PROBLEMS, 0)
        self._examples: dict[str, list[str]] = {kind: [] for kind in PROBLEMS}

    def add(self, kind: str, count: int, examples: Iterable[str]) -> None:
        """Count problems, and remember the first examples."""
        self._counts[kind] += count
        own = self._examples[kind]
        for example in examples:
            if len(own) >= _EXAMPLES:
                break
            if example not in own:
                own.append(example)

    def __contains__(self, kind: str) -> bool:
        return self._counts[kind] > 0

    def problems(self) -> tuple[Problem, ...]:
        """All, in the order of PROBLEMS."""
        return tuple(
            Problem(kind, count, tuple(self._examples[kind]))
            for kind, count in self._counts.items()
            if count
        )


class BandSums:
    """Compares the band rows of a file with those of its signatures, without holding either.

    The rows of a band are a set of pairs (bucket key, doc_id). Different sets have equal sums of
    hashes with probability 2^-64, and the hashes are random in each check, so that nobody can make
    a file that deceives it.
    """

    def __init__(self, bands: int) -> None:
        self._constants = [np.uint64(secrets.randbits(64) | 1) for _ in range(5)]
        self._expected = np.zeros(bands, dtype=np.uint64)
        self._found = np.zeros(bands, dtype=np.uint64)
        self._rows_expected = 0
        self._rows_found = [0] * bands

    def expect(self, doc_ids: Integers, keys: Integers) -> None:
        """Add the rows of signatures: documents int64[n], bucket keys int64[n, bands]."""
        self._expected += self._hashes(keys, doc_ids[:, np.newaxis]).sum(axis=0)
        self._rows_expected += len(doc_ids)

    def find(self, band: int, keys: Integers, doc_ids: Integers) -> None:
        """Add rows int64[n] of one band of the file."""
        self._found[band : band + 1] += self._hashes(keys, doc_ids).sum(keepdims=True)
        self._rows_found[band] += len(keys)

    def differing(self) -> Iterator[tuple[int, str]]:
        """Each band that differs, and how, in words."""
        for band in np.flatnonzero(self._expected != self._found).tolist():
            found = self._rows_found[band]
            same = found == self._rows_expected
            instead = "some of them wrong" if same else f"not {self._rows_expected}"
            yield band, f"{found} rows, {instead}"

    def positioned(self, found: Fingerprints) -> Integers:
        """Fingerprints and positions as one number each, in place of bucket keys."""
        mixed = found.values.view(np.uint64) * self._constants[0]
        return (mixed + found.positions.view(np.uint64)).view(np.int64)

    def _hashes(self, keys: Integers, doc_ids: Integers) -> npt.NDArray[np.uint64]:
        """uint64, in the broadcast shape of the arguments."""
        a, b, c, d, e = self._constants
        x = keys.view(np.uint64) * a ^ (doc_ids.view(np.uint64) * b + c)
        x ^= x >> np.uint64(32)
        x *= d
        x ^= x >> np.uint64(29)
        x *= e
        x ^= x >> np.uint64(32)
        return x


class Examination:
    """One examination of a whole file.

    Attributes:
        findings: the problems.
        repairable: whether the file can be written safely: SQLite finds no damage, and its schema
            and settings are lshdb's, except parts that can be created.
        settings: those of the file; None if they are invalid.
        counts: how many documents and band rows were examined.
    """

    def __init__(self, audit: Auditor, deep: bool, progress: Progress) -> None:
        self.findings = Findings()
        self.repairable = True
        self.settings: Settings | None = None
        self.counts = (0, 0)
        self._audit = audit
        self._deep = deep
        self._progress = progress
        self._stages()

    def _stages(self) -> None:
        self._attempt("the file's structure", self._structure)
        self._attempt("the schema", self._schema)
        self._attempt("the settings", self._read_settings)
        if self.settings is None:
            self._not_checked("documents, signatures and bands")
            return
        self._attempt("the size", self._count)
        sums, prints = BandSums(self.settings.construction.bands), BandSums(1)
        whole = self._attempt("documents", lambda: self._documents(sums, prints))
        self._attempt("signatures", self._orphan_signatures)
        whole &= self._attempt("bands", lambda: self._bands(sums))
        if whole:
            for band, what in sums.differing():
                self.findings.add("band-wrong", 1, [f"band {band} has {what}"])
        if self._attempt("fingerprints", lambda: self._fingerprints(prints)) and whole:
            for _, what in prints.differing():
                self.findings.add("fingerprint-wrong", 1, [f"the table has {what}"])
        self._attempt("decisions", self._decisions)

    def _attempt(self, what: str, stage: Callable[[], None]) -> bool:
        """Run a stage; return whether it completed."""
        try:
            stage()
        except DamagedFile as error:
            self.findings.add("damaged", 1, [str(error)])
            self.repairable = False
        except QueryError:  # a table or column is missing: the schema's stage has reported that
            pass
        else:
            return True
        self._not_checked(what)
        return False

    def _not_checked(self, what: str) -> None:
        self.findings.add("not-checked", 1, [what])

    def _structure(self) -> None:
        self._progress(0, None, "pages")
        problems = self._audit.problems()
        self.findings.add("damaged", len(problems), problems)
        self.repairable &= not problems

    def _schema(self) -> None:
        if self._audit.version < 1:
            self.findings.add("schema", 1, [f"unknown format {self._audit.version}"])
            self.repairable = False
            return
        faults = self._audit.schema_faults()
        self.findings.add("schema", len(faults), [fault.what for fault in faults])
        self.repairable &= all(fault.creatable for fault in faults)
        for table, row in self._audit.broken_references():
            if table != "signatures":  # those are reported as signatures without a document
                self.findings.add("foreign-key", 1, [f"table {table}, row {row}"])

    def _read_settings(self) -> None:
        try:
            self.settings = self._audit.settings()
        except DamagedFile as error:
            self.findings.add("settings", 1, [str(error)])
            self.repairable = False

    def _count(self) -> None:
        self.counts = self._audit.counts()

    def _documents(self, sums: BandSums, prints: BandSums) -> None:
        settings = self.settings
        assert settings is not None
        derived = self._deep or settings.shingling.of_sets or bool(settings.passages)
        contents = settings.content and derived
        done = 0
        for batch in self._audit.documents(contents=contents):
            for kind, which in faults_of(batch, settings, self._deep).items():
                places = np.flatnonzero(which)
                if len(places):
                    self.findings.add(kind, len(places), _keys(batch, places))
            doc_ids, signatures = whole_signatures(batch, settings.permutations)
            sums.expect(doc_ids, bucket_keys(signatures, settings.construction, settings.seed))
            if settings.passages:
                found = fingerprints_of(batch, settings)
                prints.expect(found.documents, prints.positioned(found)[:, np.newaxis])
            done += len(batch.keys)
            self._progress(done, self.counts[0], "documents")

    def _orphan_signatures(self) -> None:
        for doc_id in self._audit.orphan_signatures():
            self.findings.add("signature-orphan", 1, [f"doc_id {doc_id}"])

    def _bands(self, sums: BandSums) -> None:
        assert self.settings is not None
        bands = self.settings.construction.bands
        done = 0
        for band_no in range(bands):
            for keys, doc_ids in self._audit.band(band_no):
                sums.find(band_no, keys, doc_ids)
                done += len(keys)
                self._progress(done, self.counts[1], "band rows")
        for band_no, rows in self._audit.foreign_bands(bands):
            self.findings.add("band-wrong", 1, [f"band {band_no} has {rows} rows, not 0"])

    def _decisions(self) -> None:
        for number, rows in groupby(self._audit.decisions(), key=itemgetter(0)):
            if not _can_be(number, list(rows)):
                self.findings.add("decision", 1, [f"decision {number}"])

    def _fingerprints(self, prints: BandSums) -> None:
        for some in self._audit.fingerprints():
            prints.find(0, prints.positioned(some), some.documents)


def fingerprints_of(batch: AuditedDocuments, settings: Settings) -> Fingerprints:
    """The fingerprints of documents whose contents were read, as far as they are readable."""
    readable = readable_contents(batch, settings)
    texts = {place: text for place, text in readable.items() if isinstance(text, str)}
    run, seed = settings.passages, settings.seed
    found = fingerprints(list(texts.values()), settings.shingling, run, seed)
    return found.of(batch.doc_ids[list(texts)])


def faults_of(batch: AuditedDocuments, settings: Settings, deep: bool) -> Faults:
    """The problems of documents and their signatures.

    Args:
        batch: n documents, with contents if `deep`, or if they are sets and kept.
        settings: the file's.
        deep: whether contents are shingled and signed again.
    """
    shingles = batch.shingles
    sizes = np.array([-1 if blob is None else len(blob) for blob in batch.signatures])
    digests = np.array([len(blob) for blob in batch.digests])
    faults: Faults = {
        "doc-id": batch.doc_ids < 1,
        "key": _bad_keys(batch.keys),
        "content": batch.filled & (not settings.content),
        "content-missing": ~batch.filled & settings.content,
        "metadata": _bad_metadata(batch.metadata),
        "digest": digests != DIGEST_BYTES,
        "shingles": (shingles < 0) | (shingles > LARGEST),
        # A signature of another size is useless, as is one of a document without shingles.
        "signature": (sizes >= 0) & ((sizes != 4 * settings.permutations) | (shingles <= 0)),
        "signature-missing": (sizes < 0) & (shingles > 0),
    }
    if not settings.content:
        return faults
    readable = readable_contents(batch, settings)
    for place, content in readable.items():
        own = None if content is None else encoded(content).encode()
        faults["content"][place] = own is None or own != batch.contents[place]
        if own is not None and digest(own) != batch.digests[place]:
            faults["digest"][place] = True
    if deep:
        _compare_with_content(batch, settings, readable, faults)
    return faults


def readable_contents(batch: AuditedDocuments, settings: Settings) -> dict[int, Content | None]:
    """The documents, by their places in the batch, of contents that were read.

    None for an unreadable content; a set in its stored form.
    """
    contents: dict[int, Content | None] = {}
    for place, stored in enumerate(batch.contents):
        if stored is None:
            continue
        try:
            text = stored.decode()
            if settings.shingling.of_sets:
                contents[place] = cleaned(from_stored(text, settings.shingling), settings.shingling)
            else:
                contents[place] = text
        # Deeply nested sets are not valid sets either.
        except (UnicodeDecodeError, DamagedFile, ContentError, RecursionError):
            contents[place] = None
    return contents


def _compare_with_content(
    batch: AuditedDocuments,
    settings: Settings,
    readable: dict[int, Content | None],
    faults: Faults,
) -> None:
    places = [place for place, content in readable.items() if content is not None]
    contents = [content for content in readable.values() if content is not None]
    signed = sign(contents, settings)
    at = np.array(places, dtype=np.int64)
    faults["shingles"][at] |= signed.shingles != batch.shingles[at]
    for row, place in enumerate(places):
        blob = batch.signatures[place]
        if signed.shingles[row] == 0:
            faults["signature"][place] |= blob is not None
        elif blob is None:
            faults["signature-missing"][place] = True
        elif blob != signed.signatures[row].astype("<u4").tobytes():
            faults["signature"][place] = True


def whole_signatures(
    batch: AuditedDocuments, lanes: int
) -> tuple[Integers, npt.NDArray[np.uint32]]:
    """The documents int64[m] with signatures of the right size, and these, uint32[m, lanes]."""
    some = [(i, b) for i, b in enumerate(batch.signatures) if b is not None and len(b) == 4 * lanes]
    packed = np.frombuffer(b"".join(blob for _, blob in some), dtype="<u4")
    places = np.array([i for i, _ in some], dtype=np.int64)
    return batch.doc_ids[places], packed.reshape(len(some), lanes).astype(np.uint32, copy=False)


def _can_be(number: int, rows: list[tuple[Any, ...]]) -> bool:
    """Whether these rows form one decision, about one document or several."""
    verdict = rows[0][1]
    several = verdict == b"different"
    texts = [value for row in rows for value in (row[1], row[2], *row[4:])]
    return (
        number > 0
        and verdict in (b"keep", b"drop", b"different")
        and (len(rows) > 1) == several
        and len({(row[1], *row[4:]) for row in rows}) == 1
        and all(isinstance(row[3], bytes) and len(row[3]) == DIGEST_BYTES for row in rows)
        and not _bad_keys(row[2] for row in rows).any()
        and all(text is None or _is_utf8(text) for text in texts)
    )


def _bad_keys(keys: Iterable[bytes]) -> npt.NDArray[np.bool_]:
    return np.array([not key or b"\0" in key or not _is_utf8(key) for key in keys], dtype=np.bool_)


def _bad_metadata(stored: Iterable[bytes | None]) -> npt.NDArray[np.bool_]:
    return np.array([raw is not None and not _is_object(raw) for raw in stored], dtype=np.bool_)


def _is_object(raw: bytes) -> bool:
    """Whether stored metadata is a JSON object."""
    try:
        from_json(raw.decode())
    except (UnicodeDecodeError, DamagedFile):
        return False
    return True


def _is_utf8(raw: bytes) -> bool:
    if raw.isascii():
        return True
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _keys(batch: AuditedDocuments, places: Integers) -> list[str]:
    return [batch.keys[place].decode("utf-8", "replace") for place in places[:_EXAMPLES].tolist()]
