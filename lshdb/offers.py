"""What the apps offer to the core: tables of names, of which nothing is loaded until it is used.

The core knows of apps what stands here: names and texts. An app whose folder is missing has no
commands in `lshdb --help`; an error for one of them names the app.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command of `lshdb`: its summary in the list, and the app that has it; "" is the core."""

    summary: str
    app: str = ""

    def module(self, name: str) -> str:
        """The module that has the function of the command `name`."""
        folder = f"lshdb.apps.{self.app}.cli" if self.app else "lshdb.cli"
        return f"{folder}.{name.replace('-', '_')}"


NEEDS = {
    "compare": {"passages", "programs"},
    "dedup": {
        "compare",
        "keeping",
        "merging",
        "passages",
        "review",
        "signatures",
        "tab_quotes",
        "tables",
    },
    "folders": {"compare", "ignoring", "passages", "programs", "review"},
    "frames": {"dedup", "tables"},
    "gate": {"folders", "ignoring", "passages", "programs"},
    "mcp": {"compare", "words"},
    "passages": {"programs"},
    "records": {"passages"},
    "report": {"compare", "folders", "passages", "programs", "review", "web"},
    "review": {"compare", "measuring", "merging"},
    "service": {"compare"},
    "spark": {"dedup", "passages", "tables"},
    "web": {"compare", "folders", "passages", "review", "words"},
}
"""The apps that an app imports, without which it is as good as missing."""
COMMANDS: dict[str, dict[str, Command]] = {
    "Find": {
        "query": Command("Find documents similar to a text, or to rows of a table."),
        "passages": Command("Find the passages that a text shares with documents.", "passages"),
        "pairs": Command("Find all pairs of similar documents."),
        "clusters": Command("Group similar documents, and show which one to keep."),
        "folders": Command("Find pairs of folders that share files.", "folders"),
        "compare": Command("Show why two documents are similar, or why not.", "compare"),
        "dedup": Command("Drop rows that are similar to an earlier row.", "dedup"),
        "gate": Command("Find what changes of a repository copy from its other files.", "gate"),
    },
    "Change": {
        "init": Command("Make a database with settings of your own."),
        "add": Command("Add files, folders and tables, or replace what has changed."),
        "sync": Command("Update the database from folders.", "folders"),
        "remove": Command("Remove documents."),
        "trash": Command("Move files that you decided to drop to a folder, or back.", "folders"),
        "review": Command("Review the clusters, and decide which documents stay.", "review"),
        "decide": Command("Store what you decided: keep, drop, or different.", "review"),
    },
    "Look": {
        "info": Command("Show the database's settings and size."),
        "show": Command("Show one document: sizes, metadata, signature, buckets."),
        "report": Command("Write a report of the near duplicates, as one HTML file.", "report"),
        "decisions": Command("List the decisions, and whether they still hold.", "review"),
        "sql": Command("Run a SELECT on the file's tables and views."),
        "tune": Command("Show which bands and rows fit a threshold and a recall."),
        "measure": Command("Measure what the index finds.", "measuring"),
    },
    "Maintain": {
        "check": Command("Check whether the file is whole."),
        "backup": Command("Copy the database, even while others write to it."),
        "reindex": Command("Rebuild the index for another threshold or shape."),
    },
    "Web and cluster": {
        "serve": Command("Show the database in a browser.", "web"),
        "mcp": Command("Give a language model tools for the database, by MCP.", "mcp"),
        "spark-dedup": Command("Drop near duplicates of more rows than a machine holds.", "spark"),
        "spark-passages": Command(
            "Find copied passages in more texts than a machine holds.", "spark"
        ),
    },
}
"""Every command, under the heading of `lshdb --help`."""
FILTERS = {"decisions": "lshdb.apps.review.decisions:Decided"}
"""What makes a search.pair_filters.PairFilter, by the part of a file that it reads."""
OF_OPTIONS = {
    "base": "lshdb.apps.passages.cli.base_texts:base_texts",
    "containment": "lshdb.apps.passages.containment:recall_note",
    "drop_list": "lshdb.apps.review.cli.proving:print_dropped",
    "decided": "lshdb.apps.review.decisions:keys_to_drop",
    "on_similar": "lshdb.apps.dedup.cli.skipped:on_skip",
    "set_item": "lshdb.apps.long_tables.element_rows:element_rows",
    "repair": "lshdb.apps.repair.repairing:repaired",
    "conclusion": "lshdb.apps.repair.cli.concluding:conclusion",
    "restore": "lshdb.apps.repair.cli.restoring:restore",
}
"""What does the work of options that the core has."""
DATABASES = {
    "documents of a database": "lshdb.apps.merging.merging:merged",
    "settings of a database": "lshdb.apps.merging.merging:first_settings",
}
"""What adds other databases; and the settings that a new database takes from them."""
MERGED = {"decisions": "lshdb.apps.review.storing_decisions:merged"}
"""What adds a part of one database to another one, after its documents; see apps.merging."""
CHECKS = {"decisions": "lshdb.apps.review.decisions:problems"}
"""What finds problems in a part that no texts give, by a guard.Connection of `check`."""
KINDS = {"code": "lshdb.apps.programs.kind:PROGRAMS"}
"""Kinds of shingles: a ShingleKind each (lshdb.text.kinds)."""
RULES = dict.fromkeys(
    ("exclude", "include", "tracked", "ignore"), "lshdb.apps.ignoring.rules:Rules"
)
"""What leaves files out of walks, by the option that asks for it: a lshdb.read.walking.Rules."""
LEFT_OUT = {
    "boilerplate": "lshdb.apps.programs.boilerplate:texts_without",
    "marks": "lshdb.apps.characters.marks:plain",
    "numbers": "lshdb.apps.characters.digits:alike",
}
"""What the endings of a shingle leave out, in this order: functions of texts, in which all that
stays has the same offsets."""
WEIGHTS = {"cjk": "lshdb.apps.characters.ideographs:IDEOGRAPHS"}
"""How many characters some count as, by the ending of a shingle: see lshdb.text.kinds."""
SKETCHES = {"minhash": "lshdb.apps.signatures.textbook:MinHashSketch"}
"""What else makes signatures: see lshdb.sketch.minhash.Sketch."""
READERS = {
    "documents": "lshdb.apps.documents.reader:DocumentReader",
    "archives": "lshdb.apps.documents.archives:Archives",
    "quotes between tabs": "lshdb.apps.tab_quotes.tab_fields:TabQuotes",
}
"""The readers of files that the core does not read: see lshdb.read.formats."""
METHODS = {
    "add_decisions": "lshdb.apps.review.methods:add_decisions",
    "add_signatures": "lshdb.apps.signatures.methods:add_signatures",
    "add_table": "lshdb.apps.tables.methods:add_table",
    "add_unless_similar": "lshdb.apps.compare.methods:add_unless_similar",
    "compare": "lshdb.apps.compare.methods:compare",
    "decide": "lshdb.apps.review.methods:decide",
    "decisions": "lshdb.apps.review.methods:decisions",
    "dedup_files": "lshdb.apps.dedup.methods:dedup_files",
    "find_words": "lshdb.apps.words.methods:find_words",
    "measure": "lshdb.apps.measuring.methods:measure",
    "passage_pairs": "lshdb.apps.passages.methods:passage_pairs",
    "passages": "lshdb.apps.passages.methods:passages",
    "query_signature": "lshdb.apps.signatures.methods:query_signature",
    "remove_decided": "lshdb.apps.review.methods:remove_decided",
    "signatures": "lshdb.apps.signatures.methods:signatures",
    "sync": "lshdb.apps.folders.methods:sync",
    "undo_decision": "lshdb.apps.review.methods:undo_decision",
    "undo_last_decisions": "lshdb.apps.review.methods:undo_last_decisions",
}
"""The functions that are methods of `Database`: its first argument is the database."""
RESULTS = {
    "df": "lshdb.apps.tables.arrow_results:to_frame",
    "to_arrow": "lshdb.apps.tables.arrow_results:to_arrow",
}
"""What makes tables of results: methods of lshdb.search.result_tables.Tabular."""
SELECTING = {"on_similar": "lshdb.apps.dedup.deciding:selecting"}
"""Makes what adds only documents that are not similar to others, of the options of `add_many`."""
_NAMES = {
    "lshdb.apps.compare.admission": "Admission Similar",
    "lshdb.apps.compare.model": "Change Comparison Passage Rename SharedBucket",
    "lshdb.apps.dedup.file_rows": "DecidedRow",
    "lshdb.apps.dedup.model": "DroppedRow",
    "lshdb.apps.folders.sync": "SyncChange SyncReport",
    "lshdb.apps.frames.frames": "Deduplicated dedup",
    "lshdb.apps.measuring.model": "Measured MeasuredRecall",
    "lshdb.apps.passages.model": "CommonPassage CopiedPassage PassagePair Passages Source",
    "lshdb.apps.passages.passage_pairs": "PassageResults",
    "lshdb.apps.repair.restoring": "Restored restore_backup",
    "lshdb.apps.review.decisions": "Decision",
    "lshdb.apps.signatures.model": "SignatureSet",
    "lshdb.apps.service.arrivals": "Arrived",
    "lshdb.apps.service.service": "Service ServiceStats",
    "lshdb.apps.words.model": "WordMatches",
    "lshdb.database": "Database open",
    "lshdb.errors": """
        Busy ColumnWarning ContentError Cut DamagedFile FailureWarning IgnoreWarning InputError
        KeyInUse KeyNotFound LimitWarning LshdbError NoDatabase NotADatabase OtherFormat
        QueryError ReadOnly SettingsError SettingsMismatch SettingsWarning StoreError UnsafeFile
        UsageError
    """,
    "lshdb.limits": "Limits",
    "lshdb.maintain.check": "check",
    "lshdb.maintain.choices": "Tuned tune",
    "lshdb.maintain.findings": "CheckReport Problem",
    "lshdb.model": """
        AddReport Bucket Cluster Document Failure Info Match Pair Reindexed StoredDocument
    """,
    "lshdb.search.result_tables": "Matches Results SqlRows",
    "lshdb.sketch.constructions": "Construction",
    "lshdb.sketch.settings": "Settings",
    "lshdb.apps.signatures.signature_sets": "Sketching",
    "lshdb.store.functions": "register_functions",
    "lshdb.text.shingling": "Shingling",
}
NAMES = {name: f"{module}:{name}" for module, names in _NAMES.items() for name in names.split()}
"""The names that `import lshdb` gives."""
_OPTIONS = {
    "compare": "DocumentArguments AdmissionOptions",
    "dedup": """
        ComparisonOptions EstimateOptions DropOptions RuleOptions RowsOptions DedupOutputs
        DedupOptions
    """,
    "frames": "DataOptions",
    "gate": "GateOptions",
    "measuring": "MeasureOptions",
    "repair": "RestoreOptions",
    "report": "ReportOptions",
    "passages": """
        CommonOptions CopiedOptions PassagePairsOptions PassagesOptions TextFieldOptions
    """,
    "review": "GroupingOptions ClusteringOptions",
    "service": "ArrivalOptions",
    "folders": "SyncOptions",
    "tables": "ColumnOptions AddTableOptions",
    "spark": """
        SparkOptions SparkWriteOptions BucketOptions SparkRuleOptions SparkPairsOptions
        SparkDedupOptions SparkPassagesOptions
    """,
}
OPTIONS = {
    name: f"lshdb.apps.{app}.options:{name}"
    for app, names in _OPTIONS.items()
    for name in names.split()
}
"""The groups of options of apps that `lshdb.options` also gives."""

