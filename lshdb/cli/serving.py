"""The serve command."""

from __future__ import annotations

from typing import Annotated

import typer

from lshdb.cli.messages import message
from lshdb.cli.options import DATABASE, DatabaseFile
from lshdb.sources.paths import escaped


def serve(
    at: DatabaseFile = DATABASE,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of this machine; 0 for any that is free.")
    ] = 8001,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the pages in a browser.")
    ] = False,
) -> None:
    """Show the database in a browser: documents with their near duplicates, clusters, buckets.

    Prints the address of the pages, which only this machine can open; they only read. Ctrl-C
    ends it. Datasette serves them (pip install 'lshdb[web]'), with its own pages for tables and
    SQL.

    Example: lshdb serve -d code.db --open
    """
    from lshdb.errors import LshdbError

    at.reading().close()  # reports first what is wrong with the file
    try:
        from lshdb.web import serving
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("lshdb"):
            raise
        raise LshdbError("lshdb serve needs Datasette: pip install 'lshdb[web]'") from error

    def ready(address: str) -> None:
        print(escaped(address), flush=True)
        message("Ctrl-C ends it")
        if open_:
            import webbrowser

            webbrowser.open(address)

    serving.serve(at.db, port, ready)
