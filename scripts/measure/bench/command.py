"""scripts/bench: how fast lshdb is on this machine, and how its peers are.

Each engine runs in a process of its own on the same documents, in turn with the others, several
times; medians are told. `lshdb add` is the whole command, from a JSONL file to a closed, durable
file; peers index documents that are in memory already, in memory. Ratios and aims are about
medians.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import bench_check
import bench_dedup
import bench_hot
import bench_ingest
import bench_inputs
import bench_join
import bench_kernels
import bench_pairs
import bench_query
import bench_reindex
import bench_scale
import bench_spark
import bench_startup
import machine
import report
from engines import NAMES, installed
from figures import Aim, Figure, results
from lab import Lab, Options
from processes import CommandFailed
from rich.console import Console

BENCHMARKS: Final[dict[str, ModuleType]] = {
    "kernels": bench_kernels,
    "ingest": bench_ingest,
    "query": bench_query,
    "join": bench_join,
    "pairs": bench_pairs,
    "hot": bench_hot,
    "dedup": bench_dedup,
    "check": bench_check,
    "reindex": bench_reindex,
    "inputs": bench_inputs,
    "scale": bench_scale,
    "startup": bench_startup,
}
ALONE: Final[dict[str, ModuleType]] = {"spark": bench_spark}
"""What `all` leaves out."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    if given.command == "table":
        runs = [json.loads(path.read_text("utf-8")) for path in given.results]
        print(report.markdown(runs))
        return 0
    options = _options(given)
    names = list(BENCHMARKS) if given.command == "all" else [given.command]
    facts = machine.facts()
    figures: list[Figure] = []
    aims: list[Aim] = []
    found: dict[str, Any] = {}
    failed = False
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="lshdb-bench-") as directory:
        lab = Lab(options, Path(directory))
        for name in names:
            try:
                figures += _module(name).run(lab)
            except CommandFailed as error:
                print(f"scripts/bench: {name}: {error}", file=sys.stderr)
                failed = True
            aims += _module(name).aims(options)
            found = results(facts, _record(given.command, options), figures, aims)
            if given.json is not None:  # after each: a full run is long
                given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    report.show(found, _console())
    return int(failed)


def _module(name: str) -> ModuleType:
    return (BENCHMARKS | ALONE)[name]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--quick", action="store_true", help="small sizes, one repetition")
    common.add_argument("--documents", type=_count, metavar="N", help="how many documents")
    common.add_argument("--size", type=_count, metavar="BYTES", help="of a document")
    common.add_argument("--shingle", metavar="word:W|char:K", help="default: word:3, or both")
    common.add_argument("--input", type=Path, metavar="FILE.jsonl", help="documents of your own")
    common.add_argument("--json", type=Path, metavar="OUT.json", help="write all figures")
    common.add_argument("--engines", default=",".join(NAMES), help="default: %(default)s")
    common.add_argument("--repeat", type=_count, help="repetitions (default 3; quick: 1)")
    common.add_argument("--directory", type=Path, help="where files are made (default: as TMPDIR)")
    for name, module in (BENCHMARKS | ALONE).items():
        own = commands.add_parser(
            name, parents=[common], help=_first_line(module), description=module.__doc__
        )
        if name == "scale":
            _add_sets(own)
    _add_sets(commands.add_parser("all", parents=[common], help="every benchmark"))
    table = commands.add_parser("table", help="print the README's table from the JSON of runs")
    table.add_argument("results", type=Path, metavar="RESULTS.json", nargs="+")
    return parser


def _add_sets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sets",
        type=_count,
        nargs="?",
        const=0,
        metavar="N",
        help=f"also add N sets (default {bench_scale.SETS_FULL:,}; "
        f"quick: {bench_scale.SETS_QUICK:,}); `all` always does",
    )


def _first_line(module: ModuleType) -> str:
    text = (module.__doc__ or "").splitlines()[0]
    return text.partition(": ")[2]


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
    for name in missing:
        print(f"scripts/bench: {name} is not installed and left out", file=sys.stderr)
    sets = getattr(given, "sets", None)
    if sets == 0 or (sets is None and given.command == "all"):
        sets = given.documents or (bench_scale.SETS_QUICK if given.quick else bench_scale.SETS_FULL)
    return Options(
        engines=tuple(name for name in wanted if name not in missing),
        quick=given.quick,
        documents=given.documents,
        size=given.size,
        shingle=given.shingle,
        input=given.input,
        sets=sets or 0,
        repeat=given.repeat or (1 if given.quick else 3),
    )


def _record(command: str, options: Options) -> dict[str, Any]:
    return {
        "command": command,
        "quick": options.quick,
        "documents": options.documents,
        "size": options.size,
        "shingle": options.shingle,
        "input": None if options.input is None else str(options.input),
        "engines": list(options.engines),
        "sets": options.sets,
        "repeat": options.repeat,
    }


def _console() -> Console:
    """As wide as the terminal; in a pipe as wide as the tables need."""
    return Console() if sys.stdout.isatty() else Console(width=200)


if __name__ == "__main__":
    sys.exit(main())
