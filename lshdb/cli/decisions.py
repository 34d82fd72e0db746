"""`lshdb decisions`: list the decisions, and whether they still hold."""

from collections.abc import Sequence
from typing import Annotated

from lshdb import formatting
from lshdb.cli import messages, options, results
from lshdb.database import Database, store_of
from lshdb.errors import UsageError
from lshdb.groups import Option
from lshdb.ingest import sync
from lshdb.ingest import trash as aside
from lshdb.model import Decision
from lshdb.search.decisions import Disagreement, agreements
from lshdb.sources import paths

_SHOWN = ("decision", "verdict", "keys", "state", "who", "decided", "note")


def decisions(
    *,
    file: options.DatabaseFile,
    drop: Annotated[bool, Option("Only those to drop documents.")] = False,
    files: Annotated[
        bool,
        Option("With --drop: print the files of the documents, if they are unchanged."),
    ] = False,
    disagreements: Annotated[
        bool, Option("Documents that one reviewer drops, and another one does not.")
    ] = False,
    null: options.Null = False,
    root: Annotated[
        str | None,
        Option("With --files: keys are paths from DIR. [default: .]", metavar="DIR"),
    ] = None,
    form: options.Form,
) -> None:
    """List the decisions about documents, and whether they still hold.

    A line has the number of a decision, the verdict, the keys, whether it holds, who decided,
    when, and the note. It no longer holds if a document has changed since, is missing, or a later
    decision overruled it.

    --files lists files whether or not another file holds a kept copy, and a warning names those
    without one: lshdb trash leaves them.

    `lshdb decide --from` reads what this writes with --json, --csv or -o, also for a copy of the
    database.

    Example: lshdb decisions -d code.db -o decisions.csv

    Example: lshdb decisions -d code.db --drop --files
    """
    if disagreements and (drop or files):
        raise UsageError("--disagreements goes without --drop and --files")
    if files and not (drop and form.is_text):
        raise UsageError("--files goes with --drop, and prints paths only")
    if (null or root is not None) and not files:
        raise UsageError("--null and --root are for the paths of --files")
    with file.reading(form) as database:
        if files:
            _print_files(database, root, null=null)
            return
        stored = database.decisions()
        if disagreements:
            _write_disagreements(stored, form)
            return
        results.write_results(
            Decision,
            (decision for decision in stored if decision.verdict == "drop" or not drop),
            form,
            shown=_SHOWN,
            noun=("decision",),
            none="nothing is decided yet: see lshdb decide --help",
        )


def _write_disagreements(stored: Sequence[Decision], form: options.Form) -> None:
    """Write what reviewers disagree about, and note how much each two of them agree."""
    agreed, disagreements = agreements(stored)
    results.write_results(Disagreement, disagreements, form)
    for agreement in agreed:
        kappa = "" if agreement.kappa is None else f"; Cohen's kappa is {agreement.kappa:.2f}"
        messages.message(
            f"{agreement.a} and {agreement.b} agree about {agreement.agreed:,} of "
            f"{formatting.counted(agreement.documents, 'document')}{kappa}"
        )


def _print_files(database: Database, root: str | None, *, null: bool) -> None:
    """Print the paths of files to drop, and say why others are none, or are the only copy."""
    to_drop = list(sync.files_of_dropped(store_of(database), root))
    if alone := aside.files_without_copy(store_of(database), to_drop, root):
        names = formatting.listed(
            [paths.escaped(paths.printable_path(dropped.path)) for dropped in alone], 3
        )
        messages.warn(
            f"lshdb: {formatting.counted(len(alone), 'file')} listed without a kept copy in "
            f"another file: {names}; lshdb trash leaves them"
        )
    unprintable = 0
    for dropped in to_drop:
        name = paths.escaped(paths.printable_path(dropped.path))
        if dropped.status is not None:
            unprintable += name != dropped.path
            results.print_names([dropped.path], null=null)
        elif dropped.reason != sync.NO_FILE:
            messages.warn(f"lshdb: {name}: left out: {dropped.reason}")
    if unprintable and not null:
        messages.warn(
            "lshdb: names that are not UTF-8 or have control characters, such as newlines, are "
            f"written with backslashes: {unprintable:,}; -0 prints them as they are"
        )
