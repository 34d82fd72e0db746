"""Options that several commands share; a dataclass stands for the options that are its fields."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

import typer

from lshdb.cli.files import STDOUT, check_distinct
from lshdb.cli.running import end_on_interrupt
from lshdb.errors import UsageError
from lshdb.sources.paths import Format

if TYPE_CHECKING:
    from lshdb.database import Database
    from lshdb.sources.walking import Rules

_DATABASE: Final = Path("lsh.db")
_KEYS_OFFERED: Final = 100
_SUFFIXES: Final = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")

# documents


def size_given(text: str) -> int:
    """A number of bytes from the command line, such as 500, 10K, 1.5M or 2G."""
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([KMGT]?)", text.upper().removesuffix("B"))
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a size, such as 500, 10K, 1.5M or 2G")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2] or " "))


def check_format(format: str) -> None:
    """UsageError if this is not a format of input."""
    *others, last = get_args(Format)
    if format not in (*others, last):
        raise UsageError(f"--format {format} is not {', '.join(others)} or {last}")


@dataclass(frozen=True, slots=True)
class Walking:
    """Options for which files in directories are read, and what their keys are."""

    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Skip files that match, such as '*.min.js'.",
        ),
    ] = None
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Read only files that match one of these."),
    ] = None
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Also read hidden files, but not .git.")
    ] = False
    no_ignore: Annotated[
        bool,
        typer.Option("--no-ignore", help="Read what .gitignore and .lshdbignore exclude."),
    ] = False
    max_filesize: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", parser=size_given, help="Skip files larger than this: 500K, 10M."
        ),
    ] = None
    root: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Keys of files are paths from DIR. [default: .]",
        ),
    ] = None
    list_skipped: Annotated[
        bool,
        typer.Option("--list-skipped", help="Say of each file that is not read why."),
    ] = False

    def rules(self) -> Rules:
        """Which files are read."""
        from lshdb.sources.walking import Rules

        return Rules(
            self.exclude or (),
            self.include or (),
            self.hidden,
            not self.no_ignore,
            self.max_filesize,  # type: ignore[arg-type]  # parsed
        )


WALKING: Final = Walking()


def key_given(text: str) -> str:
    """A key from the command line: a file name that is not UTF-8 becomes the key that add gave."""
    from lshdb.sources.paths import printable_path

    return printable_path(text)


def completed_keys(context: typer.Context, incomplete: str) -> list[str]:
    """The database's keys with this prefix, for the shell; none if it cannot be read.

    Unprintable keys are left out: the shell would show them unescaped.
    """
    import lshdb

    path = context.params.get("db") or os.environ.get("LSHDB_PATH") or _DATABASE
    try:
        with lshdb.open(path, mode="read", timeout=0) as database:
            keys = database.keys_with_prefix(incomplete, _KEYS_OFFERED)
    except lshdb.LshdbError:
        return []
    return [key for key in keys if key.isprintable()]


key_argument = partial(typer.Argument, parser=key_given, autocompletion=completed_keys)
"""An argument of keys of stored documents."""
Estimate: TypeAlias = Annotated[
    bool,
    typer.Option("--estimate", help="Faster: estimate from signatures."),
]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Refuse bad bytes instead of replacing them.")
]
InputFormat: TypeAlias = Annotated[
    str,
    typer.Option(metavar="FORMAT", help="Of all files. [default: by suffix]", show_default=False),
]
Encoding: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of texts. [default: UTF-8, or the BOM's]",
    ),
]
Threshold: TypeAlias = Annotated[
    float | None, typer.Option(help="Minimum similarity. [default: the database's]")
]
Top: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Maximum number, best first. [default: all]")
]
Keep: TypeAlias = Annotated[
    str, typer.Option(metavar="first|longest|last", help="Which of similar ones to keep.")
]
Star: TypeAlias = Annotated[
    bool, typer.Option("--star", help="Make every member similar to the kept one itself.")
]
StoredKey: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        parser=key_given,
        autocompletion=completed_keys,
        help="A stored document, by its key.",
    ),
]
Who: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Who decides. [default: your user name]")
]
FailIfFound: TypeAlias = Annotated[
    bool, typer.Option("--fail-if-found", help="Exit with status 1 if anything is found.")
]


def names_given(text: str) -> list[str]:
    """Names from the command line, with commas between them."""
    names = [name for name in text.split(",") if name]
    if not names:
        raise typer.BadParameter(f"{text!r} is not NAME,NAME")
    return names


Shown: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--fields",
        metavar="NAME,...",
        parser=names_given,
        help="Also print these fields, or the text.",
    ),
]
"""Parsed: a list of names, or None."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The options that name the fields of a JSON line, or the columns of a table."""

    key_field: Annotated[str, typer.Option(metavar="NAME", help="Field or column of the key.")] = (
        "id"
    )
    text_field: Annotated[
        str,
        typer.Option(metavar="NAME", help="Of the text; also a,b or a.b."),
    ] = "text"
    set_field: Annotated[str, typer.Option(metavar="NAME", help="Of the set.")] = "set"


FIELDS: Final = Fields()
NAMING: Final = "--{}-field"
"""The options of `Fields`, for messages."""


@dataclass(frozen=True, slots=True)
class ReferenceFields:
    """The same of a reference, for texts and sets; None for the names of the input."""

    against_key_field: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Key of --against. [default: --key-field]"),
    ] = None
    against_text_field: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its text or set. [default: --text-field]")
    ] = None

    def check(self, against: str | None) -> None:
        """UsageError for names without a reference."""
        for name, value in asdict(self).items():
            if value is not None and against is None:
                raise UsageError(f"--{name.replace('_', '-')} is for the rows of --against")

    def given(self, fields: Fields) -> dict[str, Any]:
        """The names for the reference, by those of `Fields`."""
        return {
            "key_field": self.against_key_field or fields.key_field,
            "text_field": self.against_text_field or fields.text_field,
            "set_field": self.against_text_field or fields.set_field,
        }


