"""Options that several commands share; a dataclass stands for the options that are its fields."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from lshdb import options
from lshdb.cli import files, messages, parameters, running
from lshdb.database import Database, opened
from lshdb.errors import UsageError
from lshdb.groups import Option, Options, uncommon
from lshdb.read import kinds, paths
from lshdb.read.outputs import is_stream
from lshdb.sketch.settings import Settings

# documents

ListSkipped = Annotated[
    bool, Option("Say of each file that is not read why.", section=options.INPUT)
]
AsKeys = Annotated[bool, uncommon("Take the arguments as keys, never as paths.", flags=("--key",))]
Null = Annotated[
    bool,
    uncommon("The listed keys or paths end with NUL bytes.", flags=("--null", "-0")),
]
BasePaths = Annotated[
    Sequence[str] | None,
    Option(
        "Text that counts nowhere: a task, a template; repeatable.",
        metavar="DIR|FILE",
        section=options.INDEX,
        common=True,
    ),
]
FailIfFound = Annotated[bool, uncommon("Exit with status 1 if anything is found.")]


NAMING = "--{}-field"
"""How messages name the options of lshdb.options.FieldOptions."""


# results

AsJson = Annotated[
    bool, Option("Print a JSON object per line.", flags=("--json",), section=options.OUTPUT)
]


class Form(Options):
    """Options for the format of a command's results.

    Raises:
        UsageError: more than one is given.
    """

    section = options.OUTPUT

    as_json: AsJson = False
    as_csv: Annotated[bool, Option("Print CSV.", flags=("--csv",))] = False
    output: Annotated[
        str | None,
        Option("Write to FILE.parquet, .csv or .jsonl.", metavar="FILE", flags=("--output", "-o")),
    ] = None
    heading: Annotated[
        bool | None,
        uncommon(
            "Name the columns. [default: in CSV, on a terminal]",
            flags=("--heading/--no-heading",),
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.as_json + self.as_csv + (self.output is not None) > 1:
            raise UsageError("give one of --json, --csv and --output")

    @property
    def is_text(self) -> bool:
        """Whether results are printed for people."""
        return not (self.as_json or self.as_csv or self.output)

    def check(self, *read: options.FileName) -> None:
        """UsageError if the file cannot be written, before any work.

        Args:
            read: the databases and files that the command reads.
        """
        if self.output is None:
            return
        is_named_file = not is_stream(os.path.join(os.curdir, self.output))
        if is_named_file and paths.format_of(self.output) == "text":
            suffixes = ", ".join(kinds.ROWS)
            raise UsageError(f"--output {self.output}: the name must end in {suffixes}")
        files.check_distinct([os.fspath(path) for path in read], [self.output])
        from lshdb.read import formats  # 15 ms, which a command that prints does not need

        formats.output_format(self.output, "jsonl")


# the database


def database_path(path: str) -> Path:
    """A path, as the option gives it; ValueError for an empty text, which Path takes for `.`."""
    if not path:
        raise ValueError("an empty text is not the name of a file")
    return Path(path)


class DatabaseFile(Options):
    """The option for which database."""

    db: Annotated[
        Path,
        Option(
            "The database. [default: $LSHDB_PATH or lsh.db]",
            metavar="FILE",
            flags=("--db", "-d"),
            variable="LSHDB_PATH",
            parse=database_path,
        ),
    ] = parameters.DATABASE

    def open(
        self,
        mode: options.Mode = "create",
        settings: options.SettingsOptions | None = None,
        root: options.FileName | None = None,
        made: Settings | None = None,
    ) -> Database:
        """Open the database; see lshdb.database.opened."""
        database, note = opened(
            options.OpenOptions(
                self.db,
                settings=settings or options.SettingsOptions(),
                mode=mode,
                timeout=running.timeout,
                root=root,
            ),
            made,
        )
        if note:
            messages.warn(f"lshdb: {note}")
        return database

    @property
    def is_filled(self) -> bool:
        """Whether the file holds a database: an empty file is none yet."""
        return self.db.exists() and self.db.stat().st_size > 0

    @property
    def is_there(self) -> bool:
        """Whether the user named a database, or the default one exists."""
        return self.db != parameters.DATABASE or self.db.exists()

    def reading(self, form: Form | None = None, *, temporary: bool = False) -> Database:
        """Open the database to read it, and give results in this form.

        Ctrl-C then ends the process at once, until there is a file to clean up: that of the
        results, or a temporary one.
        """
        if form is not None:
            form.check(self.db)
            if not temporary:
                running.end_on_interrupt()
        return self.open("read")
