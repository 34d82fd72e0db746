"""The report command."""

from __future__ import annotations

from typing import Annotated

import typer

from lshdb.cli.conditions import ANY, Condition
from lshdb.cli.files import STDOUT, Output, check_distinct
from lshdb.cli.messages import message, progress_bar
from lshdb.cli.options import DATABASE, DatabaseFile, Keep, Star, Threshold
from lshdb.errors import LshdbError, UsageError
from lshdb.sources.paths import printable_path

_SUFFIXES = (".html", ".htm")


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
    try:
        from lshdb.web import report as web
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("lshdb"):
            raise
        raise LshdbError("lshdb report needs jinja2: pip install 'lshdb[web]'") from error
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
