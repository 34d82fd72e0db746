"""scripts/bench in its short form: every benchmark runs, and pages show the kept results.

No speed is asserted: machines differ, and this one is busy with the tests.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import ROOT, Command
from measure.bench import command, contamination, dedup_peers, lance, pages, peers, scale
from measure.common import commands, generate
from measure.harness import corpora, engines, figures, lab, tasks

SCRIPTS = ROOT / "scripts"
RESULTS = SCRIPTS / "measure" / "bench" / "results"


def run_here(
    started: Sequence[str | Path], directory: Path | None = None, **_: object
) -> commands.Measured:
    """Stand in for `commands.measure`, which starts Python and loads lshdb each time."""
    own = len(commands.lshdb_command())
    if started[:own] == commands.lshdb_command():
        out = Command(directory or Path.cwd()).done(*started[own:]).out
    else:
        with redirect_stdout(StringIO()) as written, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["tasks", str(started[-1])])
            tasks.main()
        out = written.getvalue()
    return commands.Measured(out, 1, 0, 0)


@pytest.mark.parametrize("benchmark", [name for name in command.BENCHMARKS if name != "against"])
def test_a_benchmark_writes_its_figures(
    benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (commands, lab):
        monkeypatch.setattr(module, "measure", run_here)
    # Pieces of programs are of these, not of tens of thousands of installed modules.
    monkeypatch.setattr(corpora, "sysconfig", SimpleNamespace(get_path=lambda _: SCRIPTS))
    monkeypatch.setattr(generate, "VOCABULARY", 1_000)
    used = [name for name in ("lshdb", "datasketch") if engines.installed(name)]
    monkeypatch.setattr(command, "NAMES", used)
    out = tmp_path / "out.json"
    options = ["--quick", "--shingle", "word:3", "--documents", "40", "--json", str(out)]
    assert command.main([benchmark, *options, "--directory", str(tmp_path)]) == 0
    assert list(tmp_path.iterdir()) == [out], "its files are deleted"
    found = figures.read(out).figures
    assert {*(used if benchmark == "peers" else ["lshdb"])} <= {row.engine for row in found}
    names = set(peers.PARTS) if benchmark == "peers" else {benchmark}
    assert {figure.benchmark for figure in found} == names
    assert all(value >= 0 for figure in found for value in figure.runs)


def test_the_list_of_benchmarks_says_how_long_each_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        command.main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name, module in command.BENCHMARKS.items():
        first = (module.__doc__ or "").partition("\n")[0]
        assert re.search(r"\. (A|An|Ten|Half an|A quarter of an) (minutes?|hour)\.$", first), name
        assert first.partition(": ")[2] in shown


@pytest.mark.parametrize(
    ("name", "module", "pattern"),
    [
        ("table", peers, "*.jsonl"),
        ("lance", lance, "lance.jsonl"),
        ("scale", scale, "scale/*.jsonl"),
        ("pages", pages, "pages.jsonl"),
        ("dropped", dedup_peers, "peers/dedup.jsonl"),
        ("contamination", contamination, "peers/contamination.jsonl"),
    ],
)
def test_the_table_of_a_page_is_that_of_the_results(name: str, module: Any, pattern: str) -> None:
    """Who measures again also prints the tables again."""
    text = (ROOT / "docs" / "figures.md").read_text("utf-8")
    shown = text.partition(f"<!-- {name} -->\n")[2].partition("\n<!-- end of ")[0]
    assert shown == module.markdown(*map(figures.read, sorted(RESULTS.glob(pattern))))


def test_the_plot_of_the_page_is_that_of_the_results() -> None:
    drawn = runpy.run_path(str(SCRIPTS / "site" / "curve.py"))["draw"]()
    assert drawn == (ROOT / "docs" / "curve.svg").read_text("utf-8")


def test_figures_of_the_readme_are_those_of_their_page() -> None:
    page = (ROOT / "docs" / "figures.md").read_text("utf-8")
    items = (ROOT / "README.md").read_text("utf-8").split("\n- ")
    lines = [item.partition("\n\n")[0] for item in items]
    lines = [line for line in lines if "](docs/figures.md#" in line]
    assert len(lines) == 3
    for number in re.findall(r"\d[\d.,]*\d", " ".join(lines)):
        assert number in page
