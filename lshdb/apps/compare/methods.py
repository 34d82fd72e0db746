"""The methods of `Database` that say what differs in two documents."""

from lshdb.apps.compare import admission
from lshdb.apps.compare.admission import Admission
from lshdb.apps.compare.compare import compare as compare_sides
from lshdb.apps.compare.model import Comparison
from lshdb.apps.compare.options import AdmissionOptions
from lshdb.database import Database, store_of
from lshdb.keys import key_argument
from lshdb.model import Document
from lshdb.taking import takes


@takes()
def compare(db: Database, a: object, b: object) -> Comparison:
    """What two documents have in common, and whether a query for one would find the other.

    Args:
        a: the key of a stored document, or a Document, whose key is then only its name.
        b: the other one.

    Returns:
        Sizes, exact similarity and containment, the estimate, the lanes and the buckets that
        agree, and the passages (for sets: the elements) that both share. Without contents
        only what signatures show.

    Raises:
        ContentError: a text for a database of sets, or the other way round.

    >>> import lshdb
    >>> with lshdb.open("fables.db", shingle="word:2") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    ...     compared = db.compare("fox", lshdb.Document("new", "the wolf and the grapes"))
    >>> compared.shared, compared.union, round(compared.similarity, 3)
    (2, 6, 0.333)
    >>> [compared.a_content[p.a_start : p.a_end] for p in compared.passages]
    ['and the grapes']
    """
    a_side, b_side = (
        side if isinstance(side, Document) else key_argument(name, side)
        for name, side in (("a", a), ("b", b))
    )
    return compare_sides(store_of(db), a_side, b_side)


@takes(AdmissionOptions)
def add_unless_similar(db: Database, options: AdmissionOptions) -> Admission:
    """Add a document unless similar ones are stored, and say which these are.

    Nobody else adds between the comparison and the addition, in this process or another: of
    equal documents that come at the same moment one is added, and the others are answered with
    it. Nothing is decided silently: if it is left out, the answer has the similar documents and
    the words that differ, and you may add it in place of one (`replace`) or beside them
    (`force`).

    With `replace`, the document that has this key is removed, and the new one is stored under
    its own key, which may be the same, whatever else is similar: the answer names that too.

    The index finds what it is compared with. It is compared with all documents for a threshold
    below the database's, for which the index has less recall than it was made for.

    Raises:
        ContentError: the database cannot take it.
        KeyInUse: another document has this key, and is not to be replaced.
        KeyNotFound: no document has the key to replace.

    >>> import lshdb
    >>> with lshdb.open("memory.db", purpose="short-text") as db:
    ...     first = db.add_unless_similar("1", "Ann has lived in Berlin since 2019.")
    ...     second = db.add_unless_similar("2", "Ann has lived in Munich since 2019.")
    ...     third = db.add_unless_similar("2", "Ann has lived in Munich since 2019.", replace=1)
    ...     third.outcome, third.replaced.content, db.keys()
    ('replaced', 'Ann has lived in Berlin since 2019.', ['2'])
    >>> second.outcome, [(similar.key, *similar.changes) for similar in second.similar]
    ('similar', [('1', Change(given='Munich', stored='Berlin'))])
    """
    return admission.add_unless_similar(store_of(db), options)
