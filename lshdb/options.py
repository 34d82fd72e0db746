"""Every option, declared once: for the library, the command line and the docs.

Those of apps are in lshdb/apps/NAME/options.py; `lshdb.options` gives their groups, too.

To add one: a line here, in its group (see lshdb.groups), and one use of it. Types of its arguments,
for type checkers and editors, are in options.pyi, which scripts/site/option_types.py writes.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from lshdb.errors import LONGEST_TIMEOUT, TIMEOUT, SettingsError, UsageError
from lshdb.groups import Option, Options, ValueKind, argument, proportion, uncommon
from lshdb.limits import DEFAULTS, Limits
from lshdb.offers import OPTIONS, offered
from lshdb.progress import Progress

if TYPE_CHECKING:
    from lshdb.model import AddReport, Failure
    from lshdb.text.shingling import Content


def __getattr__(name: str) -> object:
    """Groups of apps."""
    if name not in OPTIONS:
        raise AttributeError(f"module 'lshdb.options' has no attribute {name!r}")
    return offered(OPTIONS, name)


OnConflict = Literal["replace", "keep", "error"]
"""What happens to a document whose key has another content or metadata."""
Format = Literal["auto", "text", "jsonl", "json", "csv", "tsv", "parquet", "arrow", "xlsx"]
"""How a file holds documents; `auto` goes by its suffix."""
Mode = Literal["create", "read", "write"]
FileName = str | os.PathLike[str]
SqlValue = str | int | float | bytes | None
Parameters = Sequence[SqlValue] | Mapping[str, SqlValue]
"""Values for each ? in SQL, or for each :name."""

INPUT, MATCHING, OUTPUT, INDEX, ADVANCED = "Input", "Matching", "Output", "Index", "Advanced"
STAYS, REFERENCES, CUTTING = "What stays", "Compare with", "Cut"
"""Headings of help pages; options of a group may have none."""

# values as the command line writes them


def names_of_text(text: str) -> list[str]:
    """Names with commas between them."""
    names = [name for name in text.split(",") if name]
    if not names:
        raise ValueError(f"{text!r} is not NAME,NAME")
    return names


def size_of_text(text: str) -> int:
    """A number of bytes, such as 500, 10K, 1.5M or 2G."""
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([KMGT]?)", text.upper().removesuffix("B"))
    if match is None:
        raise ValueError(f"{text!r} is not a size, such as 500, 10K, 1.5M or 2G")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2] or " "))


def number_or(word: str, value: int | str) -> Callable[[str], int | str]:
    """What makes a value of a text that is an integer, or this word."""

    def parse(text: str) -> int | str:
        if text == word:
            return value
        if re.fullmatch(r"[+-]?[0-9]{1,100}", text) is None:
            raise ValueError(f"{text!r} is not an integer and not {word}")
        return int(text)

    return parse


# options that several groups have


def _key(name: str, value: object) -> str:
    from lshdb.keys import key_argument  # imports numpy, which --help does not need

    return key_argument(name, value)


def _keys(name: str, values: object) -> list[str]:
    from lshdb.keys import key_arguments

    return key_arguments(name, values)


_READER: ValueKind = ("a reader of files", lambda value: hasattr(value, "batches"))
Threshold = Annotated[float | None, proportion("Minimum similarity. [default: the database's]")]
Top = Annotated[int | None, Option("Maximum number, best first. [default: all]", min=1)]
StoredKey = Annotated[
    Any,
    Option("A stored document, by its key.", metavar="KEY", convert=_key),
]
Estimate = Annotated[bool, uncommon("Faster: estimate from signatures.", section=MATCHING)]
Distinguish = Annotated[
    Literal["numbers"] | None,
    uncommon("Texts are similar only with the same numbers in order."),
]
WhereParameters = Annotated[
    Parameters,
    Option(
        "Value of a ? in the SQL; repeatable. VALUE:text is a text, also of digits.",
        metavar="VALUE",
        flags=("--parameter", "-p"),
    ),
]
FieldNames = Annotated[
    Sequence[str],
    uncommon(
        "Add these fields, or the text, to each result.",
        metavar="NAME,...",
        parse=names_of_text,
    ),
]
KeepOrder = Annotated[
    Literal["first", "last", "longest", "newest", "oldest", "shortest-path"],
    Option(
        "Which row or document stays. [default: first]",
    ),
]
OwnLimits = Annotated[Limits, argument("Sizes of batches, see lshdb.Limits.")]
DatabasePath = Annotated[FileName, argument("The file.")]
OnProgress = Annotated[
    bool | Progress,
    argument("True for a bar; or a function, called with done, total (or None) and unit."),
]
Encoding = Annotated[
    str | None,
    Option("Of texts. [default: UTF-8, or the BOM's]", metavar="NAME", section=INPUT),
]
Exclude = Annotated[
    Sequence[str],
    Option("Skip files that match, such as '*.min.js'.", metavar="GLOB", section=INPUT),
]
Root = Annotated[
    FileName | None,
    Option("Keys are paths from DIR. [default: the database's]", metavar="DIR", section=INPUT),
]
GroupBy = Annotated[
    FileName | None,
    Option("Each folder is one document.", metavar="folder|DIR|N|GLOB"),
]


def character(text: str) -> str:
    """A character as the command line writes it, where a backslash and t are a tab."""
    return "\t" if text == "\\t" else text


AnyReader = Annotated[
    Any,
    argument("A reader of files, instead of the options for one.", kind=_READER),
]
WorkerCount = Annotated[
    int | None, argument("Processes that sign beside this one; None: the processors to spare.")
]
OnFailure = Annotated[
    "Callable[[Failure], None] | None",
    argument("Called with each file, line and row that gives no document."),
]
SampleSeed = Annotated[int, uncommon("Seed of samples.", min=0)]
Timeout = Annotated[
    float,
    argument("Seconds to wait while another process writes.", min=0, max=LONGEST_TIMEOUT),
]


# settings of a file

IndexThreshold = Annotated[
    float | None,
    proportion("Minimum Jaccard similarity. [default: 0.8]", section="", common=True),
]
IndexRecall = Annotated[
    float | None, proportion("Share of the pairs at the threshold to find. [default: 0.99]")
]


class ShapeOptions(Options):
    """What an index is made for; None for what is not given."""

    section = INDEX

    error = SettingsError

    threshold: IndexThreshold = None
    recall: IndexRecall = None
    bands: Annotated[int | None, Option("Bands of the index, with rows; else by recall.")] = None
    rows: Annotated[int | None, Option("Rows of a band, with bands.")] = None
    construction: Annotated[
        str | None,
        Option(
            'Bands and rows as one text, "and ROWS, or BANDS", or a cascade of levels, '
            'innermost first: "and 4, or 4, and 4, or 4".',
            metavar="TEXT",
        ),
    ] = None
    passages: Annotated[
        int | None,
        Option(
            "Also index passages of this many words. [default: off]",
            metavar="WORDS",
            parse=number_or("off", 0),
            common=True,
        ),
    ] = None


class ShingleOptions(Options):
    """What is compared, and by which hashes; None for what is not given."""

    section = INDEX

    error = SettingsError

    shingle: Annotated[
        str | None,
        Option(
            "Compare runs of words, characters or a program's tokens, or sets. [default: word:3]",
            metavar="word:W|char:K|code:K|set|bag",
            common=True,
        ),
    ] = None
    ignoring: Annotated[
        Literal["numbers", "marks"] | None,
        Option(
            "Texts that differ in digits, or in accents and other marks, are equal.",
            flags=("--ignore",),
        ),
    ] = None
    seed: Annotated[
        int | Literal["random"] | None,
        Option(
            "Seed of all hashes; random if strangers add documents. [default: 1]",
            metavar="INTEGER|random",
            parse=number_or("random", "random"),
        ),
    ] = None


BaseTexts = Annotated[
    Mapping[str, str] | None,
    argument("Texts by names, whose shingles and passages count nowhere: a template, a task."),
]


class PurposeOptions(Options):
    """What kind of documents a file is made for."""

    section = INDEX
    error = SettingsError

    purpose: Annotated[
        Literal["short-text", "records", "documents", "scans", "programs", "baskets"] | None,
        Option(
            "Shingle and threshold for such documents; for programs also passages of 12; records "
            "and scans are compared by what is rare in both.",
            flags=("--for",),
            common=True,
        ),
    ] = None


class SettingsOptions(Options):
    """What a file is made with; None for what is not given."""

    section = INDEX
    error = SettingsError

    shape: ShapeOptions
    shingles: ShingleOptions
    kind: PurposeOptions

    reworded: Annotated[bool | None, Option("Also index rare words, to find reworded copies.")] = (
        None
    )
    permutations: Annotated[
        int | None, Option("Lanes of a signature. [default: 128, or what bands need]")
    ] = None
    sketch: Annotated[
        str | None, Option("Kind of signature. [default: fast]", metavar="fast|minhash")
    ] = None
    content: Annotated[
        bool | None,
        Option("Keep signatures only; results are estimates.", flags=("--no-content",)),
    ] = None
    base: BaseTexts = None

    def __post_init__(self) -> None:
        # A command without the flag asks for nothing, as where it is None.
        object.__setattr__(self, "reworded", self.reworded or None)


class OpenOptions(Options):
    """Options of `lshdb.open`."""

    settings: SettingsOptions

    path: DatabasePath = field(default="lsh.db", kw_only=False)
    mode: Annotated[
        Mode, argument("`create` makes the file if there is none; the others need one.")
    ] = "create"
    timeout: Timeout = TIMEOUT
    limits: OwnLimits = DEFAULTS
    check_settings: Annotated[
        bool,
        argument("Whether a file whose index has other settings is refused, not only reported."),
    ] = False
    root: Root = None


class ReindexOptions(Options):
    """Options of `Database.reindex`."""

    section = INDEX
    error = SettingsError

    shape: ShapeOptions

    reworded: Annotated[
        bool | Literal["on", "off"] | None,
        Option(
            "Whether rare words are indexed, to find reworded copies.",
            metavar="on|off",
        ),
    ] = None
    base: BaseTexts = None
    progress: OnProgress = False


# reading


class WalkingOptions(Options):
    """Which files of directories are read."""

    section = INPUT

    exclude: Exclude = ()

    include: Annotated[
        Sequence[str], Option("Read only files that match one of these.", metavar="GLOB")
    ] = ()
    hidden: Annotated[bool, Option("Also read hidden files, but not .git.")] = False
    follow: Annotated[bool, Option("Also read directories that links lead to.")] = False
    ignore: Annotated[bool, Option("Read what .gitignore and .lshdbignore exclude.")] = True
    tracked: Annotated[
        bool, Option("Read only files that git tracks, also hidden and ignored ones.")
    ] = False
    max_filesize: Annotated[
        int | None,
        Option("Skip files larger than this: 500K, 10M.", metavar="SIZE", parse=size_of_text),
    ] = None


class FilesOptions(Options):
    """Which files of directories are read as texts or tables."""

    section = INPUT

    walk: WalkingOptions

    archives: Annotated[bool, Option("Read ZIP and tar files as directories.")] = False


KeyField = Annotated[str, Option("Field or column of the key.", metavar="NAME", common=True)]
TextField = Annotated[
    str, Option("Of the text; also a,b, a.b or a[].b.", metavar="NAME", common=True)
]


class FieldOptions(Options):
    """The fields of a JSON line, or the columns of a table."""

    section = INPUT

    key_field: KeyField = "id"
    text_field: TextField = "text"
    set_field: Annotated[str, Option("Of the set.", metavar="NAME")] = "set"


class DocumentOptions(Options):
    """How PDF, Word, web pages, books and mail become texts."""

    section = INPUT

    documents: Annotated[bool, Option("Skip PDF and the like; read HTML and mail as they are.")] = (
        True
    )
    extract_timeout: Annotated[
        float,
        Option(
            "Time to read one PDF or the like.", above=0, max=LONGEST_TIMEOUT, metavar="SECONDS"
        ),
    ] = 60.0
    quotes: Annotated[bool, Option("Leave out the quoted lines of mail.")] = True
    convert: Annotated[
        Sequence[str],
        Option("Program that prints such files' text.", metavar="'SUFFIX=COMMAND {}'"),
    ] = ()


class TextOptions(Options):
    """How bytes become texts."""

    section = INPUT

    extraction: DocumentOptions
    encoding: Encoding = None

    strict: Annotated[bool, Option("Refuse bad bytes instead of replacing them.")] = False


class TableOptions(Options):
    """How files hold documents: their format, and the marks of CSV."""

    section = INPUT

    format: Annotated[Format, Option("Of all files. [default: by suffix]", metavar="FORMAT")] = (
        "auto"
    )
    delimiter: Annotated[
        str | None,
        Option("Between fields of CSV. [default: by line 1]", metavar="CHARACTER", parse=character),
    ] = None
    escape: Annotated[
        str | None,
        Option("Before a quote within a field of CSV.", metavar="CHARACTER", parse=character),
    ] = None
    quoting: Annotated[
        Literal["csv", "none"] | None,
        Option(
            "Quoted fields. [default: csv; of TSV, where it can be]",
            flags=("--quotes",),
        ),
    ] = None


class LongTableOptions(Options):
    """The columns of a long table, whose rows each have one element of a set."""

    section = INPUT

    set_key: Annotated[
        str | None,
        Option("Column of sets' keys, if a row is one element.", metavar="NAME"),
    ] = None
    set_item: Annotated[str | None, Option("Column of the element.", metavar="NAME")] = None

    def __post_init__(self) -> None:
        if (self.set_key is None) != (self.set_item is None):
            raise UsageError("--set-key (set_key=) and --set-item (set_item=) go together")


class QueriesOptions(Options):
    """How files become queries."""

    sets: LongTableOptions
    texts: TextOptions
    names: FieldOptions
    table: TableOptions


class ReadingOptions(Options):
    """How files become documents."""

    section = INPUT

    texts: TextOptions
    names: FieldOptions
    table: TableOptions

    auto_key: Annotated[bool, Option("Rows without a key get FILE:NUMBER.")] = False
    metadata: Annotated[bool, Option("Leave out the other fields.")] = True
    metadata_fields: Annotated[
        Sequence[str],
        Option("Keep only these fields.", metavar="NAME,...", parse=names_of_text),
    ] = ()


# adding


class WritingOptions(Options):
    """Options of what writes many documents."""

    workers: WorkerCount = None
    on_batch: Annotated[
        "Callable[[AddReport], None] | None",
        argument("Called with the report of each batch when it is safely in the file."),
    ] = None
    progress: OnProgress = False


class AddManyOptions(Options):
    """Options of `Database.add_many`."""

    write: WritingOptions

    on_similar: Annotated[
        Literal["keep", "skip"],
        Option("skip leaves out similar documents. [default: keep]"),
    ] = "keep"
    on_skip: Annotated[
        Callable[[Any], None] | None,
        argument("Called with a DroppedRow for each document left out, once its batch is stored."),
    ] = None
    on_conflict: Annotated[
        OnConflict,
        Option(
            "For a key that has another document. [default: replace]",
        ),
    ] = "replace"

    def __post_init__(self) -> None:
        if self.on_similar == "skip" and self.on_conflict != "replace":
            raise UsageError(
                f"on_conflict {self.on_conflict} cannot be combined with skip, which leaves out "
                "similar documents"
            )


class AddFilesOptions(Options):
    """Options of `Database.add_files`."""

    sets: LongTableOptions
    files: FilesOptions
    read: ReadingOptions
    add: AddManyOptions

    root: Root = None
    reader: AnyReader = None
    on_failure: OnFailure = None


# similar documents


class ConditionOptions(Options):
    """Which documents are meant."""

    section = MATCHING

    where: Annotated[
        str | None, Option("Only documents that match this expression.", metavar="SQL", common=True)
    ] = None
    parameters: WhereParameters = ()

    def __post_init__(self) -> None:
        if self.where is None and self.parameters:
            raise UsageError("where is not given: parameters (-p) are its values")


def check_numbers_compared(options: Any) -> None:
    """UsageError for options that compare estimates as well as numbers."""
    if options.distinguish and options.estimate:
        raise UsageError("distinguish compares contents: give no estimate")


class SimilarOptions(Options):
    """Which similar documents are found, and what comes with each."""

    condition: ConditionOptions

    top: Top = None
    threshold: Threshold = None
    estimate: Estimate = False
    distinguish: Distinguish = None
    fields: FieldNames = ()

    def __post_init__(self) -> None:
        check_numbers_compared(self)
        self.__dict__["fields"] = tuple(dict.fromkeys(self.fields))  # each once


class WeightedOptions(Options):
    """How results are ordered and chosen by their similarity weighted by rarity."""

    sort: Annotated[
        Literal["weighted", "weighted_share"] | None,
        uncommon("Best first by this column."),
    ] = None
    min_weighted: Annotated[
        float | None, uncommon("Minimum similarity weighted by rarity.", min=0, max=1)
    ] = None


class RankingOptions(Options):
    """How documents are found for a query, and ranked."""

    section = MATCHING

    similar: SimilarOptions
    weighted: WeightedOptions

    exhaustive: Annotated[bool, Option("Slower: compare with all documents.")] = False
    containment: Annotated[bool, Option("Rank by the share of the query held.")] = False


class QueryOptions(Options):
    """Options of `Database.query`."""

    ranking: RankingOptions

    content: Annotated["Content | None", argument("The document to compare with; or")] = field(
        default=None, kw_only=False
    )
    key: StoredKey = None

    def __post_init__(self) -> None:
        if (self.content is None) == (self.key is None):
            raise UsageError("a query takes either a document or a key")


class QueryManyOptions(Options):
    """Options of `Database.query_many`."""

    ranking: RankingOptions

    workers: WorkerCount = None
    progress: OnProgress = False


class JoinOptions(Options):
    """Which pairs of documents are compared."""

    similar: SimilarOptions
    group_by: GroupBy = None

    key: StoredKey = None
    ignore_decisions: Annotated[
        bool,
        uncommon(
            "Ignore decisions: see lshdb decide.",
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.group_by is not None and self.similar.fields:
            raise UsageError("a folder has no fields: give one of group_by and fields")


class PairsOptions(Options):
    """Options of `Database.pairs`."""

    join: JoinOptions
    weighted: WeightedOptions

    max_similarity: Annotated[
        float | None,
        proportion("Maximum similarity: no pairs above this. [default: 1]"),
    ] = None
    sample: Annotated[
        int | None, Option("Number of pairs to draw at random from all that match.", min=1)
    ] = None
    seed: Annotated[int | None, uncommon("Seed of the sample. [default: 1]", min=0)] = None

    def __post_init__(self) -> None:
        if self.join.similar.threshold is not None:
            self.check_range(self.join.similar.threshold)
        if self.sample is not None and self.join.similar.top is not None:
            raise UsageError("give one of sample and top: a sample has any pairs, top the best")
        if self.seed is not None and self.sample is None:
            raise UsageError("seed is for a sample: give sample, too")

    def check_range(self, threshold: float) -> None:
        """UsageError if no similarity is from the threshold to the maximum."""
        if self.max_similarity is not None and self.max_similarity < threshold:
            raise UsageError(
                f"max_similarity {self.max_similarity} is below the threshold {threshold}: give a "
                "lower threshold"
            )


class RemovalOptions(Options):
    """Which documents are removed, besides those of some keys."""

    condition: ConditionOptions

    missing_ok: Annotated[bool, Option("Pass over keys that no document has.")] = False

    decided: Annotated[bool, Option("Remove documents that were decided to drop.")] = False
    dry_run: Annotated[bool, Option("Print the keys, but remove nothing.")] = False


class RemoveOptions(Options):
    """Options of `Database.remove`."""

    removal: RemovalOptions

    keys: Annotated[Any, argument("A key, or several; or", convert=_keys)] = field(
        default=None, kw_only=False
    )

    def __post_init__(self) -> None:
        removal = self.removal
        if (self.keys is not None) + (removal.condition.where is not None) + removal.decided != 1:
            raise UsageError("give one of keys, where and decided")
        if removal.missing_ok and self.keys is None:
            raise UsageError("missing_ok (--missing-ok) is for keys")


class OrderOptions(Options):
    """Which of similar documents stays."""

    section = STAYS

    keep: KeepOrder = "first"
    keep_max: Annotated[
        str | None, uncommon("Keep the largest value of this field.", metavar="FIELD")
    ] = None
    keep_min: Annotated[str | None, uncommon("Keep the smallest one.", metavar="FIELD")] = None
    unordered: Annotated[
        Literal["stop", "last"],
        uncommon("Of a value that does not compare with others."),
    ] = "stop"
    keep_in: Annotated[str | None, uncommon("Prefer what is in this folder.", metavar="DIR")] = None

    def __post_init__(self) -> None:
        if self.unordered != "stop" and not self.field:
            raise UsageError("unordered is for keep_max and keep_min")
        given = self.keep != "first", self.keep_max is not None, self.keep_min is not None
        if sum(given) > 1:
            raise UsageError("give one of keep, keep_max and keep_min")

    @property
    def field(self) -> str:
        """The field by whose values documents are kept; empty without one."""
        return self.keep_max or self.keep_min or ""

    @property
    def ordered(self) -> bool:
        """Whether documents have another order than that in which they come."""
        return self.keep != "first" or bool(self.field) or self.keep_in is not None


class StarOptions(Options):
    """How similar documents make clusters, and which of each is kept."""

    order: OrderOptions
    star: Annotated[bool, uncommon("Make every member similar to the kept one itself.")] = False


class ClustersOptions(Options):
    """Options of `Database.clusters`."""

    join: JoinOptions
    clusters: StarOptions

    min_size: Annotated[
        int | None,
        Option("Minimum number of members; 1 for single documents, too. [default: 2]", min=1),
    ] = None
    max_size: Annotated[int | None, uncommon("Maximum number of members.", min=1)] = None

    def __post_init__(self) -> None:
        if self.max_size is not None and self.max_size < (self.min_size or 2):
            raise UsageError(f"max_size {self.max_size} is below {self.min_size or 2}, min_size")


# choosing an index


class TuneOptions(Options):
    """Options of `Database.tune`; by default the database's own values."""

    threshold: Annotated[
        float | None, proportion("Minimum similarity. [default: its own, or 0.8]")
    ] = None
    recall: Annotated[
        float | None, proportion("Share of pairs to find. [default: its own, or 0.99]")
    ] = None
    permutations: Annotated[
        int | None, Option("Lanes of a signature. [default: its own, or 128]", min=16, max=4096)
    ] = None
    documents: Annotated[
        int | None,
        uncommon("Size of the collection to predict for. [default: its own]", min=0),
    ] = None
    construction: Annotated[str | None, Option("Also judge this construction.", metavar="TEXT")] = (
        None
    )
    seed: SampleSeed = 1


# keeping the file


class RepairOptions(Options):
    """What is checked, and whether it is repaired."""

    deep: Annotated[bool, Option("Also shingle and sign all contents again, and compare.")] = False
    repair: Annotated[bool, Option("Repair what can be derived, in one transaction.")] = False
    progress: OnProgress = False


class CheckOptions(Options):
    """Options of `lshdb.check`."""

    repairs: RepairOptions

    path: DatabasePath = field(default="lsh.db", kw_only=False)
    timeout: Timeout = TIMEOUT


class BackupOptions(Options):
    """Options of `Database.backup`."""

    replace: Annotated[bool, Option("Replace an existing file.")] = False
    progress: OnProgress = False
