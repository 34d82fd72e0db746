"""against: this checkout beside an earlier version, whole commands in turn. Ten minutes.

Both versions are wheels, compiled to .pyc, in separate environments with the same dependencies.
They stay in --directory (or the user's cache), so that a second comparison with the same revision
starts at once. CPU seconds are those of the user and the
system, of a process and all its children; memory is that of the largest process. Each version
queries a file that it wrote itself. Ratios are medians over pairs of neighbouring runs, with their
range.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from measure.common.commands import Measured, measure
from measure.harness.corpora import Corpus, flush, read_texts, write_generated
from measure.harness.figures import CPU, OWN, SECONDS, Values
from measure.harness.lab import Job, Lab
from measure.harness.report import number

_PROJECT: Final = Path(__file__).resolve().parents[3]
_QUERIES: Final = """
import json, sys, lshdb
with open(sys.argv[2], encoding="utf-8") as lines, lshdb.open(sys.argv[1], mode="read") as db:
    print(sum(len(db.query(json.loads(line)["text"])) for line in lines), "matches")
"""
LARGEST: Final = "MB of the largest process"
RATIOS: Final = {CPU: "CPU ratio", SECONDS: "wall ratio", LARGEST: "memory ratio"}
MEGABYTES: Final = 500
_ADD: Final = "add"
_START: Final = ("start: query --text", "start: --help")
AIMS: Final = dict.fromkeys((_ADD, "query", "pairs", "dedup", "reindex"), 1.10) | dict.fromkeys(
    _START, 1.0
)
"""The jobs, with the maximum ratio of CPU, new to old."""
_STARTS: Final = 5
"""A start is short: it is measured this many times as often as the other jobs."""


@dataclass(frozen=True, slots=True)
class Version:
    """One of the two, installed.

    Attributes:
        name: "lshdb" for this checkout, else the revision.
        folder: of its environment.
    """

    name: str
    folder: Path


def run(lab: Lab) -> None:
    """Documents of 1 to 6 KB, all sizes equally often; a tenth are near duplicates."""
    versions = _install(lab)
    count = lab.count(100_000, quick=2_000)
    lab.say(f"against: generating {count:,} documents")
    corpus = write_generated(lab.fresh(".jsonl"), count, 6000, shortest=1000)
    queries = lab.queries(corpus, 500)
    jobs: list[Job] = []
    starts: list[Job] = []
    for version in versions:
        lab.say(f"against: warming up {version.name}")
        database, few = lab.fresh(".db"), lab.fresh(".db")
        _lshdb(version.folder, "add", "-q", "-d", database, corpus.path)
        _lshdb(version.folder, "add", "-q", "-d", few, _first(lab, corpus, 1000))
        text = read_texts(corpus.path, 1)[0]
        runs: dict[str, Callable[[], Measured]] = {
            _ADD: partial(_add, lab, version.folder, corpus.path),
            "query": partial(_run, version.folder, "python", "-c", _QUERIES, database, queries),
            "pairs": partial(_lshdb, version.folder, "pairs", "--json", "-d", database),
            "dedup": partial(_dedup, lab, version.folder, corpus.path),
            "reindex": partial(_reindex, lab, version.folder, database),
            _START[0]: partial(_lshdb, version.folder, "query", "--text", text, "-d", few),
            _START[1]: partial(_lshdb, version.folder, "--help"),
        }
        for name, one in runs.items():
            job = Job(name, corpus.documents, partial(_values, one), version.name)
            (starts if name in _START else jobs).append(job)
    # By job, so that the two versions run side by side.
    order = list(AIMS)
    jobs.sort(key=lambda job: order.index(job.case))
    starts.sort(key=lambda job: order.index(job.case))
    lab.measure(jobs)
    lab.measure(starts, _STARTS * lab.options.repeat)
    compare(lab, corpus.documents)


def compare(lab: Lab, documents: int) -> None:
    """Keep the ratios of what was measured, and their aims."""
    for name, cpu in AIMS.items():
        lab.keep(name, documents, list(_ratios(lab, name)))
        lab.aim(name, RATIOS[CPU], cpu, at_most=True)
        lab.aim(name, LARGEST, MEGABYTES, at_most=True)


def _values(run: Callable[[], Measured]) -> Values:
    done = run()
    return {CPU: done.cpu, SECONDS: done.seconds, LARGEST: done.largest / 1e6}


def _ratios(lab: Lab, name: str) -> Iterator[Values]:
    """The checkout over the earlier version, of each pair of neighbouring runs."""
    runs = {
        (one.engine == OWN, one.measure): one.runs
        for one in lab.figures
        if (one.benchmark, one.case) == (lab.benchmark, name)
    }
    for turn in range(len(runs[True, CPU])):
        yield {
            ratio: runs[True, measured][turn] / runs[False, measured][turn]
            for measured, ratio in RATIOS.items()
        }


# the jobs


def _run(environment: Path, program: str, *arguments: str | Path) -> Measured:
    # Not in the directory of this checkout: `python -c` and `-m` would import its lshdb.
    command = [environment / "bin" / program, *arguments]
    return measure(command, sample=False, directory=environment)


def _lshdb(environment: Path, *arguments: str | Path) -> Measured:
    return _run(environment, "lshdb", *arguments)


def _add(lab: Lab, environment: Path, path: Path) -> Measured:
    database = lab.fresh(".db")
    done = _lshdb(environment, "add", "-q", "-d", database, path)
    shutil.rmtree(database.parent)
    return done


def _dedup(lab: Lab, environment: Path, path: Path) -> Measured:
    output = lab.fresh(".jsonl")
    done = _lshdb(environment, "dedup", path, "-o", output)
    shutil.rmtree(output.parent)
    return done


def _reindex(lab: Lab, environment: Path, database: Path) -> Measured:
    copy = lab.fresh(".db")
    shutil.copy(database, copy)
    flush(copy)
    done = _lshdb(environment, "reindex", "--threshold", "0.7", "-d", copy)
    shutil.rmtree(copy.parent)
    return done


def _first(lab: Lab, corpus: Corpus, count: int) -> Path:
    path = lab.fresh(".jsonl")
    with corpus.path.open(encoding="utf-8") as lines:
        path.write_text(
            "".join(line for _, line in zip(range(count), lines, strict=False)), "utf-8"
        )
    return path


# the environments


def _install(lab: Lab) -> list[Version]:
    """Install both versions; the earlier one first, whose dependencies the other gets too."""
    commit = _git("rev-parse", "--verify", f"{lab.options.against}^{{commit}}")
    cache = lab.options.directory or Path(
        os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "lshdb"
    )
    folder = cache.resolve() / f"against-{commit[:12]}"
    constraints, ready = folder / "constraints.txt", folder / "ready"
    old = Version(commit[:7], folder / "old")
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        lab.say(f"against: installing {old.name}")
        tree = lab.directory / "worktree"
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            wheel = _wheel(lab, tree)
        finally:
            _git("worktree", "remove", "--force", str(tree))
        constraints.touch()
        _environment(old.folder, str(wheel), constraints)
        frozen = _pip(old.folder, "freeze", "--exclude", "lshdb").out
        constraints.write_text(frozen, "utf-8")
        ready.touch()
    lab.say("against: installing this checkout")
    new = Version(OWN, folder / "new")
    wheel = _wheel(lab, _PROJECT)
    _environment(new.folder, str(wheel), constraints)
    return [new, old]


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(_PROJECT), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"scripts/bench: git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _wheel(lab: Lab, project: Path) -> Path:
    target = lab.fresh("").parent
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    measure([*pip, "wheel", "--no-deps", "-w", target, project], sample=False)
    (wheel,) = target.glob("*.whl")
    return wheel


def _environment(folder: Path, wheel: str, constraints: Path) -> None:
    """Make an environment if there is none, and install a wheel, again if it was there."""
    if not folder.exists():
        measure([sys.executable, "-m", "venv", folder], sample=False)
    # Pip compiles what it installs to .pyc. The version's number may be the same as before.
    _pip(folder, "install", "-c", constraints, wheel)
    _pip(folder, "install", "--no-deps", "--force-reinstall", wheel)


def _pip(environment: Path, *arguments: str | Path) -> Measured:
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    return _run(environment, "python", *pip, *arguments)


# the report


def table(results: dict[str, Any]) -> Table:
    """A row for each job: both versions, their ratios, and what became of the aims."""
    figures = {
        (one["case"], one["engine"] == OWN, one["measure"]): one for one in results["figures"]
    }
    old = next((one["engine"] for one in results["figures"] if one["engine"] != OWN), "")
    title = (
        f"against {old}, {results['options']['repeat']} runs: this checkout, {old}, ratio (range)"
    )
    made = Table(title=title, title_justify="left")
    made.add_column("job")
    for name in ("CPU s", "wall s", "MB"):
        for column in (f"{name}, new", old, "new/old"):
            made.add_column(column, justify="right")
    made.add_column("aims")
    for case in dict.fromkeys(one["case"] for one in results["figures"]):
        cells: list[str] = []
        for measured, ratio in RATIOS.items():
            cells += [number(figures[case, own, measured]["median"]) for own in (True, False)]
            one = figures[case, True, ratio]
            cells.append(f"{one['median']:.2f} ({one['min']:.2f}-{one['max']:.2f})")
        aims = [
            f"{aim['measure']} {aim['wanted']}: {aim['verdict']}"
            for aim in results["aims"]
            if aim["case"] == case
        ]
        made.add_row(escape(case), *cells, "\n".join(aims))
    return made
