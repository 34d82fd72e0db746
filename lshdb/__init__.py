"""lshdb: an embedded near-duplicate database in one SQLite file.

>>> import lshdb
>>> with lshdb.open("fables.db", threshold=0.7) as db:
...     db.add("fox", "A hungry fox saw some fine grapes hanging from a vine").added
...     [match.key for match in db.query("A hungry fox saw some fine grapes hanging from a tree")]
1
['fox']
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lshdb.apps.frames.frames import Deduplicated, dedup
    from lshdb.apps.service.service import Service
    from lshdb.database import Database
    from lshdb.errors import (
        Busy,
        ColumnWarning,
        ContentError,
        Cut,
        DamagedFile,
        FailureWarning,
        IgnoreWarning,
        InputError,
        KeyInUse,
        KeyNotFound,
        LimitWarning,
        LshdbError,
        NoDatabase,
        NotADatabase,
        OtherFormat,
        QueryError,
        ReadOnly,
        SettingsError,
        SettingsMismatch,
        SettingsWarning,
        StoreError,
        UnsafeFile,
        UsageError,
    )
    from lshdb.limits import Limits
    from lshdb.maintain.check import check
    from lshdb.maintain.choices import Tuned, tune
    from lshdb.maintain.findings import CheckReport, Problem, Repair
    from lshdb.maintain.measuring import Measured, MeasuredRecall
    from lshdb.maintain.restoring import Restored, restore_backup
    from lshdb.model import (
        AddReport,
        Admission,
        Arrived,
        Bucket,
        Change,
        Cluster,
        CommonPassage,
        Comparison,
        CopiedPassage,
        DecidedRow,
        Decision,
        Document,
        DroppedRow,
        Failure,
        Info,
        Match,
        Pair,
        Passage,
        PassagePair,
        Passages,
        Reindexed,
        Rename,
        ServiceStats,
        SharedBucket,
        Similar,
        Source,
        StoredDocument,
        SyncChange,
        SyncReport,
        WordMatches,
    )
    from lshdb.opening import open  # noqa: A004
    from lshdb.search.result_tables import Matches, PassageResults, Results, SqlRows
    from lshdb.sketch.constructions import Construction
    from lshdb.sketch.settings import Settings
    from lshdb.sketch.signature_sets import SignatureSet, Sketching
    from lshdb.store.functions import register_functions
    from lshdb.text.shingling import Shingling

__version__ = "0.1.0"

__all__ = [
    "AddReport",
    "Admission",
    "Arrived",
    "Bucket",
    "Busy",
    "Change",
    "CheckReport",
    "Cluster",
    "ColumnWarning",
    "CommonPassage",
    "Comparison",
    "Construction",
    "ContentError",
    "CopiedPassage",
    "Cut",
    "DamagedFile",
    "Database",
    "DecidedRow",
    "Decision",
    "Deduplicated",
    "Document",
    "DroppedRow",
    "Failure",
    "FailureWarning",
    "IgnoreWarning",
    "Info",
    "InputError",
    "KeyInUse",
    "KeyNotFound",
    "LimitWarning",
    "Limits",
    "LshdbError",
    "Match",
    "Matches",
    "Measured",
    "MeasuredRecall",
    "NoDatabase",
    "NotADatabase",
    "OtherFormat",
    "Pair",
    "Passage",
    "PassagePair",
    "PassageResults",
    "Passages",
    "Problem",
    "QueryError",
    "ReadOnly",
    "Reindexed",
    "Rename",
    "Repair",
    "Restored",
    "Results",
    "Service",
    "ServiceStats",
    "Settings",
    "SettingsError",
    "SettingsMismatch",
    "SettingsWarning",
    "SharedBucket",
    "Shingling",
    "SignatureSet",
    "Similar",
    "Sketching",
    "Source",
    "SqlRows",
    "StoreError",
    "StoredDocument",
    "SyncChange",
    "SyncReport",
    "Tuned",
    "UnsafeFile",
    "UsageError",
    "WordMatches",
    "check",
    "dedup",
    "open",
    "register_functions",
    "restore_backup",
    "tune",
]


def __getattr__(name: str) -> object:
    """Import a name when it is first used: `lshdb --help` needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'lshdb' has no attribute {name!r}")
    for module in (
        "lshdb.errors",
        "lshdb.model",
        "lshdb.sketch.settings",
        "lshdb.limits",
        "lshdb.opening",
        "lshdb.apps.service.service",
        "lshdb.search.result_tables",
        "lshdb.maintain.findings",
        "lshdb.sketch.signature_sets",
        "lshdb.maintain.check",
        "lshdb.maintain.restoring",
        "lshdb.maintain.choices",
        "lshdb.maintain.measuring",
        "lshdb.store.functions",
        "lshdb.apps.frames.frames",
    ):
        value = getattr(importlib.import_module(module), name, None)
        if value is not None:
            globals()[name] = value
            return value
    raise AttributeError(f"module 'lshdb' has no attribute {name!r}")
