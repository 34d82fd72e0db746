"""`lshdb sql`: run a SELECT on the file's tables and views."""

from typing import Annotated

import typer

from lshdb.cli import files, options, results
from lshdb.cli.parameters import sql_value
from lshdb.errors import UsageError
from lshdb.options import WhereParameters
from lshdb.read.paths import STDIN, opened

_LONGEST_SQL = 2_000_000
"""Bytes read of a statement: more than SQLite may take."""


def sql(
    *,
    statement: Annotated[
        str,
        typer.Argument(
            metavar="SELECT", help="One statement that reads, in quotes; - for standard input."
        ),
    ],
    file: options.DatabaseFile,
    parameters: WhereParameters = (),
    form: options.Form,
) -> None:
    """Run a SELECT on the file's tables and views.

    Tables: settings, documents, signatures, bands, files; fingerprints and decisions where there
    are any. Views: buckets, bucket_members, candidate_pairs. A function besides SQLite's:
    lsh_similarity(signature, signature), the estimated similarity.

    On a terminal the output is a table, in a pipe like that of the sqlite3 shell, but with control
    characters as escapes. A BLOB is x'00ff', in JSON and CSV too.

    A VALUE of -p is a number if it is written as JSON writes that number (2024, 0.5, but not 007 or
    1e3), else a text. VALUE:text is always a text: 2024:text is 2024, a:text:text is a:text.

    Example: lshdb sql "select * from buckets order by documents desc limit 5"

    Example: lshdb sql "select key from documents where shingles > ?" -p 1000
    """
    if statement == STDIN:
        with opened(statement, files.stdin()) as stream:
            statement = stream.read(_LONGEST_SQL).decode("utf-8-sig", "replace")
    if statement.lstrip().startswith("."):
        raise UsageError(
            f"{statement!r} is a command of the sqlite3 shell, not SQL: lshdb sql --help names "
            "the tables"
        )
    with file.reading(form) as database:
        rows = database.sql(statement, [*map(sql_value, map(str, parameters or ()))])
        results.write_results(dict.fromkeys(rows.columns, object), rows.rows(), form)
