"""`lshdb decide`: store what you decided: keep, drop, or different."""

from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from lshdb import formatting, model
from lshdb.apps.review import storing_decisions
from lshdb.cli import documents, files, messages, options
from lshdb.errors import KeyNotFound, UsageError
from lshdb.groups import Option

_SHOWN_UNDONE = 20


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
    note: Annotated[str | None, Option("Why.", metavar="TEXT")] = None,
    who: options.Who = None,
    undo: Annotated[
        bool,
        Option("Undo what was decided last at once, or the decisions with these numbers."),
    ] = False,
    from_: Annotated[
        str | None,
        Option(
            "Take keys, one a line, from a file or -; without a verdict, whole decisions.",
            metavar="FILE",
            flags=("--from",),
        ),
    ] = None,
    null: options.Null = False,
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
    words = words or []
    are_keys = from_ is not None and len(words) == 1 and words[0] in get_args(model.Verdict)
    if from_ is not None and (undo or (words and not are_keys)):
        raise UsageError("give KEY..., or --undo, or --from, with a verdict alone or without one")
    if null and not are_keys:
        raise UsageError("--null is for the keys of --from")
    if (undo or (from_ is not None and not are_keys)) and note is not None:
        raise UsageError("--note goes with a decision")
    if undo:
        _undo(file, words)
    elif are_keys and from_ is not None:
        if keys := [*files.entries_of(from_, null=null)]:
            _decide(file, words + keys, note, who, as_keys=True)
        else:
            messages.message(f"{words[0]}: 0 documents")
    elif from_ is not None:
        decisions = list(storing_decisions.decisions_of_file(from_, files.stdin(), who))
        with file.open("write") as database:
            new = database.add_decisions(decisions)
        messages.message(f"decisions: {new:,} new, {len(decisions) - new:,} known")
    else:
        _decide(file, words, note, who, as_keys=as_keys)


def _decide(
    file: options.DatabaseFile,
    words: Sequence[str],
    note: str | None,
    who: str | None,
    *,
    as_keys: bool,
) -> None:
    """Store a verdict, the first word, about the documents that follow it."""
    if len(words) < 2 or words[0] not in get_args(model.Verdict):
        raise UsageError("give keep, drop or different, and then KEY...")
    verdict, *names = words
    with file.open("write") as database:
        keys = documents.stored_keys(database, names, as_keys=as_keys)
        stored = database.decide(verdict, keys, note=note, who=who)  # type: ignore[arg-type]
    numbers = f"{stored[0].decision}" + (f" to {stored[-1].decision}" if len(stored) > 1 else "")
    messages.message(
        f"{verdict}: {formatting.counted(len(set(keys)), 'document')}, decision {numbers}"
    )


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