REFERENCE_FIELDS: Final = ReferenceFields()
REFERENCE_NAMING: Final = "--against-text-field"


# results

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print a JSON object per line.")]


@dataclass(frozen=True, slots=True)
class Form:
    """Options for the format of a command's results.

    Raises:
        UsageError: more than one is given, or the file's suffix names no format.
    """

    as_json: AsJson = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to FILE.parquet, .csv or .jsonl.",
        ),
    ] = None
    heading: Annotated[
        bool | None,
        typer.Option(
            "--heading/--no-heading",
            help="Name the columns. [default: in CSV, on a terminal]",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.as_json + self.as_csv + (self.output is not None) > 1:
            raise UsageError("give one of --json, --csv and --output")
        if self.output is not None and not self.output.lower().endswith(_SUFFIXES):
            raise UsageError(f"--output {self.output}: the name must end in {', '.join(_SUFFIXES)}")

    @property
    def is_text(self) -> bool:
        """Whether results are printed for people."""
        return not (self.as_json or self.as_csv or self.output)

    @property
    def is_parquet(self) -> bool:
        """Whether results go to a file of Parquet."""
        return self.output is not None and self.output.lower().endswith(".parquet")

    def check(self, *read: str | os.PathLike[str]) -> None:
        """UsageError if the file cannot be written, before any work.

        Args:
            read: the databases and files that the command reads.
        """
        if self.output is None:
            return
        names = [os.fspath(path) for path in read]
        logs = [name + end for name in names if name != STDOUT for end in ("-wal", "-shm")]
        check_distinct([*names, *logs], [self.output])
        if self.is_parquet:
            from lshdb.sources.sinks import arrow

            arrow()


TEXT: Final = Form()

# the database

Timeout: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", help="Wait while another process writes.")
]
DEFAULT_TIMEOUT: Final = 30.0
"""The default of lshdb.open, which is not imported for --help."""


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """Options for which database, and how long to wait for it."""

    db: Annotated[
        Path,
        typer.Option(
            "--db",
            "-d",
            envvar="LSHDB_PATH",
            show_envvar=False,
            show_default=False,
            metavar="FILE",
            help="The database. [default: $LSHDB_PATH or lsh.db]",
            readable=False,  # the store reports it
        ),
    ] = _DATABASE
    timeout: Timeout = DEFAULT_TIMEOUT

    def open(
        self, mode: Literal["create", "read", "write"] = "create", **settings: Any
    ) -> Database:
        """Open the database; see lshdb.open."""
        import lshdb

        return lshdb.open(self.db, mode=mode, timeout=self.timeout, **settings)

    @property
    def is_there(self) -> bool:
        """Whether the user named a database, or the default one exists."""
        return self.db != _DATABASE or self.db.exists()

    def reading(self, form: Form | None = None) -> Database:
        """Open the database to read it, and give results in this form.

        Ctrl-C then ends the process at once, unless there is a file to clean up.
        """
        if form is not None:
            form.check(self.db)
            if form.output is None:
                end_on_interrupt()
        return self.open("read")


DATABASE: Final = DatabaseFile()

# what a new file is made with

Bands: TypeAlias = Annotated[
    int | None,
    typer.Option(help="Bands of the index, with --rows; else by recall."),
]
Rows: TypeAlias = Annotated[int | None, typer.Option(help="Rows of a band, with --bands.")]
Construction: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help='Bands and rows as one text, "and ROWS, or BANDS", or a cascade of levels, '
        'innermost first: "and 4, or 4, and 4, or 4".',
    ),
]


def seed_given(text: str) -> int | str:
    """A seed from the command line, an integer or `random`."""
    if text != "random" and re.fullmatch(r"[+-]?[0-9]{1,100}", text) is None:
        raise typer.BadParameter(f"{text!r} is not an integer and not random")
    return text if text == "random" else int(text)


def passages_given(text: str) -> int:
    """Words of the shortest passage from the command line, 0 for `off`."""
    if text != "off" and re.fullmatch(r"[0-9]{1,9}", text) is None:
        raise typer.BadParameter(f"{text!r} is not a number of words and not off")
    return 0 if text == "off" else int(text)


@dataclass(frozen=True, slots=True)
class NewSettings:
    """Options for the settings of a new file; None if not given."""

    threshold: Annotated[
        float | None,
        typer.Option(help="Minimum Jaccard similarity. [default: 0.8]"),
    ] = None
    recall: Annotated[
        float | None,
        typer.Option(help="Share of the pairs at the threshold to find. [default: 0.99]"),
    ] = None
    shingle: Annotated[
        str | None,
        typer.Option(
            metavar="word:W|char:K|set",
            help="Compare runs of words or characters, or sets. [default: word:3]",
        ),
    ] = None
    permutations: Annotated[
        int | None,
        typer.Option(help="Lanes of a signature. [default: 128, or what bands need]"),
    ] = None
    bands: Bands = None
    rows: Rows = None
    construction: Construction = None
    sketch: Annotated[
        str | None, typer.Option(metavar="fast|minhash", help="Kind of signature. [default: fast]")
    ] = None
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="INTEGER|random",
            parser=seed_given,
            help="Seed of all hashes; random if strangers add documents. [default: 1]",
        ),
    ] = None
    passages: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            parser=passages_given,
            help="Also index passages of this many words. [default: off]",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Arguments for the library."""
        return asdict(self)


SETTINGS: Final = NewSettings()
