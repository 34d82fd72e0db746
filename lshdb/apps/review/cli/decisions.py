"""`lshdb decisions`: list the decisions, and whether they still hold."""

from typing import Annotated

from lshdb.apps.review import dropped_files
from lshdb.apps.review.cli import proving
from lshdb.apps.review.decisions import Decision
from lshdb.cli import options, results
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.groups import Option
from lshdb.read import proof

_SHOWN = ("decision", "verdict", "keys", "state", "who", "decided", "note")


def decisions(
    *,
    file: options.DatabaseFile,
    drop: Annotated[bool, Option("Only those to drop documents.")] = False,
    files: Annotated[
        bool,
        Option("With --drop: print the files of the documents that can be deleted."),
    ] = False,
    yes: Annotated[
        bool,
        Option(
            "With --files: also those of which no other file holds a kept copy.",
            flags=("--yes", "-y"),
        ),
    ] = False,
    null: options.Null = False,
    form: options.Form,
) -> None:
    """List the decisions about documents, and whether they still hold.

    A line has the number of a decision, the verdict, the keys, whether it holds, who decided,
    when, and the note. It no longer holds if a document has changed since, is missing, or a later
    decision overruled it.

    --files lists files that can be deleted, by paths from here: each has the bytes that were
    decided on, and another file holds a copy that is kept. Both are read now. Others are named with
    the reason, with exit status 1; --yes lists files without a copy, too.

    `lshdb decide --from` reads what this writes with --json, --csv or -o, also for a copy of the
    database.

    Example: lshdb decisions -d code.db -o decisions.csv

    Example: lshdb decisions -d code.db --drop --files
    """
    if files and not (drop and form.is_text):
        raise UsageError("--files goes with --drop, and prints paths only")
    if (null or yes) and not files:
        raise UsageError("--null and --yes are for the paths of --files")
    with file.reading(form) as database:
        if files:
            store = store_of(database)
            going = dropped_files.dropped_files(store, proof.proof_of(store), without_copy=yes)
            proving.print_files(going, null=null)
            return
        results.write_results(
            Decision,
            (
                decision
                for decision in database.decisions()
                if decision.verdict == "drop" or not drop
            ),
            form,
            shown=_SHOWN,
            noun=("decision",),
            none="nothing is decided yet: see lshdb decide --help",
        )
