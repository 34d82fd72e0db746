"""The commands that show what a database holds, also in pages and pictures to hand on."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lshdb import __version__
from lshdb.cli import documents, files, messages, results, running
from lshdb.cli.options import (
    BasePaths,
    DatabaseFile,
    Form,
    Own,
    Who,
    key_argument,
)
from lshdb.cli.sql_values import with_values
from lshdb.errors import InputError, LshdbError, UsageError
from lshdb.groups import Option, regrouped
from lshdb.ingest.submissions import LeftOut, Notes, left_out_of
from lshdb.model import Bucket, Failure, Info
from lshdb.options import (
    PictureOptions,
    PurposeOptions,
    ReportOptions,
    SettingsOptions,
    StoredKey,
    WhereParameters,
)
from lshdb.progress import Progress, shown
from lshdb.search.documents import count_distinct
from lshdb.shingling.shingles import base_hashes
from lshdb.sketching.settings import Settings, settings_record
from lshdb.sources.outputs import Output
from lshdb.sources.paths import escaped, opened, printable_path
from lshdb.store.store import Store
from lshdb.tuning.resolve import PASSAGES_OF_PROGRAMS, resolve

if TYPE_CHECKING:
    from lshdb.ingest.folders import Folders

_LONGEST_SQL = 2_000_000
"""Bytes read of a statement: more than SQLite may take."""
_LOWEST = 0.2
"""Minimum similarity of pairs of submissions: 99% of copied programs have it (docs/class.md)."""
_MEASURED = 1 << 30
"""Bytes of a file whose tables are measured, which reads all of it: 1.4 s for 1 GB."""
_PASSAGES = {"code": PASSAGES_OF_PROGRAMS, "word": 8, "char": 40}
"""Tokens, words or characters of the shortest passage that is marked in submissions."""


def show(
    *,
    key: Annotated[str, key_argument(metavar="KEY", help="The document's key.")],
    at: DatabaseFile,
    form: Form,
) -> None:
    """Show one document: its sizes, its metadata, its signature, its buckets.

    A bucket is a line: the number of its band, its key, how many documents are in it.

    Example: lshdb show -d code.db src/main.py
    """
    with at.reading(form) as database:
        document = database.get(key)
        buckets = database.buckets(key)
        distinct = count_distinct(database.store, document)
        # Unknown for signatures made elsewhere.
        shingles = None if database.settings.shingling.foreign else document.shingles
    content = document.content
    lanes = [] if document.signature is None else document.signature.tolist()
    found: dict[str, Any] = {"key": document.key, "doc_id": document.doc_id}
    if isinstance(content, str):
        found |= {"characters": len(content), "bytes": len(content.encode())}
    elif content is not None:
        found["elements"] = len(content)
    found |= {
        "shingles": shingles,
        "distinct_shingles": distinct,
        "metadata": document.metadata,
        "signature": lanes,
        "buckets": [asdict(bucket) for bucket in buckets],
    }
    signed = f"{len(lanes)} lanes" if lanes else "none: no shingle, similar to nothing"
    results.write_record(found, form, {**found, "signature": signed, "buckets": len(buckets)})
    if form.is_text and buckets:
        results.write_results(Bucket, buckets, form)


def buckets(
    *,
    at: DatabaseFile,
    top: Annotated[int, Option("How many, the largest.", min=1)] = 10,
    key: StoredKey = None,
    form: Form,
) -> None:
    """Show the largest buckets, or all those of one stored document.

    A bucket is a line: the number of its band, its key, how many documents are in it.

    Example: lshdb buckets -d code.db --top 5
    """
    with at.reading(form) as database:
        found = database.buckets(key, top=top)
        results.write_results(Bucket, found, form, noun=("bucket",))


def sql(
    *,
    statement: Annotated[
        str,
        typer.Argument(
            metavar="SELECT", help="One statement that reads, in quotes; - for standard input."
        ),
    ],
    at: DatabaseFile,
    parameters: WhereParameters = (),
    form: Form,
) -> None:
    """Run a SELECT on the file's tables and views.

    Tables: settings, documents, signatures, bands, fingerprints, files, decisions. Views:
    buckets, bucket_members, candidate_pairs. Functions besides SQLite's:
    lsh_similarity(signature, signature), the estimated similarity, and lsh_shingles(content),
    the distinct shingles as a JSON array.

    On a terminal the output is a table, in a pipe like that of the sqlite3 shell, but with control
    characters as escapes. A BLOB is x'00ff', in JSON and CSV too.

    Example: lshdb sql "select * from buckets order by documents desc limit 5"

    Example: lshdb sql "select key from documents where shingles > ?" -p 1000
    """
    if statement == files.STDOUT:
        with opened(statement, files.stdin()) as given:
            statement = given.read(_LONGEST_SQL).decode("utf-8-sig", "replace")
    if statement.lstrip().startswith("."):
        raise UsageError(
            f"{statement!r} is a command of the sqlite3 shell, not SQL: lshdb sql --help names "
            "the tables"
        )
    statement, parameters = with_values(statement, [*map(str, parameters or ())], "the SQL")
    with at.reading(form) as database:
        rows = database.sql(statement, parameters)
        # Closed before the database: the last handle to close removes the log.
        with closing(rows):
            columns = dict.fromkeys(rows.columns, object)
            results.write_results(columns, rows.rows(), form)


def info(*, at: DatabaseFile, form: Form) -> None:
    """Show the database's settings and size.

    On a terminal: the documents, the settings in words, and the size of each table. In a pipe, a
    name and a value on a line.

    Example: lshdb info -d code.db
    """
    with at.reading(form) as database:
        info = database.info()
        if form.is_text and results.on_terminal():
            _print_info(info, database.store.table_bytes(_MEASURED))
            return
    record = {
        "documents": info.documents,
        "empty": info.empty,
        "unindexed": info.unindexed,
        **settings_record(info.settings),
        "base_shingles": len(base_hashes(info.settings.shingling, info.settings.seed)),
        "bytes": info.bytes,
    }
    base = {} if record["base"] else {"base": None, "base_shingles": None}
    results.write_record(record, form, record | base)


def _print_info(info: Info, tables: Mapping[str, int] | None) -> None:
    """Print what `info` shows to a person: groups of facts."""
    groups = info.in_words(tables)
    if tables is None:
        groups["Size"]["tables"] = "not measured: the file is large, or SQLite lacks dbstat"
    width = max(len(name) for facts in groups.values() for name in facts) + 2
    for title, facts in groups.items():
        print(title)
        for name, text in facts.items():
            print(f"  {name:<{width}}{escaped(text)}")


def serve(
    *,
    at: DatabaseFile,
    port: Annotated[
        int, Option("Port on this machine; 0 for any free one.", min=0, max=65535)
    ] = 8001,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the pages in a browser.")
    ] = False,
    review: Annotated[
        bool,
        Option("With buttons to decide: keep, drop, different (see lshdb decide)."),
    ] = False,
    open_files: Annotated[bool, Option("With links to the files of documents.")] = False,
    who: Who = None,
    own: Own = False,
) -> None:
    """Show the database in a browser: documents with their near duplicates, clusters, pairs.

    Prints the address of the pages, which only this machine can open. They only read; with
    --review they also store what you decide, but remove no document: lshdb remove --decided
    does. Ctrl-C ends it. Each page has its values as JSON too, under its address with .json.

    Needs pip install 'lshdb[web]'.

    Example: lshdb serve -d code.db --open

    Example: lshdb serve -d code.db --review --open
    """
    if (who is not None or own) and not review:
        raise UsageError("--who and --own go with --review")
    # First reports problems with the file.
    at.open("write" if review else "read").close()
    with installed("lshdb serve needs Starlette and jinja2"):
        from lshdb.review import reviewing
        from lshdb.web import app

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

    decides = reviewing.Review(at.db, who, own) if review else None
    app.serve(at.db, port, ready, decides, open_files)


def mcp(
    *,
    at: DatabaseFile,
    purpose: PurposeOptions,
    read_only: Annotated[bool, Option("Offer no tool that writes.")] = False,
) -> None:
    """Offer the database to a language model, as a server of the Model Context Protocol.

    A client of MCP starts it and speaks to it over standard input and output. It has tools to find
    similar texts, words, copied passages and clusters, to compare documents, to add a text unless
    similar ones are stored, and to remove documents; documents are resources. Without --read-only
    it makes the file if there is none.

    Needs pip install 'lshdb[mcp]'.

    Example: lshdb mcp -d facts.db --for short-text
    """
    if files.stdin() is None:
        raise InputError("standard input is closed: a client of MCP speaks over it")
    settings = regrouped(purpose, SettingsOptions)
    with at.open("read" if read_only else "create", settings) as database:
        with installed("lshdb mcp needs the SDK of MCP", "mcp"):
            from lshdb.agents.server import serve
        running.end_on_interrupt()
        serve(database, __version__, read_only)


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
    from lshdb.ingest.folders import check_units, folders  # nothing else needs it

    _check_name(report_file, ".html", ".htm")
    lowest, failed = None, 0
    left_out: Sequence[LeftOut] = ()
    failures: Sequence[tuple[str, str]] = ()
    _drawing()  # before submissions are read
    with ExitStack() as stack:
        if directory is None:
            if base or purpose.purpose:
                raise UsageError(
                    "--for and --base are for DIR; for a database, lshdb init has them"
                )
            store = stack.enter_context(at.reading()).store
            name = f"Near duplicates in {printable_path(at.db.name)}"
        else:
            settings = _settings(purpose, asked.threshold, base)
            lowest = settings.threshold
            usual = resolve(regrouped(purpose, SettingsOptions)).threshold
            asked = replace(
                asked,
                threshold=asked.threshold or usual,
                group_by=asked.group_by or directory,
            )
            store, failures, left_out = stack.enter_context(_submissions(directory, settings))
            failed = len(failures)
            name = f"Similar submissions in {printable_path(directory)}"
        read = () if directory else (at.db,)
        web, output, progress = stack.enter_context(_drawn(report_file, *read))
        found = stack.enter_context(folders(store, asked, anonymous=asked.anonymous))
        if directory is not None and len(found.files) < 2:
            alone = "one submission alone, with nothing to compare it with"
            raise InputError(f"{printable_path(directory)}: {alone}")
        if directory is None and asked.group_by is not None:
            check_units(found, asked.group_by)
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
        _say_next(report_file, at.db, "lshdb serve --review", "to decide what stays")
    else:
        _say_next(report_file)
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
    asked = regrouped(purpose, SettingsOptions, threshold=min(_LOWEST, threshold or 1))
    shingling = resolve(asked).shingling
    texts = documents.base_texts(base, shingling) if base else None
    return resolve(replace(asked, passages=_PASSAGES.get(shingling.kind), base=texts))


@contextmanager
def _submissions(
    directory: str, settings: Settings
) -> Iterator[tuple[Store, list[tuple[str, str]], list[LeftOut]]]:
    """A temporary database of the texts in a directory, the files that could not be read with the
    reasons, and the submissions without a text to compare.
    """
    failures, notes = documents.Failures(print_all=True), Notes()

    def failed(failure: Failure) -> None:
        failures.report(failure)
        notes.failed(failure)

    with documents.temporary_database(settings) as database:
        reader = documents.reader_for(database, archives=True)
        reader.skipped_files.on_skip = notes.skipped
        done = database.sync(
            [directory],
            reader=reader,
            on_failure=failed,
            progress=messages.shows_progress(),
        )
        names = {path for path, _ in notes.failures}
        missing = list(left_out_of(database.store, directory, notes))
        for one in missing:
            if one.name not in names:
                messages.warn(f"lshdb: {one.name}: {one.reason}")
            database.remove(one.empty)
        documents.report_reading(reader.skipped_files.counts(), done.replaced)
        if not done.added:
            raise InputError(f"{printable_path(directory)}: no text is in it")
        yield database.store, notes.failures, missing


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
    from lshdb.ingest.folders import folders  # nothing else needs it

    _check_name(plot_file, ".svg")
    with (
        at.reading() as database,
        folders(database.store, asked) as found,
        _drawn(plot_file, at.db) as (web, output, progress),
    ):
        output.write(web.plot(found, asked, printable_path(at.db.name), progress).encode())
    _say_next(plot_file, at.db, "lshdb pairs --sample 20 --fields text", "to read some pairs")


def _say_next(drawn: str, database: Path | None = None, command: str = "", why: str = "") -> None:
    """At a terminal, say what opens a file that was drawn, and which command goes on from there."""
    if not files.is_open_file(drawn):
        further = f"; {command} -d {shlex.quote(str(database))} {why}" if database else ""
        messages.hint(f"open {printable_path(drawn)} in a browser{further}")


def _check_name(name: str, *suffixes: str) -> None:
    """UsageError for an output whose name has another suffix."""
    if not files.is_open_file(name) and not name.lower().endswith(suffixes):
        raise UsageError(f"--output {name}: the name must end in {' or '.join(suffixes)}")


@contextmanager
def _drawn(name: str, *read: Path) -> Iterator[tuple[Any, Output, Progress]]:
    """The module that draws, an open file for what it draws, and what shows progress."""
    files.check_distinct(map(str, read), [name])
    web = _drawing()
    with files.output_to(name) as output, shown(messages.shows_progress(), "drawing") as progress:
        yield web, output, progress
    if not files.is_open_file(name):
        messages.message(f"wrote {printable_path(name)}")


def _drawing() -> Any:
    """The module that draws; LshdbError without jinja2."""
    with installed("lshdb report and plot need jinja2"):
        from lshdb.web import report as web
    return web


@contextmanager
def installed(needs: str, extra: str = "web") -> Iterator[None]:
    """LshdbError for an import in the block that an extra would bring."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("lshdb"):
            raise
        raise LshdbError(f"{needs}: pip install 'lshdb[{extra}]'") from error
