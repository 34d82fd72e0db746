"""The command spark-dedup: near duplicates among more documents than a machine holds."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from lshdb.cli.messages import message, warn
from lshdb.cli.options import FIELDS, SETTINGS, AsJson, Fields, NewSettings
from lshdb.cli.results import json_line

if TYPE_CHECKING:
    from lshdb.model import Settings

_FORMATS = {"parquet": "parquet", "jsonl": "json"}
"""Spark's names of ours."""
_JSONL = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
_SQLITE = b"SQLite format 3\0"
_DEFAULTS = {
    # Of documents that Spark hands to Python in one batch.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    # Spark's own default, INT96, loses the time zone of a column.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings of Spark, unless --conf says otherwise."""


def spark_dedup(
    input: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="Parquet or JSON lines: a file or directory that Spark can read."
        ),
    ],
    output: Annotated[
        str,
        typer.Argument(metavar="OUTPUT", help="The directory for the kept rows; it must be new."),
    ],
    settings_from: Annotated[
        Path | None,
        typer.Option(
            "--settings-from",
            metavar="FILE.db",
            help="Take the settings of this database, instead of those below.",
            readable=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="INPUT|FILE.db",
            help="First drop what is similar to a document of this: rows as INPUT has them, or a "
            "database (in quotes, a pattern of them), whose settings are then the default.",
        ),
    ] = None,
    settings: NewSettings = SETTINGS,
    keep: Annotated[
        str,
        typer.Option(
            metavar="first|last|longest", help="Of similar documents, which is kept; by key."
        ),
    ] = "first",
    dropped: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Where the dropped documents are listed: a new directory."
        ),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Decide by estimates from signatures.")
    ] = False,
    limit: Annotated[
        int,
        typer.Option(
            min=2,
            help="In a bucket of more documents, compare each with the first of the bucket only.",
        ),
    ] = 2000,
    input_format: Annotated[
        str,
        typer.Option("--format", metavar="auto|parquet|jsonl", help="Of the input; auto: by name."),
    ] = "auto",
    fields: Fields = FIELDS,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where Spark runs. [default: as configured, else local[*]]"
        ),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Drop near duplicates on Apache Spark, for more documents than one machine can hold.

    Of all documents that similar pairs connect one is kept, with all of its columns; OUTPUT is of
    the format of INPUT. Keys must be distinct. Rows without a key or a document are kept, and
    counted. --dropped has the key of each other row, the kept one, and how similar they are. With
    --against, all that is similar to a document of a reference is dropped first.

    Needs Java 17 or newer, and: pip install 'lshdb[spark]'. On a cluster, whose executors need
    lshdb, too: spark-submit --master URL PATH/TO/lshdb/spark/__main__.py INPUT OUTPUT.

    Example: lshdb spark-dedup crawl/ unique/ --threshold 0.8 --master "local[*]"
    """
    import lshdb
    from lshdb.model import Keep

    if keep not in get_args(Keep):
        raise lshdb.UsageError(f"keep {keep!r} is not {', '.join(get_args(Keep))}")
    if input_format not in ("auto", *_FORMATS):
        raise lshdb.UsageError(f"--format {input_format!r} is not auto, {', '.join(_FORMATS)}")
    databases = [] if against is None else _databases(against)
    given = settings.given()
    if databases and settings_from is None and not _named(given):
        settings_from = databases[0]
    wanted = _settings(settings_from, given)
    for database in databases:
        _check_readable(database, wanted)
    options = _DEFAULTS | _options(conf or [])
    try:
        from lshdb.spark import dedup, read_database
        from lshdb.spark.session import exists, session
    except ImportError as error:
        raise lshdb.LshdbError(str(error)) from error
    with session(master, options) as spark:
        for path in filter(None, (output, dropped)):
            if exists(spark, path):
                raise lshdb.UsageError(f"{path} is there already: name a new directory")
        format = _FORMATS[_format_of(input) if input_format == "auto" else input_format]
        of_sets = wanted.shingling.of_sets
        content_field = fields.set_field if of_sets else fields.text_field
        reference = None
        if databases:
            columns = {"key": fields.key_field, "content": content_field}
            reference = read_database(spark, str(against)).select(*columns)
            reference = reference.withColumnsRenamed(columns)
        elif against is not None:
            reference = spark.read.load(against, _FORMATS[_format_of(against)])
        source = spark.read.load(input, format)
        result = dedup(
            source,
            wanted,
            key=fields.key_field,
            text=None if of_sets else content_field,
            set=content_field if of_sets else None,
            threshold=settings.threshold,
            keep=cast(Keep, keep),
            estimate=estimate,
            limit=limit,
            against=reference,
        )
        result.kept.write.save(output, format)
        if dropped is not None:
            result.dropped.write.save(dropped, format)
        kept = spark.read.load(output, format).count()
        gone = source.count() - kept
        for line in result.counts.lines(limit):
            warn(f"lshdb: {line}")
        if as_json:
            counts = result.counts
            left_out = {"bad_keys": counts.bad_keys, "bad_documents": counts.bad_contents}
            cut = {"cut_buckets": counts.cut_buckets, "cut_pairs": counts.cut_pairs}
            json_line({"kept": kept, "dropped": gone, **left_out, "empty": counts.empty, **cut})
        else:
            message(f"kept {kept:,}, dropped {gone:,}")


def _settings(file: Path | None, given: dict[str, Any]) -> Settings:
    import lshdb
    from lshdb.settings import SettingsRequest
    from lshdb.tuning.resolve import resolve

    if file is None:
        return resolve(SettingsRequest(**given))
    if wrong := _named(given):
        raise lshdb.UsageError(f"give either --settings-from or --{wrong[0]}")
    with lshdb.open(file, mode="read") as database:
        return database.settings


def _named(given: dict[str, Any]) -> list[str]:
    """The settings that are given but for the threshold, which is no matter of signatures."""
    return [name for name, value in given.items() if value is not None and name != "threshold"]


def _databases(against: str) -> list[Path]:
    """The databases that a path or pattern names; none where it is other input."""
    found = sorted(map(Path, glob.glob(against))) if glob.has_magic(against) else [Path(against)]
    return [path for path in found if path.is_file() and _starts_like_sqlite(path)]


def _starts_like_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _check_readable(path: Path, wanted: Settings) -> None:
    """LshdbError for a database that has no documents to compare with."""
    import lshdb

    with lshdb.open(path, mode="read") as database:
        own = database.settings
    if not own.content:
        raise lshdb.LshdbError(f"{path} keeps signatures only, and --against compares contents")
    if own.shingling.of_sets != wanted.shingling.of_sets:
        raise lshdb.SettingsMismatch(
            f"{path} has shingle {own.shingling}, and the documents are compared by "
            f"{wanted.shingling}"
        )


def _options(conf: list[str]) -> dict[str, str]:
    import lshdb

    found = {}
    for one in conf:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise lshdb.UsageError(f"--conf {one!r} is not NAME=VALUE")
        found[name] = value
    return found


def _format_of(input: str) -> str:
    names = [input.rstrip("/").lower()]
    directory = Path(input)
    if directory.is_dir():
        names = [path.name.lower() for path in directory.iterdir() if path.name[0] not in "._"]
    return "jsonl" if any(name.endswith(_JSONL) for name in names) else "parquet"
