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
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 for any free one.")
    ] = 8001,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the pages in a browser.")
    ] = False,
    review: Annotated[
        bool,
        typer.Option(
            "--review", help="With buttons to decide: keep, drop, different (see lshdb decide)."
        ),
    ] = False,
    who: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --review: who decides. [default: your user name]"),
    ] = None,
) -> None:
    """Show the database in a browser: documents with their near duplicates, clusters, pairs.

    Prints the address of the pages, which only this machine can open. They only read; with
    --review they also store what you decide, but remove no document: lshdb remove --decided
    does. Ctrl-C ends it. Datasette serves them (pip install 'lshdb[web]'), with its own pages for
    tables and SQL.

    Example: lshdb serve -d code.db --open

    Example: lshdb serve -d code.db --review --open
    """
    from lshdb.errors import LshdbError, UsageError
    from lshdb.ingest.deciding import check_words, user

    if who is not None and not review:
        raise UsageError("--who goes with --review")
    reviewer = (who if who is not None else user()) if review else None
    if reviewer is not None:
        check_words(reviewer, None)
    # First reports problems with the file.
    at.open("write" if review else "read").close()
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

    serving.serve(at.db, port, ready, reviewer)
