"""The commands that write a page to hand on: report, and plot for its picture."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lshdb.cli import documents, files, messages, results
from lshdb.cli.looking import installed
from lshdb.cli.options import BasePaths, DatabaseFile
from lshdb.errors import InputError, UsageError
from lshdb.groups import Option, regrouped
from lshdb.ingest.folders import folders
from lshdb.options import PictureOptions, PurposeOptions, ReportOptions, SettingsOptions
from lshdb.progress import Progress, shown
from lshdb.sketching.settings import Settings
from lshdb.sources.outputs import Output
from lshdb.sources.paths import printable_path
from lshdb.store.store import Store
from lshdb.tuning.resolve import resolve

_LOWEST = 0.2
"""Minimum similarity of pairs of submissions: 99% of copied programs have it (docs/class.md)."""
_PASSAGES = {"code": 12, "word": 8, "char": 40}
"""Tokens, words or characters of the shortest passage that is marked in submissions."""


def report(
    *,
    directory: Annotated[
        str | None,
        typer.Argument(
            metavar="DIR", help="Submissions: each folder, archive or file in it is one."
        ),
    ] = None,
    report_file: Annotated[
        str,
        Option("The file to write, or -.", metavar="FILE.html", flags=("--output", "-o")),
    ],
    at: DatabaseFile,
    purpose: PurposeOptions,
    base: BasePaths = None,
    pairs: Annotated[int, Option("Pairs to show side by side, up to 1,000.", min=0, max=1000)] = 50,
    title: Annotated[str | None, Option("The heading.", metavar="TEXT")] = None,
    asked: ReportOptions,
) -> bool:
    """Write a report of the near duplicates, as one HTML file.

    It shows how many documents have near duplicates and how much could go, the similarities of
    the pairs, the largest clusters, the most similar pairs side by side with what differs, and
    the decisions. The file opens in any browser, without a network, and can be printed; it has
    10 MB or less. It holds parts of the documents: give it only to people who may read them.

    With DIR it needs no database. It compares the submissions there, files, folders and archives,
    each with all of its files, puts pairs first that share what is rare, and marks copied passages.
    --anonymous hides the names of files and folders, but not names within texts.

    Needs jinja2, which comes with pip install 'lshdb[web]'.

    Example: lshdb report -d essays.db -o report.html --title "Essays of May" --pairs 20

    Example: lshdb report submissions/ --for programs --base template/ -o report.html
    """
    _check_name(report_file, ".html", ".htm")
    lowest, failed = None, 0
    with ExitStack() as stack:
        if directory is None:
            if base or purpose.purpose:
                raise UsageError(
                    "--for and --base are for DIR; for a database, lshdb init has them"
                )
            store = stack.enter_context(at.reading()).store
            name = f"Near duplicates in {at.db.name}"
        else:
            settings = _settings(purpose, asked.threshold, base)
            lowest = settings.threshold
            usual = resolve(regrouped(purpose, SettingsOptions)).threshold
            asked = replace(
                asked,
                threshold=asked.threshold or usual,
                group_by=asked.group_by or directory,
            )
            store, failed = stack.enter_context(_submissions(directory, settings))
            name = f"Similar submissions in {printable_path(directory)}"
        read = () if directory else (at.db,)
        web, output, progress = stack.enter_context(_drawn(report_file, *read))
        found = stack.enter_context(folders(store, asked, anonymous=asked.anonymous))
        if directory is not None and len(found.files) < 2:
            raise InputError(f"{directory}: one submission alone, with nothing to compare it with")
        heading = title or ("Similar submissions" if asked.anonymous else name)
        page = web.report(
            found, asked, pairs=pairs, title=heading, lowest=lowest, progress=progress
        )
        output.write(page.encode())
    if report_file != files.STDOUT:
        results.print_names((f"{key}: {own}" for key, own in found.names.items()), null=False)
    return failed > 0


def _settings(purpose: PurposeOptions, threshold: float | None, base: BasePaths) -> Settings:
    """The settings of a temporary database of submissions."""
    asked = regrouped(purpose, SettingsOptions, threshold=min(_LOWEST, threshold or 1))
    shingling = resolve(asked).shingling
    texts = documents.base_texts(base, shingling) if base else None
    return resolve(replace(asked, passages=_PASSAGES.get(shingling.kind), base=texts))


@contextmanager
def _submissions(directory: str, settings: Settings) -> Iterator[tuple[Store, int]]:
    """A temporary database of the texts in a directory, and how many could not be read."""
    failures = documents.Failures()
    with documents.temporary_database(settings) as database:
        reader = documents.reader_for(database, archives=True)
        done = database.sync(
            [directory],
            reader=reader,
            on_failure=failures.report,
            progress=messages.shows_progress(),
        )
        documents.report_reading(reader.skipped_files.counts(), done.replaced)
        if not done.added:
            raise InputError(f"{printable_path(directory)}: no text is in it")
        yield database.store, done.failed


def plot(
    *,
    plot_file: Annotated[
        str,
        Option("The file to write, or -.", metavar="FILE.svg", flags=("--output", "-o")),
    ],
    at: DatabaseFile,
    asked: PictureOptions,
) -> None:
    """Draw the similarities of the documents, as one SVG file.

    It shows how many pairs have which similarity, on a logarithmic scale: those that were found
    from the threshold on, and an estimate from a sample below it; the S-curve, how probably the
    index finds a pair; and how many clusters have which size.

    Needs jinja2, which comes with pip install 'lshdb[web]'.

    Example: lshdb plot -d essays.db -o similarities.svg
    """
    _check_name(plot_file, ".svg")
    with (
        at.reading() as database,
        folders(database.store, asked) as found,
        _drawn(plot_file, at.db) as (web, output, progress),
    ):
        output.write(web.plot(found, asked, at.db.name, progress).encode())


def _check_name(name: str, *suffixes: str) -> None:
    """UsageError for an output whose name has another suffix."""
    if name != files.STDOUT and not name.lower().endswith(suffixes):
        raise UsageError(f"--output {name}: the name must end in {' or '.join(suffixes)}")


@contextmanager
def _drawn(name: str, *read: Path) -> Iterator[tuple[Any, Output, Progress]]:
    """The module that draws, an open file for what it draws, and what shows progress."""
    files.check_distinct(map(str, read), [name])
    with installed("lshdb report and plot need jinja2"):
        from lshdb.web import report as web
    with files.output_to(name) as output, shown(messages.shows_progress(), "drawing") as progress:
        yield web, output, progress
    if name != files.STDOUT:
        messages.message(f"wrote {printable_path(name)}")
