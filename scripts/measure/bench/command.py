"""scripts/bench: how fast lshdb is on this machine, and how its peers are.

Each engine runs in a separate process on the same documents, in turn with the others, several
times; reports show medians. `lshdb add` is the whole command, from a JSONL file to a closed,
durable file; peers index documents that are in memory already, in memory.
"""

import argparse
import os
import platform
import re
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from rich.console import Console

import lshdb
from measure.bench import (
    against,
    alike,
    contamination,
    dedup,
    dedup_peers,
    gate,
    lance,
    pages,
    passages,
    peers,
    records,
    scale,
    service,
)
from measure.common.commands import MEMORY_METHOD, PROC, CommandFailed
from measure.harness import report
from measure.harness.engines import NAMES, installed
from measure.harness.figures import Results, read, write
from measure.harness.lab import Lab

BENCHMARKS: Final[dict[str, ModuleType]] = {
    "peers": peers,
    "dedup": dedup,
    "alike": alike,
    "dedup-peers": dedup_peers,
    "contamination": contamination,
    "passages": passages,
    "pages": pages,
    "records": records,
    "scale": scale,
    "service": service,
    "gate": gate,
    "lance": lance,
    "against": against,
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "table":
        print(peers.markdown(*map(read, options.results)))
        return 0
    options.repeat = options.repeat or (1 if options.quick else 3)
    options.engines = [name for name in NAMES if installed(name) is not None]
    if options.command in ("peers", "all"):
        for name in {*NAMES} - {*options.engines}:
            print(f"scripts/bench: {name} is not installed and left out", file=sys.stderr)
    names = [name for name in BENCHMARKS if name != "against"]
    # None that names a place on this machine.
    kept = {
        name: value for name, value in vars(options).items() if name not in ("json", "directory")
    }
    results, failed = Results(facts(), kept, []), False
    if options.directory is not None:
        options.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.directory, prefix="lshdb-bench-") as directory:
        lab = Lab(options, Path(directory).resolve(), figures=results.figures)
        for name in names if options.command == "all" else [options.command]:
            lab.benchmark = name
            try:
                BENCHMARKS[name].run(lab)
            except CommandFailed as error:
                print(f"scripts/bench: {name}: {error}", file=sys.stderr)
                failed = True
            if options.json is not None:  # after each: a full run is long
                write(options.json, results)
    # As wide as the terminal; in a pipe as wide as the tables need.
    report.show(results, Console() if sys.stdout.isatty() else Console(width=200))
    return int(failed)


def facts() -> dict[str, Any]:
    """The machine and the versions, at this time."""
    described = (PROC / "cpuinfo").read_text() if PROC.is_dir() else ""
    model = re.search(r"^model name\s*: (.*)", described, re.MULTILINE)
    return {
        "cpu": model[1] if model else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if PROC.is_dir() else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
        "engines": {"lshdb": lshdb.__version__}
        | {name: found for name in NAMES[1:] if (found := installed(name)) is not None},
        "memory_method": MEMORY_METHOD if PROC.is_dir() else "not measured: no /proc",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--quick", action="store_true", help="small sizes, one repetition")
    common.add_argument("--documents", type=int, metavar="N", help="how many documents")
    common.add_argument(
        "--shingle", type=_shingle, help="word:W or char:K (default: word:3 or both)"
    )
    common.add_argument("--json", type=Path, metavar="OUT.jsonl", help="write all figures")
    common.add_argument("--repeat", type=int, help="repetitions (default 3; quick: 1)")
    common.add_argument(
        "--directory",
        type=Path,
        help="where files are made (default: TMPDIR), and environments kept (default: the cache)",
    )
    for name, module in BENCHMARKS.items():
        summary = (module.__doc__ or "").splitlines()[0].partition(": ")[2].replace("%", "%%")
        one = commands.add_parser(name, parents=[common], help=summary, description=module.__doc__)
        if module is against:
            one.add_argument("revision", metavar="REV", help="the earlier version, for git")
    commands.add_parser("all", parents=[common], help="all but against. Four hours.")
    table = commands.add_parser("table", help="print the table of the documentation from results")
    table.add_argument("results", type=Path, metavar="RESULTS.jsonl", nargs="+")
    return parser


def _shingle(text: str) -> str:
    if text.partition(":")[0] not in ("word", "char"):
        raise argparse.ArgumentTypeError(f"{text} is not word:W or char:K")
    return text
