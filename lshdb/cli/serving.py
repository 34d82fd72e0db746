"""The commands that show the database in a browser: serve, report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from lshdb.cli.conditions import ANY, Condition
from lshdb.cli.files import STDOUT, Output, check_distinct
from lshdb.cli.messages import message, progress_bar
from lshdb.cli.options import DATABASE, DatabaseFile, Keep, Star, Threshold, Who
from lshdb.errors import LshdbError, UsageError
from lshdb.sources.paths import escaped, printable_path

_SUFFIXES = (".html", ".htm")


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
    who: Who = None,
) -> None:
    """Show the database in a browser: documents with their near duplicates, clusters, pairs.

    Prints the address of the pages, which only this machine can open. They only read; with
    --review they also store what you decide, but remove no document: lshdb remove --decided
    does. Ctrl-C ends it. Datasette serves them (pip install 'lshdb[web]'), with its own pages for
    tables and SQL.

    Example: lshdb serve -d code.db --open

    Example: lshdb serve -d code.db --review --open
    """
    from lshdb.ingest.deciding import check_words, user

    if who is not None and not review:
        raise UsageError("--who goes with --review")
    reviewer = (who if who is not None else user()) if review else None
    if reviewer is not None:
        check_words(reviewer, None)
    # First reports problems with the file.
    at.open("write" if review else "read").close()
    with _web_installed("lshdb serve needs Datasette"):
        from lshdb.web import serving

    def ready(address: str) -> None:
        print(escaped(address), flush=True)
        message("Ctrl-C ends it")
        if open_:
            import webbrowser

            webbrowser.open(address)

    serving.serve(at.db, port, ready, reviewer)


def report(
    report_file: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE.html", help="The file to write, or -."),
    ],
    at: DatabaseFile = DATABASE,
    pairs: Annotated[
        int, typer.Option(min=0, max=1000, help="Pairs to show side by side, up to 1,000.")
    ] = 50,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The heading.")] = None,
    threshold: Threshold = None,
    keep: Keep = "first",
    star: Star = False,
    condition: Condition = ANY,
) -> None:
    """Write a report of the near duplicates, as one HTML file.

    It shows how many documents have near duplicates and how much could go, the similarities of
    the pairs, the largest clusters, the most similar pairs side by side with what differs, and
    the decisions. The file opens in any browser, without a network, and can be printed; it has
    10 MB or less. It holds parts of the documents: give it only to people who may read them.

    Needs jinja2, which comes with pip install 'lshdb[web]'.

    Example: lshdb report -d essays.db -o report.html --title "Essays of May" --pairs 20
    """
    if report_file != STDOUT and not report_file.lower().endswith(_SUFFIXES):
        raise UsageError(f"--output {report_file}: the name must end in {' or '.join(_SUFFIXES)}")
    names = [str(at.db) + end for end in ("", "-wal", "-shm")]
    check_distinct(names, [report_file])
    at.reading().close()  # first reports problems with the file
    with _web_installed("lshdb report needs jinja2"):
        from lshdb.web import report as web
    with Output(report_file) as output, progress_bar("report") as progress:
        output.write(
            web.report(
                at.db,
                pairs=pairs,
                title=title,
                threshold=threshold,
                keep=keep,  # type: ignore[arg-type]  # checked there
                star=star,
                condition=condition.given(),
                timeout=at.timeout,
                on_step=lambda done, total, label: progress(done, total, label=label),
            )
        )
    if report_file != STDOUT:
        message(f"wrote {printable_path(report_file)}")


@contextmanager
def _web_installed(needs: str) -> Iterator[None]:
    """LshdbError for an import in the block that the extra `web` would bring."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("lshdb"):
            raise
        raise LshdbError(f"{needs}: pip install 'lshdb[web]'") from error
