"""`lshdb info`: show the database's settings and size."""

from collections.abc import Mapping

from lshdb.cli import results
from lshdb.cli.options import DatabaseFile, Form
from lshdb.database import store_of
from lshdb.model import Info
from lshdb.shingling.shingles import base_hashes
from lshdb.sketching.settings import settings_record
from lshdb.sources.paths import escaped

_MEASURED = 1 << 30
"""Bytes of a file whose tables are measured, which reads all of it: 1.4 s for 1 GB."""


def info(*, file: DatabaseFile, form: Form) -> None:
    """Show the database's settings and size.

    On a terminal: the documents, the settings in words, and the size of each table. In a pipe, a
    name and a value on a line.

    Example: lshdb info -d code.db
    """
    with file.reading(form) as database:
        info = database.info()
        if form.is_text and results.on_terminal():
            _print_info(info, store_of(database).table_bytes(_MEASURED))
            return
    record = {
        "documents": info.documents,
        "empty": info.empty,
        "unindexed": info.unindexed,
        **settings_record(info.settings),
        "base_shingles": len(base_hashes(info.settings.shingling, info.settings.seed)),
        "bytes": info.bytes,
    }
    base = {} if record["base"] else {"base": None, "base_shingles": None}
    results.write_record(record, form, record | base)


def _print_info(info: Info, tables: Mapping[str, int] | None) -> None:
    """Print what `info` shows to a person: groups of facts."""
    groups = info.in_words(tables)
    if tables is None:
        groups["Size"]["tables"] = "not measured: the file is large, or SQLite lacks dbstat"
    width = max(len(name) for facts in groups.values() for name in facts) + 2
    for title, facts in groups.items():
        print(title)
        for name, text in facts.items():
            print(f"  {name:<{width}}{escaped(text)}")
