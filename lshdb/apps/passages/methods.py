"""The methods of `Database` for copied passages."""

from lshdb.apps.passages.model import Passages
from lshdb.apps.passages.options import PassagePairsOptions, PassagesOptions
from lshdb.apps.passages.passage_pairs import PassageResults, passage_results
from lshdb.apps.passages.passages import find_passages
from lshdb.database import Database, store_of
from lshdb.taking import takes


@takes(PassagesOptions)
def passages(db: Database, options: PassagesOptions) -> Passages:
    """The stored documents that share runs of words with a text, and which runs.

    Needs an index of passages (`passages` of lshdb.open or reindex). An index for N words
    finds every run of N words or more that is in both the text and a document, whatever
    else they hold; case and punctuation do not matter. Runs in `base` and common runs,
    those in more than `common` documents, are left out.

    Returns:
        The documents, the one that holds most of the text first, and the common runs.

    Raises:
        UsageError: no index of passages.

    >>> import lshdb
    >>> with lshdb.open("poems.db", passages=4) as db:
    ...     report = db.add("frost", "Two roads diverged in a yellow wood, and sorry I could")
    ...     found = db.passages("He wrote that two roads diverged in a yellow wood.")
    >>> [(source.key, passage.text) for source in found for passage in source.passages]
    [('frost', 'two roads diverged in a yellow wood')]
    """
    return find_passages(store_of(db), options)


@takes(PassagePairsOptions)
def passage_pairs(db: Database, options: PassagePairsOptions) -> PassageResults:
    """All pairs of stored documents that share runs of words, and which runs.

    Each pair comes once, as it is found, in the order of addition; with `top` those of which a
    larger share is shared, best first; with `sort` all. The arguments mean the same as for
    `passages`. The iterator reads one state of the file; `.df()` and `.to_arrow()` give a
    table, a row a passage, and `.common` names the runs in more than `common` documents,
    longest first.

    Raises:
        UsageError: no index of passages, or numbers out of range.
        StoreError: the file cannot be read, or a temporary one cannot be written.

    >>> import lshdb
    >>> with lshdb.open("essays.db", passages=4) as db:
    ...     report = db.add("a", "It was the best of times, it was the worst of times.")
    ...     report = db.add("b", "For me, it was the best of times!")
    ...     [(pair.a, pair.b, pair.words) for pair in db.passage_pairs()]
    [('a', 'b', 6)]
    """
    return passage_results(store_of(db), options)
