"""`lshdb serve`: show the database in a browser."""

from contextlib import ExitStack
from typing import Annotated

from lshdb.apps.review.options import Who
from lshdb.cli import messages, options, running
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.groups import Option
from lshdb.options import GroupBy
from lshdb.read.paths import escaped


def serve(
    *,
    file: options.DatabaseFile,
    port: Annotated[
        int, Option("Port on this machine; 0 for any free one.", min=0, max=65535)
    ] = 8001,
    open_: Annotated[bool, Option("Open the pages in a browser.", flags=("--open",))] = False,
    review: Annotated[
        bool,
        Option("With buttons to decide: keep, drop, different (see lshdb decide)."),
    ] = False,
    group_by: GroupBy = None,
    who: Who = None,
) -> None:
    """Show the database in a browser: documents with their near duplicates, clusters, pairs.

    Prints the address of the pages, which only this machine can open. They only read; with
    --review they also store what you decide, but remove no document: lshdb remove --decided
    does. Ctrl-C ends it. Each page has its values as JSON too, under its address with .json.

    Needs the extra web.

    Example: lshdb serve -d code.db --open

    Example: lshdb serve -d code.db --review --open
    """
    if who is not None and not review:
        raise UsageError("--who goes with --review")
    if group_by is not None and review:
        raise UsageError("--group-by compares folders, which --review does not know")
    # First reports problems with the file.
    file.open("write" if review else "read").close()
    with running.installed("lshdb serve needs Starlette and jinja2"):
        from lshdb.apps.review import reviewing
        from lshdb.apps.web import app

    def ready(address: str) -> None:
        print(escaped(address), flush=True)
        messages.message("Ctrl-C ends it")
        next_steps = [] if open_ else ["open the address in a browser (--open does)"]
        if not review:
            next_steps.append("--review adds buttons to decide what stays")
        if next_steps:
            messages.hint("; ".join(next_steps))
        if open_:
            import webbrowser

            webbrowser.open(address)

    decides = reviewing.Review(file.db, who) if review else None
    with ExitStack() as stack:
        path = file.db
        if group_by is not None:  # a temporary file of the folders
            from lshdb.apps.folders import folder_documents  # nothing else needs it

            store = store_of(stack.enter_context(file.reading(temporary=True)))
            units = stack.enter_context(folder_documents.folders(store, group_by))
            folder_documents.check_units(units, group_by)
            path = units.store.path
        app.serve(path, port, ready, decides, name=file.db.stem)
