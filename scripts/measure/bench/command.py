"""scripts/bench: how fast lshdb is on this machine, and how its peers are.

Each engine runs in a separate process on the same documents, in turn with the others, several
times; reports show medians, and compare medians with peers and aims. `lshdb add` is the whole
command, from a JSONL file to a closed, durable file; peers index documents that are in memory
already, in memory.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from rich.console import Console

from measure.bench import (
    against,
    contamination,
    dedup,
    dedup_peers,
    gate,
    pages,
    passages,
    peers,
    scale,
    service,
)
from measure.common.commands import CommandFailed
from measure.harness import machine, report
from measure.harness.engines import NAMES, installed
from measure.harness.figures import read, results, write
from measure.harness.lab import Lab, Options

BENCHMARKS: Final[dict[str, ModuleType]] = {
    "peers": peers,
    "dedup": dedup,
    "dedup-peers": dedup_peers,
    "contamination": contamination,
    "passages": passages,
    "pages": pages,
    "scale": scale,
    "service": service,
    "gate": gate,
    "against": against,
}


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["--against"]:
        arguments[0] = "against"
    given = _parser().parse_args(arguments)
    if given.command == "table":
        runs = [read(path) for path in given.results]
        print(report.markdown(runs))
        return 0
    options = _options(given)
    names = [name for name in BENCHMARKS if name != "against"]
    names = names if given.command == "all" else [given.command]
    facts = machine.facts()
    found: dict[str, Any] = {}
    failed = False
    if given.directory is not None:
        given.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="lshdb-bench-") as directory:
        lab = Lab(options, Path(directory).resolve())
        for name in names:
            lab.benchmark = name
            try:
                BENCHMARKS[name].run(lab)
            except CommandFailed as error:
                print(f"scripts/bench: {name}: {error}", file=sys.stderr)
                failed = True
            found = results(facts, _record(given.command, options), lab.figures, lab.aims)
            if given.json is not None:  # after each: a full run is long
                write(given.json, found)
    if given.command == "against" and not failed:
        _console().print(against.table(found))
    elif found:
        report.show(found, _console())
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--quick", action="store_true", help="small sizes, one repetition")
    common.add_argument("--documents", type=_count, metavar="N", help="how many documents")
    common.add_argument("--shingle", metavar="word:W|char:K", help="default: word:3, or both")
    common.add_argument("--input", type=Path, metavar="FILE.jsonl", help="documents of your own")
    common.add_argument("--json", type=Path, metavar="OUT.json", help="write all figures")
    common.add_argument("--engines", default=",".join(NAMES), help="default: %(default)s")
    common.add_argument("--repeat", type=_count, help="repetitions (default 3; quick: 1)")
    common.add_argument(
        "--directory",
        type=Path,
        help="where files are made (default: TMPDIR); `against` keeps its environments there",
    )
    for name, module in BENCHMARKS.items():
        own = commands.add_parser(
            name, parents=[common], help=_first_line(module), description=module.__doc__
        )
        if name == "against":
            own.add_argument("revision", metavar="REV", help="the earlier version, for git")
    commands.add_parser("all", parents=[common], help="all but against. Four hours.")
    table = commands.add_parser("table", help="print the table of the documentation from JSON")
    table.add_argument("results", type=Path, metavar="RESULTS.json", nargs="+")
    return parser


def _first_line(module: ModuleType) -> str:
    text = (module.__doc__ or "").splitlines()[0]
    return text.partition(": ")[2].replace("%", "%%")


def _count(text: str) -> int:
    number = int(text.replace("_", "").replace(",", ""))
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def _options(given: argparse.Namespace) -> Options:
    wanted = list(dict.fromkeys(given.engines.split(",")))
    for name in wanted:
        if name not in NAMES:
            raise SystemExit(f"scripts/bench: no engine {name!r}; there are {', '.join(NAMES)}")
    if given.shingle is not None and given.shingle.partition(":")[0] not in ("word", "char"):
        raise SystemExit(f"scripts/bench: --shingle {given.shingle} is not word:W or char:K")
    if given.input is not None and not given.input.is_file():
        raise SystemExit(f"scripts/bench: {given.input} is not a file")
    missing = [name for name in wanted if installed(name) is None]
    for name in missing if given.command in ("peers", "all") else ():
        print(f"scripts/bench: {name} is not installed and left out", file=sys.stderr)
    return Options(
        engines=tuple(name for name in wanted if name not in missing),
        quick=given.quick,
        documents=given.documents,
        shingle=given.shingle,
        input=given.input,
        repeat=given.repeat or (1 if given.quick else 3),
        against=getattr(given, "revision", ""),
        directory=given.directory,
    )


def _record(command: str, options: Options) -> dict[str, Any]:
    """The options in the JSON: none that names a place on this machine."""
    record = {"command": command} | asdict(options)
    del record["directory"]
    return record | {"input": None if options.input is None else str(options.input)}


def _console() -> Console:
    """As wide as the terminal; in a pipe as wide as the tables need."""
    return Console() if sys.stdout.isatty() else Console(width=200)
