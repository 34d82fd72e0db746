"""`lshdb report`: write a report of the near duplicates, as one HTML file."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli import documents, files, messages, pages, results
from lshdb.cli.options import BasePaths, DatabaseFile
from lshdb.database import store_of
from lshdb.errors import InputError, UsageError
from lshdb.groups import Option, replaced
from lshdb.ingest import submissions
from lshdb.model import Failure
from lshdb.options import PurposeOptions, ReportOptions, SettingsOptions, ShapeOptions
from lshdb.sketching.settings import Settings
from lshdb.sources import paths
from lshdb.store.store import Store
from lshdb.tuning.resolve import PASSAGES_OF_PROGRAMS, resolve

if TYPE_CHECKING:
    from lshdb.ingest import folder_documents

_LOWEST = 0.2
"""Minimum similarity of pairs of submissions: 99% of copied programs have it (docs/class.md)."""
_PASSAGES = {"code": PASSAGES_OF_PROGRAMS, "word": 8, "char": 40}
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
    file: DatabaseFile,
    purpose: PurposeOptions,
    base: BasePaths = None,
    pairs: Annotated[int, Option("Pairs to show side by side, up to 1,000.", min=0, max=1000)] = 50,
    title: Annotated[str | None, Option("The heading.", metavar="TEXT")] = None,
    options: ReportOptions,
) -> bool:
    """Write a report of the near duplicates, as one HTML file.

    It shows how many documents are duplicated and how many can be removed, the similarities of
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
    pages.check_name(report_file, ".html", ".htm")
    pages.drawing()  # before submissions are read
    read = () if directory else (file.db,)
    with (
        _compared(file, options, purpose, base, directory) as (compared, options),
        pages.drawn(report_file, *read) as (web, output, progress),
        _units(compared.store, options, directory) as units,
    ):
        if options.anonymous:
            compared = _renamed(compared, units)
        page = web.report(
            units,
            options,
            pairs=pairs,
            title=title or compared.name,
            lowest=compared.lowest,
            failed=compared.failed,
            missing=[(left_out.name, left_out.reason) for left_out in compared.left_out],
            failures=compared.failures,
            progress=progress,
        )
        output.write(page.encode())
    _say_written(report_file, file, directory, units.names)
    return compared.failed > 0 or not all(left_out.is_read for left_out in compared.left_out)


def _say_written(
    report_file: str, file: DatabaseFile, directory: str | None, names: Mapping[str, str]
) -> None:
    """Say what opens the report, and print the names that it does not show."""
    if directory is None:
        pages.say_next(report_file, file.db, "lshdb serve --review", "to decide what stays")
    else:
        pages.say_next(report_file)
    if not files.is_stdout(report_file):
        results.print_names((f"{key}: {name}" for key, name in names.items()), null=False)


@dataclass(frozen=True)
class _Compared:
    """The documents that a report is about.

    Attributes:
        store: the database, or a temporary one of submissions.
        name: the heading that says what they are.
        lowest: minimum similarity of pairs; None for that of the database.
        failed: how many files could not be read.
        failures: the paths of these, as printed, and why; none if names are hidden.
        left_out: the submissions without a text to compare.
    """

    store: Store
    name: str
    lowest: float | None = None
    failed: int = 0
    failures: Sequence[tuple[str, str]] = ()
    left_out: Sequence[submissions.LeftOut] = ()


@contextmanager
def _compared(
    file: DatabaseFile,
    options: ReportOptions,
    purpose: PurposeOptions,
    base: BasePaths,
    directory: str | None,
) -> Iterator[tuple[_Compared, ReportOptions]]:
    """The documents of the database, or the submissions in a directory, and options for these."""
    if directory is not None:
        options, settings = _settings(options, purpose, base, directory)
        with _submissions(directory, settings) as compared:
            yield compared, options
        return
    if base or purpose.purpose:
        raise UsageError("--for and --base are for DIR; for a database, lshdb init has them")
    with file.reading() as database:
        name = f"Near duplicates in {paths.printable_path(file.db.name)}"
        yield _Compared(store_of(database), name), options


