"""`lshdb info`: show the database's settings and size."""

from typing import Annotated

from lshdb.cli import options, results
from lshdb.groups import Option
from lshdb.read.paths import escaped
from lshdb.sketch.settings import settings_record


def info(
    *,
    file: options.DatabaseFile,
    tables: Annotated[
        bool, Option("Show the bytes of each table, which takes 1.4 s for each GB.")
    ] = False,
    form: options.Form,
) -> None:
    """Show the database's settings, the root of its keys, and the bytes of its file and tables.

    Text is for people; --json has each setting by its name.

    Example: lshdb info -d code.db
    """
    with file.reading(form) as database:
        info = database.info(tables=tables)
    if form.is_text:
        groups = info.in_words()
        if tables and info.tables is None:
            groups["Size"]["tables"] = "not known: this SQLite was built without dbstat"
        width = max(len(name) for facts in groups.values() for name in facts) + 2
        for title, facts in groups.items():
            print(title)
            for name, text in facts.items():
                print(f"  {name:<{width}}{escaped(text)}")
        return
    record = {
        "documents": info.documents,
        "empty": info.empty,
        "unindexed": info.unindexed,
        **settings_record(info.settings),
        "root": info.root,
        "bytes": info.bytes,
        "tables": info.tables,
    }
    results.write_record(record, form)
