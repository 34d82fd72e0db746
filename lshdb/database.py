"""Opening a database, and its object, with one method for each thing that a user does.

Methods import what only they need, which halves the time to start a query.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lshdb import errors, model
from lshdb.app_methods import AppMethods
from lshdb.keys import key_argument
from lshdb.limits import Limits
from lshdb.maintain.resolve import check_against, resolve, with_passages
from lshdb.options import (
    AddFilesOptions,
    AddManyOptions,
    BackupOptions,
    ClustersOptions,
    FileName,
    OpenOptions,
    PairsOptions,
    Parameters,
    QueryManyOptions,
    QueryOptions,
    ReindexOptions,
    RemoveOptions,
    RepairOptions,
    TuneOptions,
)
from lshdb.search.query import search
from lshdb.sketch.settings import Settings
from lshdb.store.store import Store
from lshdb.taking import takes
from lshdb.text.shingling import Content

if TYPE_CHECKING:
    from lshdb.maintain.choices import Tuned
    from lshdb.maintain.findings import CheckReport
    from lshdb.model import Cluster
    from lshdb.search.result_tables import (
        Matches,
        PairResults,
        Results,
        SqlRows,
    )

Documents = Iterable[model.Document | tuple[object, Content] | Mapping[str, object]]


class Database(AppMethods):
    """An open lshdb file: documents, their signatures, and the buckets that find similar ones.

    Made by `lshdb.open`. Use it as a context manager, or call `close`. An object belongs to the
    thread that opened it; other threads and processes open the file themselves.

    Besides what a method's own page says, each raises UsageError for values of a wrong type or out
    of range, KeyNotFound for the key of no document, QueryError for `where` that is not one
    expression or would do more than read, and StoreError if the file cannot be read or written:
    what is reported, and earlier batches, stay. What iterates raises them while it iterates.

    Rows and files that give no document are left out: `failures` of a report says where they are
    and why, and a FailureWarning how many, unless `on_failure` gets them.
    """

    def __init__(self, store: Store) -> None:
        if not isinstance(store, Store):  # people try the name of a file
            raise errors.UsageError(f"to open a database, call lshdb.open({store!r:.100})")
        self._file = store

    @property
    def _store(self) -> Store:
        """The file; UsageError if it is closed."""
        self._file.check_open()
        return self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self._file.close()

    def __repr__(self) -> str:
        settings = self._file.settings  # as last read: a repr reads no file, and never fails
        index = f"{settings.shingling}, threshold {settings.threshold:g}, {settings.construction}"
        closed = ", closed" if self._file.closed else ""
        return f"<lshdb.Database {str(self.path)!r}: {index}{closed}>"

    @property
    def path(self) -> Path:
        """The file, as it was named when it was opened."""
        return self._file.path

    @property
    def limits(self) -> Limits:
        """The limits that it was opened with."""
        return self._file.limits

    @property
    def read_only(self) -> bool:
        """Whether it was opened only to read."""
        return self._file.read_only

    @property
    def settings(self) -> Settings:
        """The settings it was made with, or was reindexed to since, here or by another process."""
        with self._store.reading():
            return self._store.settings

    # adding and removing

    def add(
        self, key: object, content: Content, metadata: Mapping[str, object] | None = None
    ) -> model.AddReport:
        """Add a document, or replace the one that has this key.

        It is on the disk when this returns, which takes some milliseconds. For many documents use
        `add_many`, which waits once per batch.

        Args:
            key: the user's name for it: a string, not empty and without NUL characters, or a
                number, UUID, date or other id, which becomes one (see lshdb.keys).
            content: a text; for `set` shingling a collection of strings and integers.
            metadata: its other fields, kept as JSON (see lshdb.read.metadata.to_json).

        Raises:
            ContentError: the database cannot take it.

        >>> import lshdb
        >>> with lshdb.open("fruit.db", shingle="set", threshold=0.5) as db:
        ...     db.add("breakfast", ["apple", "milk", "oats"]).added
        1
        """
        return self.add_many([model.Document(key, content, metadata)])

    @takes(AddManyOptions)
    def add_many(self, documents: Documents, options: AddManyOptions) -> model.AddReport:
        """Add documents in batches, each written in one transaction, whole or not at all.

        A key given again replaces the earlier document, or changes nothing where content and
        metadata are the same.

        Args:
            documents: any number of documents, pairs of key and content, or dicts, by the rules
                for records of files: `key` (or `id`), `text` (or `set`), and all other fields as
                metadata; read as needed.

        Raises:
            ContentError: a document that the database cannot take; earlier batches stay.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox, the grapes"), ("b", "The fox and the ant")])
        ...     report.added, report.updated, report.unchanged
        (2, 0, 0)
        """
        from lshdb.write.add import add_many

        return add_many(self._store, documents, options)

    @takes(AddFilesOptions)
    def add_files(self, paths: Iterable[str], options: AddFilesOptions) -> model.AddReport:
        """Add the documents of files and directories, as `lshdb add` does.

        Faster than `add_many` for lines and tables, which are parsed where they are signed.
        A database of lshdb that is named itself is merged: its documents are added, with their
        signatures where both sign alike, and its decisions. With `set_key` and `set_item` the rows
        of all files together make a set for each key.

        Args:
            paths: files, directories, databases and patterns; `-` is the reader's standard input.

        >>> import lshdb
        >>> from pathlib import Path
        >>> _ = Path("fables.jsonl").write_text('{"id": 1, "text": "The fox and the grapes"}')
        >>> with lshdb.open("fables.db") as db:
        ...     db.add_files(["fables.jsonl"]).added
        1
        """
        from lshdb.write.add import add_files

        return add_files(self._store, paths, options)

    @takes(RemoveOptions)
    def remove(self, options: RemoveOptions) -> int:
        """Remove documents, all in one transaction, or none if a key is missing: KeyNotFound.

        With `missing_ok` such keys are passed over. It returns how many documents were removed.

        With `decided` those that were decided to drop, if they have not changed since; see
        `remove_decided`, which returns their keys.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes", {"year": 1912})
        ...     report = db.add("ant", "The ant and the dove", {"year": 2002})
        ...     db.remove(where="metadata ->> '$.year' < ?", parameters=[2000]), db.keys()
        ...     db.remove(["fox", "ant"], missing_ok=True)
        (1, ['ant'])
        1
        """
        from lshdb.write.add import removed

        return len(removed(self._store, options))

    # documents

    @takes()
    def get(self, key: object) -> model.StoredDocument:
        """The document of a key; KeyNotFound if there is none.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.get("fox").content
        'The fox and the grapes'
        """
        from lshdb.search.stored_documents import stored_document

        return stored_document(self._store, key_argument("key", key))

    def __contains__(self, key: object) -> bool:
        try:
            wanted = key_argument("key", key)
        except errors.UsageError:
            return False
        return self._store.document(wanted) is not None

    def __len__(self) -> int:
        return self._store.count()[0]

    def __iter__(self) -> Iterator[str]:
        """All keys, in the order of first addition, read as they are taken."""
        return (key for _, keys in self._store.all_keys() for key in keys)

    def __getitem__(self, key: object) -> model.StoredDocument:
        """The document of a key, as `get`; KeyNotFound, which is a KeyError, if there is none."""
        return self.get(key)

    @takes()
    def keys(self) -> list[str]:
        """All keys, in the order of first addition; those of some documents come by `sql`.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     _ = db.add_many([("fable/1", "The fox"), ("fable/2", "The crow"), ("poem", "O!")])
        ...     db.keys(), [*db.sql("SELECT key FROM documents WHERE key LIKE 'fable/%1'")]
        (['fable/1', 'fable/2', 'poem'], [Row(key='fable/1')])
        """
        with self._store.reading():
            return [*self]

    # similar documents

    @takes(QueryOptions)
    def query(self, options: QueryOptions) -> "Matches":
        """The stored documents similar to a document, best first.

        Candidates share a bucket with it. Where content is kept they are ranked by their exact
        Jaccard similarity, else by the estimate; `Match.exact` says which.

        Returns:
            A list, which also has `to_arrow()` and `df()`.

        Documents whose estimate is within 5 standard errors of what the threshold asks for are
        verified. With `top`, only some documents of a bucket of more than 2,000 are compared; a
        LimitWarning says so, unless the result is certain anyway.

        Raises:
            UsageError: neither or both of content and key, or numbers out of range.
            ContentError: a text for a database of sets, or the other way round.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     (match,) = db.query("the FOX, and the grapes")
        >>> match.key, match.similarity, match.exact, match.identical
        ('fox', 1.0, True, False)
        """
        from lshdb.search.result_tables import Matches, match_columns

        matches = search(self._store, options.ranking, options)
        return Matches(matches, match_columns(options.ranking))

    @takes(QueryManyOptions)
    def query_many(
        self, documents: Documents, options: QueryManyOptions
    ) -> "Iterator[tuple[str, Matches]]":
        """The stored documents similar to each of many: the results of `query`, many times as fast.

        Queries are read and looked up in batches of some thousands. Each batch sees one state of
        the file, which others may write to meanwhile.

        Args:
            documents: as for `add_many`; they are not stored.

        Yields:
            The key of each document, in order, with its matches, best first, as `query` gives them:
            a list, which may be empty, and a table (`to_arrow`, `df`).

        One LimitWarning at the end says for how many queries a limit cut the matches.

        Raises:
            ContentError: a document that the database cannot take; earlier batches are answered.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     asked = [("a", "the FOX, and the grapes"), ("b", "The ant and the cricket")]
        ...     [(key, [match.key for match in matches]) for key, matches in db.query_many(asked)]
        [('a', ['fox']), ('b', [])]
        """
        from lshdb.search.result_tables import answers_of
        from lshdb.write.queries import answer_many

        total = len(documents) if isinstance(documents, Collection) else None
        answers = answer_many(self._store, documents, options)
        return answers_of(answers, options, total)

    @takes(PairsOptions)
    def pairs(self, options: PairsOptions) -> "PairResults":
        """All pairs of similar documents, each once, in the order of addition.

        Pairs share a bucket. Where content is kept, their similarities are exact. They come as
        they are found, from the state of the file when the first was asked for: others may
        write to it meanwhile.

        With `sample`, some of the pairs that match all other options, drawn at random, each as
        probable as any other; the most similar come first. The same seed gives the same pairs.

        Returns:
            An iterator, which also has `to_arrow()` and `df()`, and for a
            sample `drawn_from`, the number of pairs that it was drawn from.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     [(pair.a, pair.b, pair.similarity, pair.exact) for pair in db.pairs()]
        [('a', 'c', 1.0, True)]
        """
        from lshdb.search.result_tables import pair_results

        return pair_results(self._store, options)

    @takes(ClustersOptions)
    def clusters(self, options: ClustersOptions) -> "Results[Cluster]":
        """Clusters of similar documents, and which document of each to keep.

        A cluster is all documents that similar pairs connect; with `star`, each is similar to the
        kept one itself. Clusters come in the order of their first members, when all are found.
        Unlike for `pairs`, there is a limit on what is compared in one bucket; with exact
        similarities, few files reach it (see lshdb.search.cut_notes).

        Returns:
            An iterator, which also has `to_arrow()` and `df()`. A row of
            the table is a member: its role is `keep`, `member`, or `below` if it is less similar
            to the kept one than the threshold. `key`, `top` and sizes do not change the numbers
            of clusters.

        Warns:
            LimitWarning: some candidates were not compared; similar ones would change the clusters.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add_many([("a", "The fox and the grapes"), ("b", "The FOX, the ant")])
        ...     report += db.add("c", "the fox and the grapes!")
        ...     [(cluster.keep, cluster.members) for cluster in db.clusters(keep="longest")]
        ...     db.clusters().to_arrow().select(["cluster", "key", "role"]).to_pylist()
        [('c', ('a', 'c'))]
        [{'cluster': 1, 'key': 'a', 'role': 'keep'}, {'cluster': 1, 'key': 'c', 'role': 'member'}]
        """
        from lshdb.search.result_tables import cluster_results

        return cluster_results(self._store, options)

    # looking inside

    @takes()
    def info(self, *, tables: bool = False) -> model.Info:
        """Settings, numbers of documents, size of the file; `tables`: and of each table in it.

        The sizes of tables take a reading of the whole file: 1.4 s for 1 GB.
        """
        from lshdb.read.paths import printable_path

        store = self._store
        with store.reading():
            documents, empty = store.count()
            counts = documents, empty, store.unindexed(), store.bytes()
            sizes = store.table_bytes() if tables else None
            return model.Info(store.settings, *counts, sizes, printable_path(store.root))

    @takes()
    def buckets(self, key: object) -> list[model.Bucket]:
        """The buckets of a document, one per band; `SELECT * FROM buckets` has all.

        Warns:
            LimitWarning: documents of a large addition still wait for their rows of the index, so
                that buckets do not show them.
        """
        from lshdb.search.stored_documents import buckets_of_key

        return buckets_of_key(self._store, key_argument("key", key))

    @takes()
    def sql(self, statement: str, parameters: Parameters = ()) -> "SqlRows":
        """Run a SELECT on the file's tables and views.

        Returns:
            An iterator of the rows as they come, named tuples, which also has `dicts()`,
            `to_arrow()` and `df()`.

        Raises:
            QueryError: the SQL is wrong, or would do more than read.

        Warns:
            LimitWarning: the SQL names the table `bands` or a view of it, which lacks rows of a
                large addition that are still to be written.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     [row.key for row in db.sql("SELECT * FROM documents WHERE shingles > ?", [2])]
        ['fox']
        """
        from lshdb.search.result_tables import SqlRows

        return SqlRows(*self._store.sql(statement, parameters))

    # choosing and changing the index

    @takes(TuneOptions)
    def tune(self, options: TuneOptions) -> "list[Tuned]":
        """The constructions worth having for this database, best first.

        A sample of its signatures shows how similar documents are, and so how many candidates a
        query will have; without a database see `lshdb.tune`.

        Raises:
            UsageError: numbers out of range, or a construction of more lanes than `permutations`.
            SettingsError: no construction of this many lanes reaches the recall.

        Warns:
            LimitWarning: buckets were too large to be read whole.
        """
        from lshdb.maintain.choices import tune_stored

        return tune_stored(self._store, options)

    @takes(ReindexOptions)
    def reindex(self, options: ReindexOptions) -> model.Reindexed:
        """Rebuild the index from the stored signatures, for another threshold or shape.

        What is not given stays as it is; without a shape, bands and rows are chosen as for a new
        file. Shingles, permutations, sketch and seed are part of the signatures and cannot change.

        All is one transaction: until it is done, queries elsewhere use the old index, and if it
        fails or the process dies, the file is as before. Others can read meanwhile, but not
        write. Other handles to the file notice at their next call.

        Raises:
            SettingsError: nothing is given, or the stored signatures cannot give it.

        >>> import lshdb
        >>> with lshdb.open("fables.db", threshold=0.8) as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.reindex(threshold=0.5).after.construction
        Construction(rows=3, bands=35)
        """
        from lshdb.maintain.reindex import reindex

        return reindex(self._store, options)

    # keeping the file

    @takes(RepairOptions)
    def check(self, options: RepairOptions) -> "CheckReport":
        """Check whether the file is whole, and repair what can be derived; see `lshdb.check`.

        `lshdb.check` takes a path, and so also a file that does not open.

        Raises:
            ReadOnly: a repair, and the file was opened only to read.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.check(deep=True).ok
        True
        """
        from lshdb.maintain.check import check_stored

        return check_stored(self._store, options)

    @takes(BackupOptions)
    def backup(self, path: FileName, options: BackupOptions) -> None:
        """Copy the database, as it is at this moment, to a file; others may write meanwhile.

        Raises:
            UsageError: it is the database itself.
            StoreError: it exists already, or is in use, or cannot be written.

        >>> import lshdb
        >>> with lshdb.open("fables.db") as db:
        ...     report = db.add("fox", "The fox and the grapes")
        ...     db.backup("copy.db")
        >>> lshdb.check("copy.db", deep=True).ok
        True
        """
        from lshdb.store.backup import back_up

        back_up(self._store, Path(path), options)


@takes(OpenOptions)
def open(options: OpenOptions) -> Database:  # lshdb.open
    """Open a database file; make it where there is none.

    The settings describe a new file. An existing file may have been reindexed since, so its own
    threshold, recall, bands, rows and construction are used, with a SettingsWarning where others
    are given. All other settings that are given must be its own.

    Raises:
        UsageError: wrong arguments, or a file that was open when the process was forked.
        SettingsError: impossible settings.
        SettingsMismatch: the file exists, and its documents are compared in another way: shingle,
            permutations, sketch, seed, content, base, purpose, passages, reworded or root differ,
            or with `check_settings` any setting.
        StoreError: the file cannot be opened, or is not lshdb's.

    Warns:
        SettingsWarning: the file's index has other settings than those given.

    >>> import lshdb
    >>> with lshdb.open("fables.db", threshold=0.7, shingle="char:5") as db:
    ...     db.settings.construction
    Construction(rows=4, bands=17)
    """
    database, note = opened(options)
    try:
        if note:
            errors.warn(errors.SettingsWarning(note))
    except BaseException:  # where warnings are errors
        database.close()
        raise
    return database


def opened(options: OpenOptions, made: Settings | None = None) -> tuple[Database, str]:
    """A database, and what a SettingsWarning would say; empty if there is none.

    A new file has the settings `made`, or else those of the options.
    """
    path, settings = options.path, options.settings
    make = cache(lambda: made or resolve(with_passages(settings)))
    if not os.path.exists(path) or not os.path.getsize(path):
        make()  # impossible settings are refused before SQLite writes a file
    store = Store.open(
        Path(path),
        options.mode,
        options.timeout,
        make,
        root=options.root,
        limits=options.limits,
    )
    try:
        store.check_root(options.root)
        note = check_against(settings, store.settings, store.path, whole=options.check_settings)
    except BaseException:
        store.close()
        raise
    return Database(store), note


def store_of(database: Database) -> Store:
    """The file of an open database; UsageError if it is closed.

    For the rooms of lshdb and its tests: it is no part of the interface, and may change.
    """
    return database._store