PARTS = {
    "fingerprints": "lshdb.apps.passages.winnowing:PART",
    "rare_words": "lshdb.apps.passages.rare_words:PART",
    "record_shingles": "lshdb.apps.records.record_index:PART",
}
"""The parts of the index besides bands, each a lshdb.store.parts.IndexPart."""
TABLES = {
    "fingerprints": "passages",
    "rare_words": "passages",
    "record_shingles": "records",
    "decisions": "review",
    "runs": "dedup",
}
"""The parts that a file has whole or not at all, and the app of each. Its folder has the tables in
NAME.sql, and in `statements` WRITES, by name the texts that write to them (lshdb.store.schema)."""
WRITERS = dict.fromkeys(("parquet", "arrow", "arrows"), "lshdb.apps.tables.arrow_files:write_table")
"""What writes results to files that the core does not write, by the format."""
SEARCHES = {
    "distinguish": "lshdb.apps.numbers.numbers:same_numbers",
    "weighted": "lshdb.apps.passages.weights:Prints",
    "records": "lshdb.apps.records.records:Records",
    "containment": "lshdb.apps.passages.containment:matches",
    "group_by": "lshdb.apps.folders.folder_documents:in_folders",
    "sort": "lshdb.apps.passages.weights:ranking",
    "candidates": "lshdb.apps.measuring.sampling:forecast",
    "keep": "lshdb.apps.keeping.stored_order:ordered",
    "sample": "lshdb.apps.review.pair_sample:PairSample",
    "star": "lshdb.apps.keeping.stars:stars",
}
"""What a search takes from an app, by the option that asks for it."""


