"""The database file. Nothing outside this package imports sqlite3."""

from lshdb.store.conditions import Condition, Parameters
from lshdb.store.connection import FORMAT_VERSION, TIMEOUT, Mode
from lshdb.store.functions import is_lshdb, register_functions
from lshdb.store.guard import is_open
from lshdb.store.joins import JoinReader
from lshdb.store.lookups import DocumentRow
from lshdb.store.store import DocumentValues, KnownDocument, Store
from lshdb.store.values import SqlValue

__all__ = [
    "FORMAT_VERSION",
    "TIMEOUT",
    "Condition",
    "DocumentRow",
    "DocumentValues",
    "JoinReader",
    "KnownDocument",
    "Mode",
    "Parameters",
    "SqlValue",
    "Store",
    "is_lshdb",
    "is_open",
    "register_functions",
]