@contextmanager
def _units(
    store: Store, options: ReportOptions, directory: str | None
) -> Iterator["folder_documents.Folders"]:
    """What a report compares: documents, folders, or the submissions in a directory.

    Raises:
        InputError: there are not two of them.
    """
    from lshdb.ingest import folder_documents  # nothing else needs it

    group_by, condition = options.picture.group_by, options.picture.grouping.condition
    with folder_documents.folders(store, group_by, condition, anonymous=options.anonymous) as units:
        if directory is None:
            if group_by is not None:
                folder_documents.check_units(units, group_by)
        elif len(units.files) < 2:
            alone = "one submission alone, with nothing to compare it with"
            raise InputError(f"{paths.printable_path(directory)}: {alone}")
        yield units


def _renamed(compared: _Compared, units: "folder_documents.Folders") -> _Compared:
    """The same with submissions under names that say nothing, and without the reasons.

    Those left out that have no such name get the numbers after the others, in random order.
    """
    known = {name: key for key, name in units.names.items()}
    new = [left_out for left_out in compared.left_out if left_out.key not in known]
    SystemRandom().shuffle(new)
    for number, left_out in enumerate(new, len(units.files) + 1):
        name = known[left_out.key] = f"submission-{number}"
        units.names[name] = left_out.key
    renamed = [
        replace(left_out, name=known[left_out.key], reason="") for left_out in compared.left_out
    ]
    renamed.sort(key=lambda left_out: (len(left_out.name), left_out.name))
    return replace(compared, name="Similar submissions", failures=(), left_out=renamed)


def _settings(
    options: ReportOptions, purpose: PurposeOptions, base: BasePaths, directory: str
) -> tuple[ReportOptions, Settings]:
    """The options for a report of submissions, and the settings of their temporary database."""
    if paths.is_database(directory):
        name = paths.printable_path(directory)
        raise UsageError(f"{name} is a database: give it as -d {name}")
    if os.path.isfile(directory):
        name = paths.printable_path(directory)
        raise UsageError(f"{name} is a file: give the directory that holds all submissions")
    threshold = options.picture.grouping.threshold
    shape = ShapeOptions(threshold=min(_LOWEST, threshold or 1))
    of_purpose = SettingsOptions(kind=purpose, shape=shape)
    shingling = resolve(of_purpose).shingling
    texts = documents.base_texts(base, shingling) if base else None
    passages = _PASSAGES.get(shingling.kind)
    settings = resolve(replaced(of_purpose, passages=passages, base=texts))
    usual = resolve(SettingsOptions(kind=purpose)).threshold
    group_by = options.picture.group_by or directory
    return replaced(options, threshold=threshold or usual, group_by=group_by), settings


@contextmanager
def _submissions(directory: str, settings: Settings) -> Iterator[_Compared]:
    """The submissions in a directory, in a temporary database; what cannot be read is printed."""
    notes = submissions.Notes()

    def failed(failure: Failure) -> None:
        documents.print_failure(failure)
        notes.failed(failure)

    with documents.temporary_database(settings) as database:
        session = documents.session_for(database, archives=True)
        session.counts.skipped.on_skip = notes.skipped
        progress = messages.shows_progress()
        report = database.sync([directory], reader=session, on_failure=failed, progress=progress)
        names = {path for path, _ in notes.failures}
        missing = list(submissions.left_out_of(store_of(database), directory, notes))
        for left_out in missing:
            if left_out.name not in names:
                messages.warn(f"lshdb: {left_out.name}: {left_out.reason}")
            database.remove(left_out.empty)
        documents.report_reading(session.counts.skipped.counts(), report.replaced)
        if not report.added:
            raise InputError(f"{paths.printable_path(directory)}: no text is in it")
        yield _Compared(
            store_of(database),
            f"Similar submissions in {paths.printable_path(directory)}",
            settings.threshold,
            len(notes.failures),
            notes.failures,
            missing,
        )