@cache
def is_there(app: str) -> bool:
    """Whether the folder of an app is there, with those of the apps it needs; "" is the core."""
    return not _lacking(app)


def _lacking(app: str) -> str:
    """The app without a folder for which an app is missing; "" for none."""
    try:
        if app and find_spec(f"lshdb.apps.{app}") is None:
            return app
    except ModuleNotFoundError:  # no app at all
        return app
    return next((_lacking(need) for need in sorted(NEEDS.get(app, ())) if not is_there(need)), "")


def missing(app: str) -> str:
    """What to say of an app that is not there: its folder is missing, or that of one it needs."""
    lacking = _lacking(app) or app
    needs = "" if lacking == app else f"which needs the app {lacking!r}, "
    return f"the app {app!r}, {needs}which is not installed"


def app_of(offer: str) -> str:
    """The app of an offer, a text like `lshdb.apps.review.decisions:Decided`; "" is the core."""
    return offer.split(".")[2] if offer.startswith("lshdb.apps.") else ""


def check_is_there(app: str, name: str) -> None:
    """UsageError, with the name of what is asked for, if its app or what that needs is missing."""
    if not is_there(app):
        from lshdb.errors import UsageError  # which `import lshdb` does not need

        raise UsageError(f"{name!r} belongs to {missing(app)}")


def offered(table: Mapping[str, str], name: str) -> Any:
    """What stands under a name in one of the tables of texts.

    Raises:
        UsageError: the app, or one that it needs, is not installed.
    """
    check_is_there(app_of(table[name]), name)
    module, _, attribute = table[name].partition(":")
    return getattr(import_module(module), attribute)
