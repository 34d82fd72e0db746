"""Looking for problems in a file.

Nothing is assumed: tables may be missing, and a text that is not UTF-8 is read with lone
surrogates. The file is read once, in order and in constant memory: documents with their
signatures, then the tables that are derived from them, each compared by checksums.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar, cast

import numpy as np

from lshdb import errors, offers
from lshdb.json_text import dumps
from lshdb.keys import key_fault
from lshdb.maintain.findings import CheckReport, Problem
from lshdb.progress import Progress
from lshdb.read.metadata import from_json
from lshdb.sketch import signing
from lshdb.sketch.settings import parts_of, plain_settings
from lshdb.store import index, schema
from lshdb.store import statements as sql
from lshdb.store.guard import Connection
from lshdb.store.parts import part as part_of_index
from lshdb.store.rows import FileSettings, lanes_of, record, settings_of
from lshdb.store.store import MAX_NUMBER
from lshdb.text import arrays, hashing, shingling
from lshdb.text.content import DIGEST_BYTES, LARGEST, cleaned, digest, encoded, from_stored
from lshdb.text.kinds import missing_app

_T = TypeVar("_T")
_LISTED = 5
"""Problems of a column that are listed."""
DAMAGED, SCHEMA, SETTINGS, DIGEST = "file", "sqlite_schema", "settings", "documents.digest"
"""Tables and columns whose problems decide what can be repaired."""
_CONTENT = None, "a content"
_SHOWN = 60
"""Characters of a value in a problem."""
_BATCH_BYTES = 8_000_000
"""Bytes of signatures and contents read at once."""
_ROW = 2_000
"""Bytes of a row's other values as Python's objects; about."""


class ExaminedDocument(NamedTuple):
    """A document as stored.

    `filled`: whether content is stored; `content` is None if it was not requested.
    """

    doc_id: int
    key: str
    shingles: int
    digest: bytes
    signature: bytes | None
    filled: int
    content: str | None
    metadata: str | None

    def size(self) -> int:
        """Bytes in memory, about."""
        return _ROW + len(self.signature or b"") + len(self.content or "")


class TableComparison:
    """Compares the rows of a table with the rows that it should have, in constant memory.

    Different sets of rows have equal sums of hashes with probability 2^-64, and the hashes are
    secret, so that nobody can make a file that deceives it.

    Attributes:
        expected: the number of rows that the table should have.
        stored: the number of rows that the table has.
        sum: 0 if the rows are as expected, modulo 2^64.
    """

    def __init__(self) -> None:
        self.expected = self.stored = 0
        self.sum = np.zeros(1, dtype=np.int64)
        self._hash = hashing.span_hash(hashing.secret_seed(), "rows").integers

    def add(self, rows: index.IndexRows, *, expected: bool) -> None:
        """Add rows that the table should have (`expected`), or rows that it has."""
        hashes = np.zeros(rows.shape[1], dtype=np.int64)
        for column in rows:
            hashes = self._hash(hashes ^ column).view(np.int64)
        if expected:
            self.expected += len(hashes)
        else:
            self.stored += len(hashes)
            hashes = -hashes
        self.sum += hashes.sum()


@dataclasses.dataclass(eq=False)
class Examination:
    """One examination of a whole file.

    Attributes:
        connection: to the file, of `connection.audited`.
        deep: whether contents are shingled and signed again.
        progress: called with the documents that were read.
        stored: the settings of the file; None if they are invalid.
        documents: how many documents were examined.
        problems: the first ones of each table and column.
        counts: how many there are, by their tables and columns.
        faults: how its schema differs from lshdb's.
        tables: the comparison of bands, and of each part of the index that the file has.
    """

    connection: Connection
    deep: bool
    progress: Progress

    def __post_init__(self) -> None:
        self.stored: FileSettings | None = None
        self.documents = 0
        self.faults: list[schema.Fault] = []
        self.tables = {index.BANDS.name: TableComparison()}
        self._rows = self.connection.rows
        self.problems: list[Problem] = []
        self.counts: Counter[str] = Counter()
        self._apply("the file's structure", self._structure())
        self._apply("the schema", self._schema())
        self._apply("the settings", self._read_settings())
        if self.stored is None:
            self._add(_unchecked("documents, signatures and bands"))
            return
        whole = self._apply("documents", self._documents(self.stored))
        self._apply("the index", self._index(whole))
        self._apply("what apps store", self._of_apps())

    def report(self) -> CheckReport:
        """What was found; nothing is repaired."""
        bands, counts = self.tables[index.BANDS.name].stored, dict(self.counts)
        problems = tuple(self.problems)
        return CheckReport(self.documents, bands, self.deep, problems, counts, {}, counts)

    def _add(self, problem: Problem) -> None:
        """Count a problem, and list the first ones of its table and column."""
        self.counts[problem.table] += 1
        if self.counts[problem.table] <= _LISTED:
            self.problems.append(problem)

    def _apply(self, subject: str, rule: Iterable[Problem]) -> bool:
        """Count the problems that a rule finds; return whether it completed."""
        try:
            with self.connection.errors():
                for problem in rule:
                    self._add(problem)
            return True
        except errors.DamagedFile as error:
            self._add(damaged(str(error)))
        except errors.QueryError:
            pass  # a table or column is missing: the rule of the schema reports that
        self._add(_unchecked(subject))
        return False

    def _structure(self) -> Iterator[Problem]:
        self.progress(0, None, "pages")
        if fault := schema.size_fault(self.connection):
            yield damaged(fault)
        # Otherwise the file's own expressions would run; constraints are checked here.
        self._rows(sql.CHECK_NO_CONSTRAINTS)
        own_tables, generated = schema.plain_tables(), self._generated()
        if generated or self._rows(sql.OTHER_TABLES_WITH_CODE, dumps(own_tables)):
            # All pages, and lshdb's own tables with their indexes. Tables with generated columns
            # are left out; if there are any, so are pages without a table.
            rows = self._rows(sql.CHECK_TABLES_WITHOUT_CODE if generated else sql.CHECK_PAGES)
            checked = [name for name in own_tables if name not in generated]
            rows += self._rows(sql.CHECK_TABLES, dumps(checked))
        else:
            rows = self._rows(sql.CHECK_STRUCTURE)
        lines = [" ".join(line.split()) for (line,) in rows]
        self._rows(sql.CHECK_CONSTRAINTS)
        yield from (damaged(line) for line in lines if line != "ok")

    def _generated(self) -> set[str]:
        """The tables with generated columns, whose expressions a whole check would run."""
        return {name.lower() for (name,) in self._rows(sql.GENERATED_COLUMNS)}

    def _schema(self) -> Iterator[Problem]:
        for fault in schema.faults(self.connection):
            self.faults.append(fault)
            yield Problem(SCHEMA, "", fault.text, "only what lshdb defines")
        for table, row in self._rows(sql.BROKEN_REFERENCES):
            if table == "signatures":
                stored = "a signature without a document"
                yield Problem("signatures.doc_id", str(row), stored, "none")
            else:
                stored = "a reference to a missing row"
                yield Problem(f"{table}.foreign key", f"row {row or 0}", stored, "none")

    def _read_settings(self) -> Iterator[Problem]:
        own_tables = schema.plain_tables()
        has_generated = not self._generated().isdisjoint(own_tables)
        if has_generated or self._rows(sql.NO_TABLES, dumps(own_tables)):
            return  # reading would run expressions: the rule of the schema reports that
        rows = self._rows(sql.SELECT_SETTINGS)
        try:
            self.stored = settings_of(self.connection.path, rows, self._rows(sql.BASE_TEXTS))
        except errors.DamagedFile as error:
            yield Problem(SETTINGS, "", str(error), "valid settings")
        else:
            named = parts_of(self.stored.settings).keys()
            for part in named - self.stored.parts:
                yield Problem(SCHEMA, "", f"table {part} is missing", "only what lshdb defines")
            for part in offers.PARTS:
                if part in named | self.stored.parts:
                    if self.deep:
                        offers.check_is_there(offers.TABLES[part], part)
                    app = missing_app(self.stored.settings.shingling) or offers.TABLES[part]
                    if self._is_there(app, part):
                        self.tables[part] = TableComparison()
        ((last,),) = self._rows(sql.LAST_DOC_ID)
        if isinstance(last, int) and last > MAX_NUMBER:
            stored = f"the last number of a document is {last}, so none can follow"
            yield Problem(SETTINGS, "", stored, f"at most {MAX_NUMBER}")

    def _documents(self, stored: FileSettings) -> Iterator[Problem]:
        contents = parts_of(stored.settings) or stored.settings.shingling.of_sets
        ((total,),) = self._rows(sql.COUNT_DOCUMENTS)
        for batch in batches(self.connection, stored, contents=bool(self.deep or contents)):
            for problems in batch.problems(deep=self.deep):
                yield from problems
            for name, compared in self.tables.items():
                compared.add(batch.rows(name), expected=True)
            self.documents += len(batch.documents)
            self.progress(self.documents, total, "documents")

    def _index(self, whole: bool) -> Iterator[Problem]:
        """`whole`: whether all documents were read, so that the tables can be compared."""
        reader = index.Index(self.connection)
        tables = {name for (name,) in self._rows(sql.TABLES)}
        for name in self.tables.keys() & tables:
            compared = self.tables[name]
            part = None if name == index.BANDS.name else part_of_index(name)
            try:
                for rows in part.stored(reader) if part else reader.rows(index.BANDS):
                    compared.add(rows, expected=False)
                    self.progress(compared.stored, compared.expected, f"rows of {name}")
            except errors.DamagedFile:
                if part is None:
                    raise
                compared.sum[:] = 1  # as of a virtual table, which is repaired by making it again
        for name, compared in self.tables.items() if whole else ():
            if compared.sum.any():
                same = compared.stored == compared.expected
                stored = f"{compared.stored} rows{', some of them wrong' if same else ''}"
                yield Problem(name, "", stored, f"{compared.expected} rows")

    def _of_apps(self) -> Iterator[Problem]:
        """The parts that apps have beside the index."""
        tables = self._rows(sql.TABLES)
        for part in offers.CHECKS:
            if (part,) in tables and self._is_there(offers.TABLES[part], part):
                yield from offers.offered(offers.CHECKS, part)(self.connection)

    def _is_there(self, app: str, part: str) -> bool:
        """Whether the app that knows a part is there; otherwise the part is unchecked."""
        if not offers.is_there(app):
            self._add(_unchecked(part, f"checked where the app {app!r} is installed"))
        return offers.is_there(app)


@dataclasses.dataclass(eq=False)
class CheckedBatch:
    """Some documents, and the values and rows that are derived from them.

    Attributes:
        connection: a connection to the file.
        stored: the settings of the file.
        documents: the documents as stored.
        contents: the readable contents, by the index of their document.
    """

    connection: Connection
    stored: FileSettings
    documents: Sequence[ExaminedDocument]

    def __post_init__(self) -> None:
        self.settings = self.stored.settings
        self.contents: dict[int, shingling.Content] = {}
        for number, document in enumerate(self.documents):
            if (content := _read(self._content, document.content)) is not None:
                self.contents[number] = content

    def _content(self, stored: str) -> shingling.Content:
        kind = self.settings.shingling
        return cleaned(from_stored(stored, kind), kind) if kind.of_sets else stored

    def problems(self, *, deep: bool) -> Iterator[list[Problem]]:
        """The problems of each document; `deep`: its content is signed again."""
        signed = {}
        if deep and self.contents:
            again = signing.sign([*self.contents.values()], plain_settings(self.settings))
            lanes = again.signatures.astype(self.settings.lane_type.newbyteorder("<"))
            rows = zip(self.contents, again.shingles.tolist(), lanes, strict=True)
            signed = {
                number: (count, row.tobytes() if count else None) for number, count, row in rows
            }
        for number, document in enumerate(self.documents):
            yield [*self._problems(number, document, signed.get(number))]

    def signatures(self) -> index.Signatures:
        """The signatures that have the right size, and the ids of their documents."""
        size = self.settings.signature_bytes
        blobs = {
            document.doc_id: blob
            for document in self.documents
            if len(blob := document.signature or b"") == size
        }
        return arrays.int_array(blobs), lanes_of(b"".join(blobs.values()), self.settings)

    def texts(self) -> tuple[arrays.IntArray, list[str]]:
        """The ids and texts of documents that have a shingle by their count or a signature."""
        filled = {
            self.documents[number].doc_id: content
            for number, content in self.contents.items()
            if self.documents[number].shingles > 0 or self.documents[number].signature is not None
        }
        return arrays.int_array(filled), cast(list[str], [*filled.values()])

    def rows(self, name: str) -> index.IndexRows:
        """The rows that bands, or a part of the index, should have for these documents by now."""
        settings = self.settings
        if name in parts_of(settings):
            return part_of_index(name).expected(*self.texts(), settings)
        if name != index.BANDS.name:
            return np.empty((3, 0), dtype=np.int64)
        codes, doc_ids = index.band_codes(*self.signatures(), settings)
        _, _, indexed_to, bucket, _ = self.stored
        if indexed_to is not None:
            indexed = self.connection.integers(sql.INDEXED)
            late = (doc_ids > indexed_to) & ~np.isin(doc_ids, indexed)
            is_written = ~late | (codes <= (index.BEFORE_ALL if bucket is None else bucket))
            codes, doc_ids = codes[is_written], doc_ids[is_written]
        return index.rows_of(codes, doc_ids)

    def _problems(
        self, number: int, document: ExaminedDocument, signed: tuple[int, bytes | None] | None
    ) -> Iterator[Problem]:
        """Where a document differs from what follows from its content, or from any valid value.

        `signed`: the count of shingles and the signature of its content, if that was signed again.
        """
        _, key, shingles, digested, signature, filled, stored_content, metadata = document
        settings, content = self.settings, self.contents.get(number)
        form = None if content is None else encoded(content)
        size = settings.signature_bytes if shingles > 0 else 0
        sized = signature if len(signature or b"") == size else f"{size} bytes"
        count, lanes = signed or (shingles, sized)
        is_valid = metadata is None or _read(from_json, metadata) is not None
        compared: dict[str, tuple[object, object]] = {
            "documents.doc_id": (document.doc_id, max(document.doc_id, 1)),
            "documents.key": (key, "a key" if key_fault(key) else key),
            "documents.metadata": (metadata, metadata if is_valid else "a JSON object"),
            "documents.content": (_CONTENT[filled], _CONTENT[settings.content]),
            DIGEST: (
                digested,
                digested if len(digested) == DIGEST_BYTES else f"{DIGEST_BYTES} bytes",
            ),
            "documents.shingles": (shingles, min(max(count, 0), LARGEST)),
            "signatures.signature": (signature, lanes),
        }
        if stored_content is not None:
            expected_content = "a content that can be read" if form is None else form
            compared["documents.content"] = stored_content, expected_content
        if form is not None:
            compared[DIGEST] = digested, digest(form.encode())
        for table, (stored, expected) in compared.items():
            if stored != expected:
                values = (f"{_shown(value):.{_SHOWN}}" for value in (stored, expected))
                yield Problem(table, _shown(key), *values)


def batches(
    connection: Connection, stored: FileSettings, *, contents: bool
) -> Iterator[CheckedBatch]:
    """All documents by their ids, some thousands at a time.

    The caller may change the documents of earlier batches.
    """
    rows = connection.lazy_rows(sql.ALL_AS_STORED, contents and stored.settings.content)
    documents = (record(ExaminedDocument, row) for row in rows)
    for batch in arrays.bounded(documents, ExaminedDocument.size, _BATCH_BYTES):
        yield CheckedBatch(connection, stored, batch)


def _shown(value: object) -> str:
    """A value in words."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes {value.hex()}"
    return str(value).encode(errors="surrogateescape").decode(errors="replace")


def damaged(fault: str) -> Problem:
    """What SQLite, or the size of the file, shows to be damaged."""
    return Problem(DAMAGED, "", fault, "what SQLite can read")


def _unchecked(subject: str, until: str = "checked when other problems are gone") -> Problem:
    return Problem("unchecked", "", subject, until)


def _read(read: Callable[[str], _T], stored: str | None) -> _T | None:
    """A value as it is read; None if it cannot be.

    A text that is not UTF-8 has lone surrogates and cannot, nor can deeply nested sets.
    """
    if stored is None:
        return None
    try:
        stored.encode()
        return read(stored)
    except (errors.DamagedFile, errors.ContentError, RecursionError, UnicodeEncodeError):
        return None
