"""Looking for problems in a file, and repairing what can be derived.

The file is read once, in order and in constant memory: documents with their signatures, then the
tables that are derived from these, each compared by a checksum.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lshdb.errors import ContentError, DamagedFile, QueryError
from lshdb.maintenance.findings import PROBLEMS, Problem
from lshdb.maintenance.reindex import rebuild_bands, rebuild_fingerprints
from lshdb.model import Content, Settings
from lshdb.progress import Progress
from lshdb.shingling.content import DIGEST_BYTES, LARGEST, cleaned, digest, encoded, from_stored
from lshdb.shingling.winnowing import Fingerprints, fingerprints
from lshdb.sketching.banding import bucket_keys
from lshdb.sketching.signing import sign
from lshdb.sources.metadata import from_json
from lshdb.store.auditing import Auditor, StoredDocument

Integers: TypeAlias = npt.NDArray[np.int64]

_EXAMPLES: Final = 5


class Checksums:
    """Compares the rows of a derived table with those that it should have, without holding either.

    The rows of each part, such as a band, are a set. Different sets have equal sums of hashes with
    probability 2^-64, and the hashes are random in each check, so that nobody can make a file that
    deceives it.
    """

    def __init__(self, parts: int) -> None:
        self._factors = [np.uint64(secrets.randbits(64) | 1) for _ in range(4)]
        self._sums = np.zeros(parts, dtype=np.uint64)
        self._rows = np.zeros((2, parts), dtype=np.int64)

    def expect(self, part: int, *columns: Integers) -> None:
        """Add rows that the part should have; columns int64[n] each."""
        self._sums[part : part + 1] += self._hashed(columns)
        self._rows[0, part] += len(columns[0])

    def find(self, part: int, *columns: Integers) -> None:
        """Add rows that it has."""
        self._sums[part : part + 1] -= self._hashed(columns)
        self._rows[1, part] += len(columns[0])

    def differing(self) -> Iterator[tuple[int, str]]:
        """Each part that differs, and how, in words."""
        for part in np.flatnonzero(self._sums).tolist():
            expected, found = self._rows[:, part].tolist()
            instead = "some of them wrong" if found == expected else f"not {expected}"
            yield part, f"{found} rows, {instead}"

    def _hashed(self, columns: Sequence[Integers]) -> npt.NDArray[np.uint64]:
        """The sum of the hashes of rows, uint64[1]."""
        mixed = np.full(len(columns[0]), self._factors[0])
        for column, factor in zip(columns, self._factors[1:], strict=False):
            mixed = (mixed ^ column.view(np.uint64)) * factor
            mixed ^= mixed >> np.uint64(32)
            mixed *= self._factors[0]
            mixed ^= mixed >> np.uint64(29)
        total: npt.NDArray[np.uint64] = mixed.sum(keepdims=True)
        return total


class Examination:
    """One examination of a whole file, and the repair of what it finds.

    Attributes:
        repairable: whether the file can be written safely: SQLite finds no damage, and its schema
            and settings are lshdb's, except parts that can be created.
        settings: those of the file; None if they are invalid.
        counts: how many documents and band rows were examined.
        repairs: how many things were repaired, by kind (see REPAIRS).
    """

    def __init__(
        self, audit: Auditor, deep: bool, progress: Progress, *, repair: bool = False
    ) -> None:
        """Examine the file; with `repair`, which must be safe, repair what can be derived.

        Counts of shingles and signatures are derived from contents that have the digests of
        documents: where they differ one of the two was changed, and both stay.
        """
        self.repairable = True
        self.settings: Settings | None = None
        self.counts = (0, 0)
        self.repairs: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._examples: defaultdict[str, list[str]] = defaultdict(list)
        self._audit = audit
        self._deep = deep
        self._progress = progress
        self._repair = repair
        self._attempt("the file's structure", self._structure)
        self._attempt("the schema", self._schema)
        self._attempt("the settings", self._read_settings)
        if self.settings is None:
            self._add("not-checked", 1, ["documents, signatures and bands"])
        else:
            self._contents(self.settings)

    def problems(self) -> tuple[Problem, ...]:
        """All, in the order of PROBLEMS."""
        return tuple(
            Problem(kind, self._found[kind], tuple(dict.fromkeys(self._examples[kind])))
            for kind in PROBLEMS
            if self._found[kind]
        )

    def _add(self, kind: str, count: int, examples: Iterable[str]) -> None:
        """Count problems, and remember the first examples."""
        self._found[kind] += count
        own = self._examples[kind]
        own.extend(list(examples)[: _EXAMPLES - len(own)])

    def _attempt(self, what: str, stage: Callable[[], None]) -> bool:
        """Run a stage; return whether it completed."""
        try:
            stage()
        except DamagedFile as error:
            self._add("damaged", 1, [str(error)])
            self.repairable = False
        except QueryError:  # a table or column is missing: the schema's stage has reported that
            pass
        else:
            return True
        self._add("not-checked", 1, [what])
        return False

    def _structure(self) -> None:
        self._progress(0, None, "pages")
        problems = self._audit.problems()
        self._add("damaged", len(problems), problems)
        self.repairable &= not problems

    def _schema(self) -> None:
        faults = self._audit.schema_faults()
        self._add("schema", len(faults), [fault.what for fault in faults])
        self.repairable &= all(fault.creatable for fault in faults)
        if self._repair:
            self.repairs["schema-made"] = self._audit.make_missing()
        for table, row in self._audit.broken_references():
            if table != "signatures":  # those are reported as signatures without a document
                self._add("foreign-key", 1, [f"table {table}, row {row}"])

    def _read_settings(self) -> None:
        try:
            self.settings = self._audit.settings()
        except DamagedFile as error:
            self._add("settings", 1, [str(error)])
            self.repairable = False

    def _contents(self, settings: Settings) -> None:
        bands, prints = Checksums(settings.construction.bands), Checksums(1)
        attempt = self._attempt
        attempt("the size", self._count)
        whole = attempt("documents", lambda: self._documents(settings, bands, prints))
        attempt("signatures", self._orphan_signatures)
        whole &= attempt("bands", lambda: self._bands(bands, settings.construction.bands))
        checked = attempt("fingerprints", lambda: self._fingerprints(prints))
        for part, what in bands.differing() if whole else ():
            self._add("band-wrong", 1, [f"band {part} has {what}"])
        for _, what in prints.differing() if whole and checked else ():
            self._add("fingerprint-wrong", 1, [f"the table has {what}"])
        if self._repair:
            self._rebuild(settings)
        attempt("decisions", self._decisions)

    def _count(self) -> None:
        self.counts = self._audit.counts()

    def _documents(self, settings: Settings, bands: Checksums, prints: Checksums) -> None:
        derived = self._deep or settings.shingling.of_sets or settings.passages or self._repair
        done = 0
        for batch in self._audit.documents(contents=bool(settings.content and derived)):
            checked = CheckedBatch(batch, settings, self._deep)
            for kind, places in checked.faults.items():
                keys = [batch[at].key.decode("utf-8", "replace") for at in sorted(places)]
                self._add(kind, len(keys), keys)
            doc_ids, signatures = whole_signatures(batch, settings.permutations)
            keys_of = bucket_keys(signatures, settings.construction, settings.seed)
            for band in range(settings.construction.bands):
                bands.expect(band, keys_of[:, band], doc_ids)
            if settings.passages:
                prints.expect(0, *_columns(checked.fingerprints()))
            if self._repair and (derivable := checked.derivable()):
                contents = list(derivable.values())
                doc_ids_of = [batch[at].doc_id for at in derivable]
                stored = list(map(encoded, contents))
                self._audit.derive(doc_ids_of, stored, sign(contents, settings))
                self.repairs["documents-derived"] += len(contents)
            done += len(batch)
            self._progress(done, self.counts[0], "documents")

    def _orphan_signatures(self) -> None:
        orphans = self._audit.orphan_signatures()
        self._add("signature-orphan", len(orphans), [f"doc_id {one}" for one in orphans])
        if self._repair:
            self._audit.delete_signatures(orphans)
            self.repairs["signatures-removed"] = len(orphans)

    def _bands(self, sums: Checksums, bands: int) -> None:
        done = 0
        for band_no in range(bands):
            for keys, doc_ids in self._audit.band(band_no):
                sums.find(band_no, keys, doc_ids)
                done += len(keys)
                self._progress(done, self.counts[1], "band rows")
        for band_no, rows in self._audit.foreign_bands(bands):
            self._add("band-wrong", 1, [f"band {band_no} has {rows} rows, not 0"])

    def _fingerprints(self, sums: Checksums) -> None:
        for columns in self._audit.fingerprints():
            sums.find(0, *columns)

    def _decisions(self) -> None:
        for number, rows in groupby(self._audit.decisions(), key=itemgetter(0)):
            if not _can_be(number, list(rows)):
                self._add("decision", 1, [f"decision {number}"])

    def _rebuild(self, settings: Settings) -> None:
        """Rebuild what differs from the signatures and contents, or did before their repair."""
        audit, index = self._audit, self._audit.index
        if self._found["band-wrong"] or self.repairs["documents-derived"]:
            signatures = (
                whole_signatures(batch, settings.permutations)
                for batch in audit.documents(contents=False)
            )
            rebuild_bands(index, settings, signatures, self.counts[0], self._progress)
            self.repairs["bands-rebuilt"] = settings.construction.bands
        if self._found["fingerprint-wrong"]:
            rows = (
                CheckedBatch(batch, settings, False).fingerprints()
                for batch in audit.documents(contents=True)
            )
            made = rebuild_fingerprints(index, settings, rows, self._progress)
            self.repairs["fingerprints-rebuilt"] = made or 1


class CheckedBatch:
    """Some documents, with what is wrong with them.

    Attributes:
        contents: those that were read, by place; None for an unreadable one. A set is in its
            stored form.
        faults: the places of the documents that have a kind of problem.
    """

    def __init__(self, batch: Sequence[StoredDocument], settings: Settings, deep: bool) -> None:
        """`deep`: shingle and sign contents again, and compare."""
        self.contents: dict[int, Content | None] = {}
        self.faults: defaultdict[str, set[int]] = defaultdict(set)
        self._batch = batch
        self._settings = settings
        for at, one in enumerate(batch):
            self._check(at, one)
        if deep and settings.content:
            self._compare()

    def derivable(self) -> dict[int, Content]:
        """The contents, by place, of documents whose values are to be derived from them again.

        A digest is not derived: it shows that the content is still the one that was added.
        """
        kinds = ("content", "shingles", "signature", "signature-missing")
        wrong = set().union(*(self.faults[kind] for kind in kinds)) - self.faults["digest"]
        readable = self.contents.items()
        return {at: content for at, content in readable if at in wrong and content is not None}

    def fingerprints(self) -> Fingerprints:
        """Those of the texts that are readable."""
        texts = {at: text for at, text in self.contents.items() if isinstance(text, str)}
        settings = self._settings
        found = fingerprints(
            list(texts.values()), settings.shingling, settings.passages, settings.seed
        )
        return found.of(np.array([self._batch[at].doc_id for at in texts], dtype=np.int64))

    def _check(self, at: int, one: StoredDocument) -> None:
        settings, signature = self._settings, one.signature
        wrong: dict[str, bool | int] = {
            "doc-id": one.doc_id < 1,
            "key": not _is_key(one.key),
            "content": one.filled and not settings.content,
            "content-missing": settings.content and not one.filled,
            "metadata": one.metadata is not None and not _is_object(one.metadata),
            "digest": len(one.digest) != DIGEST_BYTES,
            "shingles": not 0 <= one.shingles <= LARGEST,
            # A signature of another size is useless, as is one of a document without shingles.
            "signature": signature is not None
            and (len(signature) != 4 * settings.permutations or one.shingles <= 0),
            "signature-missing": signature is None and one.shingles > 0,
        }
        if settings.content and one.content is not None:
            content = self.contents[at] = self._readable(one.content)
            own = None if content is None else encoded(content).encode()
            wrong["content"] |= own != one.content
            wrong["digest"] |= own is not None and digest(own) != one.digest
        for kind, is_wrong in wrong.items():
            if is_wrong:
                self.faults[kind].add(at)

    def _readable(self, stored: bytes) -> Content | None:
        shingling = self._settings.shingling
        try:
            text = stored.decode()
            if shingling.of_sets:
                return cleaned(from_stored(text, shingling), shingling)
            return text
        # Deeply nested sets are not valid sets either.
        except (UnicodeDecodeError, DamagedFile, ContentError, RecursionError):
            return None

    def _compare(self) -> None:
        readable = {at: content for at, content in self.contents.items() if content is not None}
        signed = sign(list(readable.values()), self._settings)
        lanes = signed.signatures.astype("<u4")
        for at, count, own in zip(readable, signed.shingles.tolist(), lanes, strict=True):
            one = self._batch[at]
            if count != one.shingles:
                self.faults["shingles"].add(at)
            if one.signature != (own.tobytes() if count else None):
                missing = one.signature is None
                self.faults["signature-missing" if missing else "signature"].add(at)


def whole_signatures(
    batch: Sequence[StoredDocument], lanes: int
) -> tuple[Integers, npt.NDArray[np.uint32]]:
    """The documents int64[m] with signatures of the right size, and these, uint32[m, lanes]."""
    some = [(one.doc_id, one.signature) for one in batch if len(one.signature or b"") == 4 * lanes]
    packed = np.frombuffer(b"".join(blob or b"" for _, blob in some), dtype="<u4")
    doc_ids = np.array([doc_id for doc_id, _ in some], dtype=np.int64)
    return doc_ids, packed.reshape(len(some), lanes).astype(np.uint32, copy=False)


def _columns(found: Fingerprints) -> tuple[Integers, Integers, Integers]:
    return found.values, found.documents, found.positions


def _can_be(number: int, rows: list[tuple[Any, ...]]) -> bool:
    """Whether these rows form one decision, about one document or several."""
    verdict = rows[0][1]
    return (
        number > 0
        and verdict in (b"keep", b"drop", b"different")
        and (len(rows) > 1) == (verdict == b"different")
        and len({(row[1], *row[4:]) for row in rows}) == 1
        and all(isinstance(row[3], bytes) and len(row[3]) == DIGEST_BYTES for row in rows)
        and all(_is_key(row[2]) for row in rows)
        and all(text is None or _is_utf8(text) for text in rows[0][4:])
    )


def _is_key(key: bytes) -> bool:
    return key != b"" and b"\0" not in key and _is_utf8(key)


def _is_object(raw: bytes) -> bool:
    """Whether stored metadata is a JSON object."""
    try:
        from_json(raw.decode())
    except (UnicodeDecodeError, DamagedFile):
        return False
    return True


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
