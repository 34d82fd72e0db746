"""The method of `Database` that compares two documents."""

from lshdb.apps.compare.compare import compare as compare_sides
from lshdb.database import Database, store_of
from lshdb.groups import takes
from lshdb.keys import key_argument
from lshdb.model import Comparison, Document


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
