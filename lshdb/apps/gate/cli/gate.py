"""The gate of a repository, as people and other programs read it."""

import sys
from collections import Counter
from typing import Annotated

import typer

from lshdb import groups
from lshdb.apps.gate.gate import Finding, Findings, left_out, sarif, summary
from lshdb.apps.gate.gate import gate as check
from lshdb.apps.gate.options import GateOptions
from lshdb.cli import documents, files, messages, results
from lshdb.cli.options import Form
from lshdb.errors import UsageError
from lshdb.formatting import counted
from lshdb.json_text import encode
from lshdb.options import OUTPUT
from lshdb.read.json_rows import in_ascii
from lshdb.read.outputs import STDOUT, is_stream
from lshdb.read.paths import escaped

_SARIF = ".sarif"
_WORST = 5
"""Pairs of files that a summary shows."""
_PLACES = {"file": str, "other": str, "tokens": int}
_PAIR_COLUMNS = {"file": str, "other": str, "findings": int, "tokens": int}


class GateForm(groups.Options):
    """The format of findings: as for other commands, or SARIF."""

    section = OUTPUT

    usual: Form
    as_sarif: Annotated[
        bool, groups.Option("Print SARIF 2.1.0, for GitHub.", flags=("--sarif",))
    ] = False

    @property
    def is_sarif(self) -> bool:
        """Whether the log of SARIF is wanted, on standard output or in a file."""
        return self.as_sarif or (self.usual.output or "").endswith(_SARIF)

    def __post_init__(self) -> None:
        usual = self.usual
        if self.as_sarif and (usual.as_json or usual.as_csv):
            raise UsageError("give one of --sarif, --json and --csv")
        if self.as_sarif and usual.output and not usual.output.endswith(_SARIF):
            raise UsageError(f"--sarif --output {usual.output}: the name must end in {_SARIF}")


def gate(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Files or directories to check. [default: all that git tracks]",
        ),
    ] = None,
    options: GateOptions,
    form: GateForm,
) -> bool:
    """Find what changes of a repository copy from its other files.

    It finds passages that changed lines have in common with another file, and new files that are
    near duplicates of another one, and then exits with status 1, as where a file cannot be read.
    Programs are compared by their tokens, whatever names, comments and spaces are, texts (Markdown
    and the like) by their words.
    The index is kept below .git and brought in step with the files that git tracks.

    Imports, licences, generated files, tables of literals, and what is between `lshdb:
    ignore-start` and `lshdb: ignore-end` in comments do not count, unless --count-all is given.

    Example: lshdb gate --since origin/main

    Example: lshdb gate --json > known.jsonl; lshdb gate --baseline known.jsonl
    """
    checked_paths = paths or []
    read = (*checked_paths, *filter(None, [options.baseline]))
    if not form.is_sarif:
        form.usual.check(*read)
    elif form.usual.output is not None:
        files.check_distinct(read, [form.usual.output])
    done = check(checked_paths, options, messages.shows_progress())
    if form.is_sarif:
        _write_sarif(done, form.usual.output)
    elif not form.usual.is_text:
        results.write_results(Finding, done.found, form.usual, noun=("finding",))
    elif sys.stdout.isatty():
        _show(done)
    else:
        for finding in done.found:
            print(escaped(f"{_places(finding)[0]}: {finding.message}"))
    for failure in done.failures:
        documents.print_failure(failure)
    for note in done.notes:
        messages.warn(f"lshdb: {escaped(note)}")
    messages.message(summary(done))
    if ignored := left_out(done):
        messages.message(ignored)
    return bool(done.found or done.failures)


def _write_sarif(done: Findings, output: str | None) -> None:
    """Write the log to a file, whole or not at all, or to standard output."""
    line = in_ascii(encode(sarif(done))) + b"\n"
    with files.output_to(STDOUT if output is None else output) as file:
        file.write(line)
    if output is not None and not is_stream(output):
        messages.message(f"{output}: {counted(len(done.found), 'finding')}")


def _places(finding: Finding) -> tuple[str, str]:
    """Both places of a finding: two files, or lines in them."""
    if finding.similarity is not None:
        return finding.file, finding.other
    return (
        f"{finding.file}:{finding.line}-{finding.end_line}",
        f"{finding.other}:{finding.other_line}-{finding.other_end_line}",
    )


def _show(done: Findings) -> None:
    """Print a summary for people: both places of each finding, the worst pairs, and the share."""
    form = Form()
    rows = [(*_places(finding), finding.tokens) for finding in done.found]
    if rows:
        results.write_results(_PLACES, rows, form)
    pairs = Counter((finding.file, finding.other) for finding in done.found)
    tokens = Counter[tuple[str, str]]()
    for finding in done.found:
        tokens[finding.file, finding.other] += finding.tokens
    if len(pairs) > 1:
        print(f"Most copied, of {counted(len(pairs), 'pair')} of files:")
        worst = [(*pair, pairs[pair], count) for pair, count in tokens.most_common(_WORST)]
        results.write_results(_PAIR_COLUMNS, worst, form)
    print(f"Copied: {done.share:.1%} of the {done.tokens:,} tokens of the checked files")
