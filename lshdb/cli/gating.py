"""The command that checks a repository: gate."""

from __future__ import annotations

from typing import Annotated

import typer

from lshdb import __version__
from lshdb.cli import messages, options, results
from lshdb.errors import UsageError
from lshdb.gate import Finding, sarif, summary
from lshdb.gate import gate as check
from lshdb.groups import Option
from lshdb.options import GateOptions
from lshdb.sources.paths import escaped


def gate(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Files to check. [default: all that git tracks]"),
    ] = None,
    asked: GateOptions,
    as_sarif: Annotated[bool, Option("Print SARIF 2.1.0, for GitHub.", flags=("--sarif",))] = False,
    form: options.Form,
) -> bool:
    """Check what changes of a repository copy from elsewhere in it.

    It finds passages that changed lines have in common with another file, and new files that are
    near duplicates of another one, and then exits with status 1. Programs are compared by their
    tokens, whatever names, comments and spaces are, texts (Markdown and the like) by their words.
    The index is kept below .git and brought in step with the files that git tracks.

    Example: lshdb gate --since origin/main

    Example: lshdb gate --json > accepted.jsonl; lshdb gate --baseline accepted.jsonl
    """
    if as_sarif and not form.is_text:
        raise UsageError("give one of --sarif, --json, --csv and --output")
    form.check(*(files or ()))
    done = check(files or [], asked, messages.shows_progress())
    if as_sarif:
        results.json_line(sarif(done.found, __version__))
    elif form.is_text:
        for one in done.found:
            lines = f":{one.line}-{one.end_line}" if one.similarity is None else ""
            print(escaped(f"{one.file}{lines}: {one.message}"))
    else:
        results.write_results(Finding, done.found, form, noun=("finding",))
    for key in done.unknown:
        messages.warn(f"lshdb: {key}: not checked: git does not track it, or its kind is not read")
    messages.message(summary(done))
    return bool(done.found)
