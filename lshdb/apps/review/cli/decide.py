"""`lshdb decide`: store what you decided: keep, drop, or different."""

from typing import Annotated, get_args

import typer

from lshdb import formatting, model
from lshdb.apps.review import storing_decisions
from lshdb.apps.review.options import Who
from lshdb.cli import documents, files, messages, options
from lshdb.errors import KeyNotFound, UsageError
from lshdb.groups import Option, Options

_SHOWN_UNDONE = 20


class DecideOptions(Options):
    """What else is said of a decision, and where keys or decisions come from."""

    note: Annotated[str | None, Option("Why.", metavar="TEXT")] = None
    who: Who = None
    undo: Annotated[
        bool,
        Option("Undo what was decided last at once, or the decisions with these numbers."),
    ] = False
    from_: Annotated[
        str | None,
        Option(
            "Take keys, one a line, from a file or -; without a verdict, whole decisions.",
            metavar="FILE",
            flags=("--from",),
        ),
    ] = None
    null: options.Null = False


def decide(
    *,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="keep|drop|different KEY...",
            help="The verdict, and the documents: keys, or paths from here.",
            show_default=False,
        ),
    ] = None,
    as_keys: options.AsKeys = False,
    file: options.DatabaseFile,
    choice: DecideOptions,
) -> None:
    """Store what you decided about documents: keep, drop, or different.

    keep: this document stays, as the kept one of its cluster. drop: the next `lshdb remove
    --decided` removes it. different: these documents are not duplicates of each other, so pairs
    and clusters offer none of them in place of another.

    The file keeps decisions, with the note, who decided and when. A decision is about the present
    content: a document that changes is undecided again. A later decision overrules an earlier one.

    --undo undoes all that one command, or one key or button of a review, decided; with numbers
    only the decisions that have them.

    With a verdict, --from reads keys. Without one it reads decisions, as `lshdb decisions` writes
    them: the columns verdict and key (or keys, a JSON array), as JSON lines, CSV or Parquet;
    digests, note, who and decided may be missing.

    Example: lshdb decide drop drafts/old.txt --note "final: books/old.txt"

    Example: lshdb clusters --drop-list -0 | lshdb decide drop --from - -0

    Example: lshdb decide different licences/mit.txt licences/isc.txt
    """
    verdict, *names = words or [""]
    is_verdict, source = verdict in get_args(model.Verdict), choice.from_
    reads_decisions = source is not None and not is_verdict
    if source is not None and (choice.undo or names or (verdict and not is_verdict)):
        raise UsageError("give KEY..., or --undo, or --from, with a verdict alone or without one")
    if choice.null and (source is None or reads_decisions):
        raise UsageError("--null is for the keys of --from")
    if (choice.undo or reads_decisions) and choice.note is not None:
        raise UsageError("--note goes with a decision")
    if choice.undo:
        _undo(file, words or [])
        return
    if source is not None and reads_decisions:
        decisions = list(storing_decisions.decisions_of_file(source, files.stdin(), choice.who))
        with file.open("write") as database:
            new = database.add_decisions(decisions)
        messages.message(f"decisions: {new:,} new, {len(decisions) - new:,} known")
        return
    if source is not None:
        names = [*files.entries_of(source, null=choice.null)]
    elif not is_verdict or not names:
        raise UsageError("give keep, drop or different, and then KEY...")
    decided = ""
    if names:
        with file.open("write") as database:
            names = documents.stored_keys(database, names, as_keys=as_keys or source is not None)
            stored = database.decide(verdict, names, note=choice.note, who=choice.who)  # type: ignore[arg-type]
        last = f" to {stored[-1].decision}" if len(stored) > 1 else ""
        decided = f", decision {stored[0].decision}{last}"
    count = formatting.counted(len(set(names)), "document")
    messages.message(f"{verdict}: {count}{decided}")


def _undo(file: options.DatabaseFile, numbers: list[str]) -> None:
    """Undo the decisions with these numbers, or, without any, what was decided last at once."""
    for text in numbers:
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{text!r} is not the number of a decision: lshdb decisions has them")
    chosen = list(dict.fromkeys(map(int, numbers)))
    with file.open("write") as database:
        known = {decision.decision for decision in database.decisions()}
        if missing := [number for number in chosen if number not in known]:
            raise KeyNotFound(
                f"there is no decision {formatting.listed(missing, 10)}; nothing is undone"
            )
        undone = [*map(database.undo_decision, chosen)] or database.undo_last_decisions()
        for decision in undone[:_SHOWN_UNDONE]:
            messages.message(
                f"undone: {decision.decision}, {decision.verdict} {', '.join(decision.keys)}"
            )
        if len(undone) > _SHOWN_UNDONE:
            messages.message(f"undone: {len(undone) - _SHOWN_UNDONE:,} more")
