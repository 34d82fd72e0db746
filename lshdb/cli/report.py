"""`lshdb report`: write a report of the near duplicates, as one HTML file."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from lshdb.cli import documents, files, messages, results
from lshdb.cli.options import (
    BasePaths,
    DatabaseFile,
)
from lshdb.errors import InputError, UsageError
from lshdb.groups import Option, replaced
from lshdb.ingest.submissions import LeftOut, Notes, left_out_of
from lshdb.model import Failure
from lshdb.options import PurposeOptions, ReportOptions, SettingsOptions, ShapeOptions
from lshdb.sketching.settings import Settings
from lshdb.sources.paths import is_database, printable_path
from lshdb.store.store import Store
from lshdb.tuning.resolve import PASSAGES_OF_PROGRAMS, resolve

if TYPE_CHECKING:
    from lshdb.ingest.folders import Folders

from lshdb.cli import pages

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
    at: DatabaseFile,
    purpose: PurposeOptions,
    base: BasePaths = None,
    pairs: Annotated[int, Option("Pairs to show side by side, up to 1,000.", min=0, max=1000)] = 50,
    title: Annotated[str | None, Option("The heading.", metavar="TEXT")] = None,
    asked: ReportOptions,
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
    from lshdb.ingest.folders import check_units, folders  # nothing else needs it

    pages.check_name(report_file, ".html", ".htm")
    lowest, failed = None, 0
    left_out: Sequence[LeftOut] = ()
    failures: Sequence[tuple[str, str]] = ()
    pages.drawing()  # before submissions are read
    with ExitStack() as stack:
        if directory is None:
            if base or purpose.purpose:
                raise UsageError(
                    "--for and --base are for DIR; for a database, lshdb init has them"
                )
            store = stack.enter_context(at.reading()).store
            name = f"Near duplicates in {printable_path(at.db.name)}"
        else:
            if is_database(directory):
                name = printable_path(directory)
                raise UsageError(f"{name} is a database: give it as -d {name}")
            if os.path.isfile(directory):
                name = printable_path(directory)
                raise UsageError(f"{name} is a file: give the directory that holds all submissions")
            settings = _settings(purpose, asked.picture.grouping.threshold, base)
            lowest = settings.threshold
            usual = resolve(SettingsOptions(kind=purpose)).threshold
            asked = replaced(
                asked,
                threshold=asked.picture.grouping.threshold or usual,
                group_by=asked.picture.group_by or directory,
            )
            store, failures, left_out = stack.enter_context(_submissions(directory, settings))
            failed = len(failures)
            name = f"Similar submissions in {printable_path(directory)}"
        read = () if directory else (at.db,)
        web, output, progress = stack.enter_context(pages.drawn(report_file, *read))
        found = stack.enter_context(
            folders(
                store,
                asked.picture.group_by,
                asked.picture.grouping.condition,
                anonymous=asked.anonymous,
            )
        )
        if directory is not None and len(found.files) < 2:
            alone = "one submission alone, with nothing to compare it with"
            raise InputError(f"{printable_path(directory)}: {alone}")
        if directory is None and asked.picture.group_by is not None:
            check_units(found, asked.picture.group_by)
        if asked.anonymous:
            left_out, failures = _renamed(left_out, found), ()
        heading = title or ("Similar submissions" if asked.anonymous else name)
        page = web.report(
            found,
            asked,
            pairs=pairs,
            title=heading,
            lowest=lowest,
            failed=failed,
            missing=[(one.name, one.reason) for one in left_out],
            failures=failures,
            progress=progress,
        )
        output.write(page.encode())
    if directory is None:
        pages.say_next(report_file, at.db, "lshdb serve --review", "to decide what stays")
    else:
        pages.say_next(report_file)
    if not files.is_stdout(report_file):
        results.print_names((f"{key}: {own}" for key, own in found.names.items()), null=False)
    return failed > 0 or any(not one.is_read for one in left_out)


def _renamed(left_out: Sequence[LeftOut], found: "Folders") -> list[LeftOut]:
    """Submissions under names that say nothing, which the others go before, without the reasons."""
    known = {name: key for key, name in found.names.items()}
    new = [one for one in left_out if one.key not in known]
    SystemRandom().shuffle(new)
    for number, one in enumerate(new, len(found.files) + 1):
        known[one.key] = f"submission-{number}"
        found.names[known[one.key]] = one.key
    renamed = [replace(one, name=known[one.key], reason="") for one in left_out]
    return sorted(renamed, key=lambda one: (len(one.name), one.name))


def _settings(purpose: PurposeOptions, threshold: float | None, base: BasePaths) -> Settings:
    """The settings of a temporary database of submissions."""
    shape = ShapeOptions(threshold=min(_LOWEST, threshold or 1))
    asked = SettingsOptions(kind=purpose, shape=shape)
    shingling = resolve(asked).shingling
    texts = documents.base_texts(base, shingling) if base else None
    return resolve(replaced(asked, passages=_PASSAGES.get(shingling.kind), base=texts))


@contextmanager
def _submissions(
    directory: str, settings: Settings
) -> Iterator[tuple[Store, list[tuple[str, str]], list[LeftOut]]]:
    """A temporary database of the texts in a directory, the files that could not be read with the
    reasons, and the submissions without a text to compare.
    """
    notes = Notes()

    def failed(failure: Failure) -> None:
        documents.print_failure(failure)
        notes.failed(failure)

    with documents.temporary_database(settings) as database:
        session = documents.session_for(database, archives=True)
        session.counts.skipped.on_skip = notes.skipped
        done = database.sync(
            [directory],
            reader=session,
            on_failure=failed,
            progress=messages.shows_progress(),
        )
        names = {path for path, _ in notes.failures}
        missing = list(left_out_of(database.store, directory, notes))
        for one in missing:
            if one.name not in names:
                messages.warn(f"lshdb: {one.name}: {one.reason}")
            database.remove(one.empty)
        documents.report_reading(session.counts.skipped.counts(), done.replaced)
        if not done.added:
            raise InputError(f"{printable_path(directory)}: no text is in it")
        yield database.store, notes.failures, missing
