"""`lshdb report`: write what connects documents, as one HTML file or as rows."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import SystemRandom
from typing import Annotated

import typer

from lshdb import model
from lshdb.apps.compare.temporary import temporary_database
from lshdb.apps.folders import folder_documents
from lshdb.apps.folders.sync import SyncReport
from lshdb.apps.passages.cli.base_texts import base_texts
from lshdb.apps.report import evidence, submissions
from lshdb.apps.report.hidden_names import Names
from lshdb.apps.report.options import ReportOptions
from lshdb.apps.review.cli import proving
from lshdb.cli import documents, files, messages, results, running
from lshdb.cli.options import AsJson, BasePaths, DatabaseFile, Form
from lshdb.database import Database, store_of
from lshdb.errors import InputError, UsageError
from lshdb.groups import Option, replaced
from lshdb.maintain.resolve import PASSAGES_OF_PROGRAMS, PURPOSES, THRESHOLD, reindexed, resolve
from lshdb.options import GroupBy, PurposeOptions, ReindexOptions, SettingsOptions
from lshdb.progress import shown
from lshdb.read import kinds, paths
from lshdb.read.outputs import STDOUT, is_stdout, is_stream
from lshdb.sketch.settings import Settings, plain_settings
from lshdb.store.store import Store

_LOWEST = 0.2
"""Minimum similarity of pairs of submissions: 99% of copied programs have it (docs/class.md)."""
_PASSAGES = {"code": PASSAGES_OF_PROGRAMS, "word": 8, "char": 40}
"""Tokens, words or characters of the shortest passage that is marked in submissions."""
_UNITS = {"code": "tokens", "word": "words", "char": "characters"}
_HTML = (".html", ".htm")

_Input = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT", help="Submissions: a directory, archive, table or database of them."
    ),
]
_Outputs = Annotated[
    Sequence[str] | None,
    Option(
        "A file to write, .html, .csv, .jsonl or .parquet, or -; repeatable.",
        metavar="FILE",
        flags=("--output", "-o"),
    ),
]


def report(
    *,
    directory: _Input = None,
    output: _Outputs = None,
    as_json: AsJson = False,
    file: DatabaseFile,
    base: BasePaths = None,
    options: ReportOptions,
) -> bool:
    """Write a report of the pairs that anything connects: an HTML file, or rows.

    Pairs come from similar texts, copied passages and reworded ones, and those that share what is
    rare come first. The report says how many stand apart from the others, and shows them side by
    side. It holds parts of the documents: give it only to people who may read them.

    The file opens in any browser, without a network, and can be printed; it has 10 MB or less.

    INPUT needs no database: each folder, archive or file in a directory or an archive is one
    submission, and so is each row of a table. Without it, the report is of the database of -d.
    With --old there are pairs of the new and of new and old, and none of the old.
    --anonymous hides names of folders also in texts. A file of another kind, or --json, has a row
    for each pair, with all that connects it.

    HTML needs the extra web.

    Example: lshdb report -d essays.db -o report.html --title Essays --pairs 20

    Example: lshdb report class2027/ --old class2026/ --for programs -o all.html
    """
    outputs = _outputs(output, as_json)
    html = [name for name, form in outputs if form is None]
    if html:
        with running.installed("lshdb report needs jinja2"):  # before submissions are read
            import lshdb.apps.report.report  # noqa: F401
    if directory is not None and paths.is_database(directory):
        file, directory = replaced(file, db=Path(directory)), None
    read = (directory or str(file.db), *(options.old or ()), *(base or ()))
    files.check_distinct(read, [name for name, _ in outputs])
    with ExitStack() as stack:
        compared = stack.enter_context(_compared(file, options, base, directory))
        units = stack.enter_context(_units(compared, options, directory or str(file.db)))
        progress = stack.enter_context(shown(messages.shows_progress(), "comparing"))
        condition = None
        if not units.files:
            condition = options.grouping.condition
            options = replaced(options, threshold=options.grouping.threshold or compared.usual)
        connected = evidence.connections(
            units.store, compared.lowest, progress, condition=condition, new=units.new
        )
        compared = replace(compared, notes=_notes(compared, connected, file))
        if options.anonymous:
            compared = _renamed(compared, units)
        _write(outputs, units, connected, compared, options)
    if html and not is_stream(html[0]):
        decides = f"; lshdb serve --review -d {shlex.quote(str(file.db))} to decide what stays"
        further = decides if directory is None else ""
        messages.hint(f"open {paths.printable_path(html[0])} in a browser{further}")
    if not any(is_stdout(name) for name, _ in outputs):
        proving.print_names((f"{key}: {name}" for key, name in units.names.items()), null=False)
    return compared.failed > 0 or not all(left_out.is_read for left_out in compared.left_out)


def _write(
    outputs: Sequence[tuple[str, Form | None]],
    units: folder_documents.Folders,
    connected: evidence.Connections,
    compared: "_Compared",
    options: ReportOptions,
) -> None:
    """Write pages and rows; notes are on a page, and for rows alone they are printed."""
    has_page = any(form is None for _, form in outputs)
    if not has_page:
        for note in compared.notes:
            messages.warn(f"lshdb: {note}")
    hidden = _hidden(units) if options.anonymous and has_page else None
    missing = [(left_out.name, left_out.reason) for left_out in compared.left_out]
    about = {
        "title": options.title or compared.name,
        "failed": compared.failed,
        "missing": missing,
        "failures": [failure for failure in compared.failures if failure[0] not in dict(missing)],
        "notes": compared.notes,
    }
    for name, form in outputs:
        if form is not None:
            results.write_results(evidence.ConnectedPair, connected.pairs, form, noun=("pair",))
            continue
        from lshdb.apps.report.report import report as drawn  # which needs jinja2

        with files.output_to(name) as page, shown(messages.shows_progress(), "drawing") as progress:
            page.write(drawn(units, connected, options, about, hidden, progress).encode())
        if not is_stream(name):
            messages.message(f"wrote {paths.printable_path(name)}")
    if hidden is not None:
        masked = f"mail addresses and numbers {hidden.masked:,}"
        messages.message(f"replaced in texts: names {hidden.count:,}, {masked}")


def _hidden(units: folder_documents.Folders) -> Names:
    """The names that texts are shown without; what stays in them is printed."""
    database = Database(units.store)
    keys = units.names.keys() & units.files.keys()
    hidden = Names(units.names, ((key, str(database.get(key).content)) for key in keys))
    for name in hidden.usual:
        name = paths.printable_path(name)
        messages.warn(f"lshdb: {name} is a word of many submissions: it stays in the texts")
    for key in hidden.nameless:
        name = paths.printable_path(units.names[key])
        messages.warn(f"lshdb: {name}: no name is found in it: look for one in the texts")
    return hidden


def _outputs(output: Sequence[str] | None, as_json: bool) -> list[tuple[str, Form | None]]:
    """The files to write, with the form of rows; None for a page."""
    outputs: list[tuple[str, Form | None]] = []
    for name in output or ():
        is_page = is_stream(name) or name.lower().endswith(_HTML)
        form = None if is_page else Form(output=name)
        if form is not None:
            if paths.format_of(name) == "text":
                suffixes = ", ".join(kinds.ROWS)
                raise UsageError(
                    f"--output {name}: the name must end in .html, or for rows in {suffixes}"
                )
            form.check()
        outputs.append((name, form))
    if as_json:
        outputs.append((STDOUT, Form(as_json=True)))
    if not outputs:
        raise UsageError("give --output FILE.html, a file of rows such as FILE.csv, or --json")
    if sum(is_stdout(name) for name, _ in outputs) > 1:
        raise UsageError("give one of --output - and --json: both are written to standard output")
    return outputs


@dataclass(frozen=True, slots=True)
class _Compared:
    """The documents that a report is about.

    Attributes:
        store: the database, or a temporary one of submissions.
        settings: those by which units are compared.
        name: the heading that says what they are.
        lowest: minimum similarity of pairs.
        group_by: which folders are units.
        of_database: whether they are those of a database.
        usual: the similarity from which those of a database are in one cluster.
        failed: how many files could not be read.
        failures: the paths of these, as printed, and why; none if names are hidden.
        left_out: the submissions without a text to compare.
        notes: what the report says first.
    """

    store: Store
    settings: Settings
    name: str
    lowest: float
    group_by: GroupBy
    of_database: bool
    usual: float | None = None
    failed: int = 0
    failures: Sequence[tuple[str, str]] = ()
    left_out: Sequence[submissions.LeftOut] = ()
    notes: Sequence[str] = ()


@contextmanager
def _compared(
    file: DatabaseFile,
    options: ReportOptions,
    base: BasePaths,
    directory: str | None,
) -> Iterator[_Compared]:
    """The documents of the database, or the submissions of an input."""
    threshold, group_by = options.grouping.threshold, options.group_by
    if directory is not None:
        settings = _settings(options.submissions, base, threshold)
        with _submissions(directory, settings, group_by) as compared:
            yield compared
        return
    if base or options.submissions.purpose:
        raise UsageError("--for and --base are for INPUT; for a database, lshdb init has them")
    with file.reading() as database:
        settings = database.settings
        lowest = threshold or settings.threshold
        if settings.content and not settings.shingling.of_sets:
            lowest = min(lowest, _LOWEST)
        usual = settings.threshold
        if usual <= _LOWEST:
            # It was made so low to list pairs, and its clusters are those of its kind of documents.
            shingle = str(settings.shingling).partition(",")[0]
            usual = max(dict(PURPOSES.values()).get(shingle, THRESHOLD), usual)
        name = f"What connects the documents of {paths.printable_path(file.db.name)}"
        store = store_of(database)
        yield _Compared(store, settings, name, lowest, group_by, of_database=True, usual=usual)


@contextmanager
def _old(
    name: str, settings: Settings, group_by: GroupBy, new: str
) -> Iterator[folder_documents.Collection]:
    """Earlier work, as a collection; `new` is the name of the work that it is compared with."""
    shown_name = paths.printable_path(name)
    if os.path.exists(name) and os.path.exists(new) and os.path.samefile(name, new):
        raise UsageError(f"--old {shown_name} is what it would be compared with: name another one")
    if paths.is_database(name):
        with DatabaseFile(db=Path(name)).reading() as database:
            yield folder_documents.Collection(store_of(database), group_by, name=shown_name)
        return
    with _submissions(name, settings, group_by, of_old="--old ") as old:
        yield folder_documents.Collection(old.store, old.group_by, name=shown_name)


@contextmanager
def _units(
    compared: _Compared, options: ReportOptions, name: str
) -> Iterator[folder_documents.Folders]:
    """What a report compares: documents, folders, or submissions, and earlier ones.

    Raises:
        InputError: there are not two of them.
    """
    settings, condition = compared.settings, options.grouping.condition
    olds = options.old or ()
    is_text = settings.content and not settings.shingling.of_sets
    is_plain = compared.of_database and not (compared.group_by or options.anonymous or olds)
    if is_plain and (condition.where is None or not is_text):
        yield folder_documents.Folders(compared.store)
        return
    if settings.threshold > _LOWEST:
        settings = reindexed(ReindexOptions(threshold=min(compared.lowest, _LOWEST)), settings)
    group_by = options.group_by
    with ExitStack() as stack:
        collections = [folder_documents.Collection(compared.store, compared.group_by, condition)]
        collections += [
            stack.enter_context(_old(old, compared.settings, group_by, name)) for old in olds
        ]
        units = stack.enter_context(
            folder_documents.assembled(collections, settings, anonymous=options.anonymous)
        )
        if compared.of_database and group_by is not None and not olds:
            folder_documents.check_units(units, group_by)
        elif len(units.files) < 2 and (olds or not compared.of_database):
            noun = "document" if compared.of_database else "submission"
            alone = f"one {noun} alone, with nothing to compare it with"
            if group_by is not None:
                alone = f"--group-by {group_by} leaves {alone}"
            raise InputError(f"{paths.printable_path(name)}: {alone}")
        elif group_by is not None and units.new == 1:
            messages.warn(
                f"lshdb: {paths.printable_path(name)}: --group-by {group_by} leaves one submission"
                ", which is compared with earlier work alone"
            )
        yield units


def _notes(compared: _Compared, connected: evidence.Connections, file: DatabaseFile) -> list[str]:
    """What the database lacks that a report of its documents would use, and what adds it."""
    settings = compared.settings
    notes = []
    if connected.total > len(connected.pairs):
        notes.append(
            f"of {connected.total:,} pairs these are the {len(connected.pairs):,} with the highest "
            "scores"
        )
    if not compared.of_database or settings.shingling.of_sets:
        return notes
    if not settings.content:
        return ["the database keeps no texts: pairs are those of similar signatures", *notes]
    additions: dict[str, str] = {}  # what is missing, and the option that adds it
    run = _PASSAGES.get(settings.shingling.kind, 0)
    if run and (not settings.passages or settings.passages > run):
        copied = f"copied passages of {run} {_UNITS[settings.shingling.kind]} or more"
        additions[copied] = f"--passages {run}"
    if not settings.reworded and settings.shingling.kind != "code":
        additions["reworded passages"] = "--reworded on"
    if connected.limit is not None:
        additions[f"pairs of a similarity below {connected.limit:g}"] = f"--threshold {_LOWEST}"
    if additions:
        name = paths.printable_path(str(file.db))
        adds = f"lshdb reindex -d {name} {' '.join(additions.values())}"
        notes.insert(0, f"not searched: {' and '.join(additions)}; {adds} adds what is missing")
    return notes


def _renamed(compared: _Compared, units: folder_documents.Folders) -> _Compared:
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


def _settings(purpose: PurposeOptions, base: BasePaths, threshold: float | None) -> Settings:
    """The settings by which submissions are compared."""
    of_purpose = SettingsOptions(kind=purpose)
    shingling = resolve(of_purpose).shingling
    texts = base_texts(base, shingling) if base else None
    is_text = shingling.kind in ("word", "char")
    return resolve(
        replaced(
            of_purpose,
            threshold=min(_LOWEST, threshold or 1),
            passages=_PASSAGES.get(shingling.kind),
            reworded=is_text or None,
            base=texts,
        )
    )


@contextmanager
def _submissions(
    name: str, settings: Settings, group_by: GroupBy, of_old: str = ""
) -> Iterator[_Compared]:
    """The submissions of an input, in a temporary database; what cannot be read is printed."""
    notes = submissions.Notes()

    def failed(failure: model.Failure) -> None:
        documents.print_failure(failure)
        notes.failed(failure)

    is_directory = os.path.isdir(name)
    # Units are indexed when they are made of these documents.
    with temporary_database(plain_settings(settings)) as database:
        session = documents.session_for(settings.shingling, archives=True)
        session.counts.skipped.on_skip = notes.skipped
        progress = messages.shows_progress()
        missing = []
        if is_directory or not os.path.exists(name):
            report: model.AddReport | SyncReport = database.sync(
                [name], reader=session, on_failure=failed, progress=progress
            )
            missing = [*submissions.left_out_of(store_of(database), name, notes)]
        else:
            report = database.add_files([name], reader=session, on_failure=failed)
        names = {path for path, _ in notes.failures}
        for left_out in missing:
            if left_out.name not in names:
                messages.warn(f"lshdb: {left_out.name}: {left_out.reason}")
            database.remove(left_out.empty)
        documents.report_reading(session.counts.skipped.counts(), report.replaced)
        if not report.added:
            raise InputError(f"{of_old}{paths.printable_path(name)}: no text is in it")
        if is_directory:
            # A number is one of levels below the directory.
            is_depth = group_by is not None and str(group_by).isdigit()
            group_by = f"{name}{folder_documents.DEPTH}{group_by}" if is_depth else group_by or name
        elif group_by is None and paths.is_archive(name):
            group_by = "folder"
        yield _Compared(
            store_of(database),
            settings,
            f"Similar submissions in {paths.printable_path(name)}",
            settings.threshold,
            group_by,
            of_database=False,
            failed=len(notes.failures),
            failures=notes.failures,
            left_out=missing,
        )
