"""lshdb: an embedded near-duplicate database in one SQLite file.

>>> import lshdb
>>> with lshdb.open("fables.db", threshold=0.7) as db:
...     db.add("fox", "A hungry fox saw some fine grapes hanging from a vine").added
...     [match.key for match in db.query("A hungry fox saw some fine grapes hanging from a tree")]
1
['fox']
"""

from lshdb.offers import NAMES, offered

__version__ = "0.1.0"
__all__ = sorted(NAMES)


def __getattr__(name: str) -> object:
    """Import a name when it is first used: `lshdb --help` needs none of them."""
    if name not in NAMES:
        raise AttributeError(f"module 'lshdb' has no attribute {name!r}")
    value = globals()[name] = offered(NAMES, name)
    return value
