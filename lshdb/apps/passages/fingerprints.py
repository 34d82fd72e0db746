"""The part of the index that finds copied passages: the table of fingerprints and positions."""

from collections.abc import Sequence

from lshdb.apps.passages import statements as sql
from lshdb.apps.passages import winnowing
from lshdb.apps.passages.table_part import TablePart
from lshdb.sketch.part_rows import PartRows
from lshdb.sketch.settings import Settings
from lshdb.store.index import IndexTable
from lshdb.text.kinds import Tokens


def _made(texts: Sequence[str], settings: Settings, tokens: Tokens | None) -> PartRows:
    """See IndexPart; the columns are the values and the positions, by value."""
    run, shingling, seed = settings.passages, settings.shingling, settings.seed
    if tokens is None:
        prints = winnowing.fingerprints(texts, shingling, run, seed)
    else:
        group = winnowing.of_group(texts, range(len(texts)), shingling, run, seed, tokens)
        prints = winnowing.of_groups([group])
    return PartRows(run, prints.documents, (prints.values, prints.positions))


PART = TablePart(
    IndexTable(
        "fingerprints",
        sql.FINGERPRINT_ROWS,
        sql.INSERT_FINGERPRINT,
        sql.INSERT_FINGERPRINTS,
        sql.DELETE_FINGERPRINT,
        sql.DELETE_FINGERPRINTS,
    ),
    _made,
)
