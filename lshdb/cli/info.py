"""`lshdb info`: show the database's settings and size."""

from typing import Annotated

from lshdb.cli import options, results
from lshdb.database import store_of
from lshdb.groups import Option
from lshdb.model import Info
from lshdb.read.paths import escaped
from lshdb.sketch.settings import settings_record
from lshdb.text.kinds import missing_app
from lshdb.text.shingles import base_hashes

_MEASURED = 1 << 30
"""Bytes of a file whose tables are measured, which reads all of it: 1.4 s for 1 GB."""


def info(
    *,
    file: options.DatabaseFile,
    tables: Annotated[
        bool, Option("Measure the tables also of a file of more than 1 GB, 1.4 s for each GB.")
    ] = False,
    form: options.Form,
) -> None:
    """Show the database's settings, the root of its keys, and the bytes of its file and tables.

    Text is for people; --json has each setting by its name.

    Example: lshdb info -d code.db
    """
    with file.reading(form) as database:
        measured = tables or store_of(database).bytes() <= _MEASURED
        info = database.info(tables=measured)
    if form.is_text:
        reason = "this SQLite was built without dbstat"
        if not measured:
            reason = "the file is large, --tables measures them"
        _print_info(info, f"not known: {reason}")
        return
    shingling = info.settings.shingling
    record = {
        "documents": info.documents,
        "empty": info.empty,
        "unindexed": info.unindexed,
        **settings_record(info.settings),
        "base_shingles": None
        if missing_app(shingling)
        else len(base_hashes(shingling, info.settings.seed)),
        "root": info.root,
        "bytes": info.bytes,
        "tables": info.tables,
    }
    results.write_record(record, form)


def _print_info(info: Info, unknown: str) -> None:
    """Print what `info` shows to people: groups of facts."""
    groups = info.in_words()
    if info.tables is None:
        groups["Size"]["tables"] = unknown
    width = max(len(name) for facts in groups.values() for name in facts) + 2
    for title, facts in groups.items():
        print(title)
        for name, text in facts.items():
            print(f"  {name:<{width}}{escaped(text)}")
