"""Sizes of batches and blocks, and limits of every kind, which a caller may set."""

import dataclasses

from lshdb.errors import UsageError

OBJECT_BYTES = 200
"""Bytes of a document's objects in memory besides its characters, elements and signature."""


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """The number of later documents of a bucket with which a document is compared.

    Attributes:
        whole: maximum size of a bucket in which each document is compared with all others.
        first: in a larger bucket, this many first documents are compared with all later ones.
        others: in a larger bucket, each other document is compared with this many later ones.
    """

    whole: int
    first: int
    others: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is read, held, compared and written at once, and where long work ends.

    The numbers suit files of any size; change one with a reason only. Numbers about memory and
    time change no result. With other numbers a search compares less or more, see
    lshdb.search.cut_notes.

    Raises:
        UsageError: a number below 1, or negative seconds.
    """

    # the file

    durable: bool = True
    """Whether COMMIT waits until the disk has the log. Without it there is no log: a crash of the
    machine may damage the file, and nobody else reads it meanwhile. For files that can be made
    again: a tenth of the time of a first run of the gate."""
    checkpoint_pages: int = 1_000
    """Pages of log after which a COMMIT copies them into the file, as by SQLite's default."""
    log_bytes: int = 256 << 20
    """Bytes of log after which a writer waits for its readers, to empty it."""
    log_seconds: float = 1.0
    """Maximum seconds that the writer waits for this."""
    documents_read: int = 10_000
    """Documents or buckets per statement, whose JSON then has some 100 KB; and signatures in memory
    when all are read, 2.5 MB of 128 lanes."""

    reindex_bytes: int = 32_000_000
    """Bytes of band rows in memory, 12 each, while an index is rebuilt or written late; more are in
    a temporary file."""
    reindex_rows: int = 1_000_000
    """Band rows sorted and inserted at once, 50 MB: those written late in a transaction of a
    second."""

    # reading

    block_bytes: int = 1 << 20
    """Bytes of a file read at once; their whole lines make a block."""
    largest_document: int = 100_000_000
    """Maximum bytes of UTF-8 of a document. Input that is not ASCII, and some formats, have lower
    limits, so that nothing takes more memory than four times this."""

    largest_archive: int = 1 << 29
    """Bytes unpacked of an archive: a ZIP file of a megabyte may be a thousand when unpacked."""
    archive_contents: int = 12 << 20
    """Bytes of an archive's list of members: 250,000 of a ZIP file or 24,000 of a tar, which take
    up to 300 MB of memory."""

    # adding

    batch_documents: int = 16_000
    """Documents of a batch that is written, decided on or asked about at once; a large file takes
    more. Larger batches save CPU time, smaller ones leave less to write when the last part is
    signed."""
    batch_bytes: int = 40_000_000
    """Bytes of documents in memory: read, being signed, or signed and not written yet. A batch has
    up to half of them: one is read while the one before it is written."""
    late_from: int = 100_000
    """Documents of an addition after which band rows are written later, sorted. Up to then the
    table of bands of a new file has 30 MB, which stay in memory; and a commit ends sooner."""
    fingerprints: int = 3_000_000
    """Fingerprints held before they are sorted and written: 24 bytes each, and 56 more to sort
    them. More of them put more rows into a page at once: 40 in a file of a million documents of
    1 KB."""
    workers_from: int = 3
    """Parts of a job from which it starts processes: a smaller job ends before they start."""

    # deduplicating

    dedup_documents: int = 1_000
    """Documents that `dedup` compares at once: shingling one alone takes much longer (20 us each of
    1,000 documents of 3 KB, 150 us alone)."""
    dedup_listed: int = 128
    """Kept documents of a bucket that `dedup` compares: with 12 bands at most 1,536 comparisons
    per document, which take as long as reading and shingling a dozen documents."""
    dedup_pairs: int = 250_000
    """Pairs compared at once: with more, it takes fewer documents."""

    # queries

    query_rows: int = 1 << 20
    """Band rows that many queries look up at once: they and their pairs take some 100 MB."""
    query_first: int = 2_000
    """Documents of a bucket that a query with `top` reads: in 12 bands 24,000 rows, some 8 ms."""
    query_best: int = 500
    """Documents from larger buckets only that are ranked further: reading and shingling this many
    of 3 KB takes 10 ms too."""
    verified_first: int = 64
    """Documents verified before checking whether more can be among the best: some ms."""

    text_batch: int = 4_000_000
    """Characters of stored documents that are compared at once: their hashes take 32 MB."""

    # pairs and clusters

    pairs_chunk: int = 1 << 17
    """Candidates in a chunk, where a pair counts once per bucket that has both."""
    pairs_rows: int = 10_000
    """Pairs, or members of clusters, turned into objects at once: some MB."""
    join_hashes: int = 4_000_000
    """Distinct shingle hashes that a join keeps, 8 bytes each; more only if two documents have
    more."""
    join_read: int = 1_000_000
    """Shingles in the documents that a join reads at once: 8 MB of hashes."""
    join_signatures: int = 32_000_000
    """Bytes of signatures that a join reads at once."""
    clusters: Limit = Limit(whole=2_000, first=64, others=512)
    """A bucket of 2,000 has two million pairs, which take a tenth of a second to bound by parities.
    In larger ones, the first 64 find large families, and 512 neighbours those added together; the
    work is then linear in the number of documents."""
    rare_holders: int = 32
    """Documents that share a shingle used for pairing: at most 496 pairs per shingle."""
    rare_rows: int = 16_000_000
    """Shingles for pairing in memory, 8 bytes each, and twice that while they are joined; with
    more, all pairs of large buckets are compared."""

    # passages

    text_characters: int = 4_000_000
    """Characters of a text that `compare` searches for passages; each takes 100 bytes."""
    passages: int = 10_000
    """Shared passages of two texts: more than anyone reads, some 20 us each to find."""
    passage_windows: int = 1 << 19
    """Windows of all pairs that are compared at once, some 100 bytes each, and in proportion
    characters of texts, whose windows are found at once."""

    # tuning

    sample_rows: int = 300
    """Documents of a bucket that `tune` reads: with 12 bands 1.4 million for its sample."""
    measure_lanes: int = 1 << 34
    """Lanes that measuring an index compares by default, some seconds."""
    measure_held: int = 10_000_000
    """Candidates of queries in memory, 8 bytes each; more only if one query has more."""
    measure_cells: int = 1 << 20
    """Pairs of a query and a document that are compared at once."""

    # pages

    page_seconds: float = 1.5
    """Seconds that a page waits for a slow result."""

    @property
    def largest_text(self) -> int:
        """Maximum bytes of a text or line that is not ASCII.

        Python then has up to four bytes for each character.
        """
        return self.largest_document * 2 // 5

    @property
    def largest_row(self) -> int:
        """Maximum bytes of a record of CSV, an element of a JSON array or a row of a table.

        Their parsers have up to five bytes more for each character.
        """
        return self.largest_document // 4

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, Limit | bool) and value < isinstance(value, int):
                raise UsageError(f"limits: {field.name} {value} is too small")


DEFAULTS = Limits()
