"""The files of documents that were decided to be dropped, each proved before it goes.

A file goes if it has what was decided on, and if another file has a copy that stays: a document
that is not dropped, with the same content or as similar as the database's threshold asks for. Rows
of tables do not count, as the database does not know their files. Of a document without text, such
as a PDF of pictures, only a file with the same bytes is a copy.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from lshdb.apps.review.decisions import Contents, decision_rows
from lshdb.options import QueryOptions
from lshdb.read import proof
from lshdb.search.query import search
from lshdb.store.lookups import StoredFile
from lshdb.store.store import Store

_SIMILAR = 1_000
"""Documents of which one may be the copy: more are looked at only if they have the same content."""


def dropped_files(
    store: Store, proofs: proof.Proof, *, without_copy: bool = False, identical: bool = False
) -> Iterator[proof.ProvedFile | proof.LeftFile]:
    """The files of the documents that the decisions mark as `drop`, in the order of keys.

    Args:
        store: the database.
        proofs: reads the files.
        without_copy: files of which no other file holds a copy go, too.
        identical: copies have the same bytes.
    """
    copies = _Copies(store, identical=identical)
    for _, documents in sorted(copies.dropped.items()):
        files = [proofs.check(document, copies.of(document)) for document in documents]
        for index, file in enumerate(files):
            if isinstance(file, proof.LeftFile) and file.has_no_copy:
                files[index] = (
                    proofs.check(documents[index], None)
                    if without_copy
                    else replace(file, reason=f"{file.reason}: --yes takes it all the same")
                )
        yield next((file for file in files if not isinstance(file, proof.LeftFile)), files[-1])


class _Copies:
    """Looks for the copies of dropped documents.

    Attributes:
        dropped: the dropped documents by their keys: the stored one, or those that were removed.
    """

    def __init__(self, store: Store, *, identical: bool) -> None:
        self._store, self._identical = store, identical
        self._root = store.root
        with store.reading():
            self._decided = Contents(decision_rows(store))
            verdicts = self._decided.of_key.items()
            dropped = {document for document, verdict in verdicts if verdict == "drop"}
            files = store.files_of_keys([key for key, _ in dropped])
            self._stored = {file.key: file for file in files}
            self.dropped: dict[str, list[proof.Compared]] = {}
            for key, digest in () if store.settings.shingling.of_sets else sorted(dropped):
                file = self._stored.get(key)
                if file is not None and file.digest == digest:
                    self.dropped[key] = [proof.compared(file, self._root)]
                elif file is None or (key, file.digest) not in dropped:
                    gone = proof.Compared(key, self._root, digest)
                    self.dropped.setdefault(key, []).append(gone)
            wanted = {digest for _, digest in dropped}
            self._same: defaultdict[bytes, list[StoredFile]] = defaultdict(list)
            for document in store.files_below("") if dropped else []:
                if document.digest in wanted:
                    self._same[document.digest].append(document)

    def of(self, document: proof.Compared) -> Iterator[proof.Compared]:
        """The documents that may stay for a dropped one, those with its content first."""
        has_text = self._has_text(document)
        for file in self._files(document):
            content = file.key, file.digest
            is_dropped = self._decided.of_key.get(content) == "drop"
            is_apart = self._decided.apart((document.key, document.digest), content)
            if file.key == document.key or is_dropped or is_apart:
                continue
            digests = {file.file_digest, document.file_digest} - {None}
            if (has_text and not self._identical) or len(digests) < 2:
                yield proof.compared(file, self._root)

    def _files(self, document: proof.Compared) -> Iterator[StoredFile]:
        yield from self._same[document.digest]
        if document.key not in self._stored:
            return
        query = QueryOptions(key=document.key, top=_SIMILAR)
        keys = [match.key for match in search(self._store, query.ranking, query)]
        with self._store.reading():
            files = {file.key: file for file in self._store.files_of_keys(keys)}
        yield from filter(None, map(files.get, keys))

    def _has_text(self, document: proof.Compared) -> bool:
        with self._store.reading():
            row = self._store.document(document.key)
        if row is None or row.content is None:
            return row is None or row.shingles > 0
        # Signs that are left of a scan say as little of a file as no text does.
        return any(map(str.isalnum, row.content))
