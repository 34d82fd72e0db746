"""scripts/bench in its short form: every benchmark runs, and prints what it measured.

No speed is asserted: machines differ, and this one is busy with the tests.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import measure
import pytest
from helpers import Command, Result
from measure.bench import against, command, dedup_peers, pages, scale
from measure.common import brute_force, commands, generate
from measure.harness import corpora, engines, figures, report, tasks
from measure.harness import lab as laboratory
from measure.harness.lab import Lab, Options

SCRIPTS = Path(measure.__file__).resolve().parents[1]

BENCHMARKS = (
    "kernels",
    "ingest",
    "query",
    "join",
    "many",
    "pairs",
    "hot",
    "passages",
    "passages-header",
    "dedup",
    "check",
    "reindex",
    "inputs",
    "processes",
    "scale",
    "single",
    "startup",
    "pages",
)
PEERS = engines.NAMES[1:]
INSTALLED = [name for name in engines.NAMES if engines.installed(name) is not None]
OF_PEERS = ("kernels", "ingest", "query", "join")
IN_PROCESSES = ("ingest", "scale")
"""Those whose commands and tasks are started and measured from outside here too."""
DOCUMENTS = 40
STARTED = commands.measure

Record = dict[str, Any]


def bench_command(*arguments: str | Path) -> Result:
    """Run scripts/bench, without the setting up, in this process."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            status = command.main([*map(str, arguments)])
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
            print(ended.code, file=sys.stderr)
    return Result(out.getvalue(), err.getvalue(), status)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


def run_here(
    command: Sequence[str | Path],
    *,
    sample: bool = True,
    variables: Mapping[str, str] | None = None,
) -> commands.Measured:
    """Stand in for `commands.measure`, which starts a process each time; memory is not measured.

    A command of lshdb runs in a copy of a process that has loaded it, a task in this process; that
    of a peer is started, for what it loads stays.
    """
    begun = time.perf_counter()
    if command[: len(commands.lshdb_command())] == commands.lshdb_command():
        arguments = command[len(commands.lshdb_command()) :]
        done = Command(Path.cwd()).done(*arguments)
        return commands.Measured(done.out, time.perf_counter() - begun, 0, 0, [])
    spec = str(command[-1])
    assert command == commands.own_script("harness.tasks", spec)
    if json.loads(spec).get("engine", "lshdb") != "lshdb":
        return STARTED(command, sample=sample, variables=variables)
    with redirect_stdout(StringIO()) as out, mock.patch.object(sys, "argv", [command[1], spec]):
        tasks.main()
    return commands.Measured(out.getvalue(), time.perf_counter() - begun, 0, 0, [])


@cache
def run(benchmark: str, directory: Path) -> Record:
    """The JSON of a benchmark, in its short form, with every engine that is installed."""
    measuring = STARTED if benchmark in IN_PROCESSES else run_here
    out = directory / f"{benchmark}.json"
    options: list[str | Path] = ["--quick", "--documents", str(DOCUMENTS), "--json", out]
    options += ["--engines", ",".join(INSTALLED if benchmark in OF_PEERS else ["lshdb"])]
    options += ["--shingle", "word:3"]
    if benchmark == "scale":
        options += ["--sets", "200"]
    with (
        mock.patch.object(commands, "measure", measuring),
        mock.patch.object(laboratory, "measure", measuring),
    ):
        done = bench_command(benchmark, *options, "--directory", directory)
    assert done.status == 0, done.err
    assert benchmark in done.out
    assert {path.suffix for path in directory.iterdir()} == {".json"}, "its files are deleted"
    found: Record = figures.read(out)
    return found


def measured(results: Record, engine: str) -> dict[str, float]:
    """The medians of an engine, by measure; of the last case."""
    return {one["measure"]: one["median"] for one in results["figures"] if one["engine"] == engine}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_benchmark_writes_its_figures(benchmark: str, directory: Path) -> None:
    results = run(benchmark, directory)
    assert list(results) == ["machine", "options", "figures", "ratios", "aims"]
    assert {"cpu", "cores", "python", "numpy", "sqlite", "date", "engines", "memory_method"} <= (
        results["machine"].keys()
    )
    assert results["options"]["command"] == benchmark
    assert results["options"]["documents"] == DOCUMENTS
    assert results["figures"]
    for figure in results["figures"]:
        assert figure["benchmark"] == benchmark
        assert figure["case"]
        assert figure["documents"] > 0
        assert figure["median"] == statistics.median(figure["runs"])
        assert figure["min"] == min(figure["runs"]) <= figure["max"] == max(figure["runs"])
        assert figure["min"] >= 0
    names = [(one["case"], one["engine"], one["measure"]) for one in results["figures"]]
    assert len(set(names)) == len(names), "no figure appears twice"


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_ratios_are_those_of_the_figures(benchmark: str, directory: Path) -> None:
    results = run(benchmark, directory)
    medians = {
        (one["case"], one["measure"], one["engine"]): one["median"] for one in results["figures"]
    }
    for one in results["ratios"]:
        own = medians[one["case"], one["measure"], "lshdb"]
        peer = medians[one["case"], one["measure"], one["engine"]]
        assert one["ratio"] == pytest.approx(own / peer)
        assert one["engine"] != "lshdb"
    named = {one["engine"] for one in results["ratios"]}
    peers = set(INSTALLED) - {"lshdb"} if benchmark in OF_PEERS else set()
    assert named - {"rensa C"} == peers


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_is_measured_beside_lshdb(peer: str, directory: Path) -> None:
    if peer not in INSTALLED:
        pytest.skip(f"{peer} is not installed: scripts/setup bench")
    assert measured(run("kernels", directory), peer)["MB/s"] > 0
    assert measured(run("ingest", directory), peer)["documents/s"] > 0
    query = measured(run("query", directory), peer)
    assert 0 < query["p50 ms"] <= query["p99 ms"]
    assert query["found %"] >= 70, "it indexes and asks for the same documents as lshdb"
    pairs = measured(run("join", directory), "lshdb")["pairs"]
    assert pairs > 0
    assert measured(run("join", directory), peer)["pairs"] == pytest.approx(pairs, rel=0.5)


def test_lshdb_is_measured(directory: Path) -> None:
    ingest = measured(run("ingest", directory), "lshdb")
    assert ingest["disk bytes/document"] > 500
    if commands.PROC.is_dir():
        assert 10 < ingest["peak MB"] < 2000
    assert measured(run("query", directory), "lshdb")["found %"] >= 90
    cases = {one["case"] for one in run("query", directory)["figures"]}
    hot = [case for case in cases if "top 10" in case]
    assert sorted(case.rpartition(f"{DOCUMENTS} ")[2] for case in hot) == sorted(corpora.HOT)
    startup = {one["case"]: one for one in run("startup", directory)["figures"]}
    assert {"lshdb query FILE", "lshdb --help"} == startup.keys()
    assert all(len(one["runs"]) == 2 for one in startup.values())
    cases = {one["case"] for one in run("scale", directory)["figures"]}
    assert "projection to 100,000,000 sets" in cases


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_aims_are_reported_with_their_results(benchmark: str, directory: Path) -> None:
    aims = run(benchmark, directory)["aims"]
    assert bool(aims) == (benchmark not in ("join", "processes", "single"))
    for aim in aims:
        if aim["value"] is None:
            # So few documents are one transaction, and memory is read from /proc.
            assert aim["measure"] in (scale.KEPT, figures.PEAK)
            assert aim["verdict"] == "not measured"
            continue
        sign, bound = re.findall(r"^([<>]=) ([\d,.]+)", aim["wanted"])[0]
        reached, wanted = aim["value"], float(bound.replace(",", ""))
        met = reached <= wanted if sign == "<=" else reached >= wanted
        assert (aim["verdict"] == "meets") == met
        assert met or aim["verdict"].startswith("falls short (by ")


def test_all_runs_every_benchmark(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stand_in(lab: Lab) -> None:
        ran[lab.benchmark] = lab.options
        if lab.benchmark == "query":
            raise commands.CommandFailed("it failed")
        lab.keep("case", 3, [{figures.RATE: 1.0}])

    ran: dict[str, Options] = {}
    for module in command.BENCHMARKS.values():
        monkeypatch.setattr(module, "run", stand_in)
    out = directory.parent / "all.json"
    status = command.main(["all", "--quick", "--engines", "lshdb", "--json", str(out)])
    assert list(ran) == list(BENCHMARKS)
    assert (ran["scale"].sets, ran["scale"].repeat) == (scale.SETS_QUICK, 1)
    assert status == 1
    assert "query: it failed" in capsys.readouterr().err
    named = {one["benchmark"] for one in figures.read(out)["figures"]}
    assert named == set(BENCHMARKS) - {"query"}, "one that fails does not take the others with it"


@pytest.mark.parametrize(("page", "brief"), [("docs/figures.md", False), ("README.md", True)])
def test_the_table_of_a_page_is_that_of_the_results(page: str, brief: bool) -> None:
    """Who measures again also prints the tables again."""
    results = sorted((SCRIPTS / "measure" / "bench" / "results").glob("*.json"))
    assert results
    table = report.markdown([figures.read(path) for path in results], brief=brief)
    text = (SCRIPTS.parent / page).read_text("utf-8")
    shown = text.partition("<!-- table -->\n")[2].partition("\n<!-- end of the table -->")[0]
    assert shown == table


@pytest.mark.parametrize("page", ["docs/figures.md", "README.md"])
def test_what_is_dropped_wrongly_is_that_of_the_results(page: str) -> None:
    results = SCRIPTS / "measure" / "bench" / "results" / "peers" / "dedup.json"
    table = dedup_peers.markdown(figures.read(results))
    text = (SCRIPTS.parent / page).read_text("utf-8")
    assert f"<!-- dropped -->\n{table}\n<!-- end of dropped -->" in text


def test_the_figures_of_pages_are_those_of_the_results() -> None:
    results = SCRIPTS / "measure" / "bench" / "results" / "pages.json"
    table = pages.markdown(figures.read(results))
    text = (SCRIPTS.parent / "docs" / "figures.md").read_text("utf-8")
    assert f"<!-- pages -->\n{table}\n<!-- end of pages -->" in text


def test_the_table_is_made_of_the_figures(directory: Path) -> None:
    results = run("ingest", directory)
    table = bench_command("table", directory / "ingest.json").out
    assert table == report.markdown([results]) + "\n"
    head, rule, *rows = table.splitlines()[2:]
    assert head == "| | " + " | ".join(INSTALLED) + " |"
    assert rule == "|---|" + "---:|" * len(INSTALLED)
    own = results["figures"][0]
    assert (own["engine"], own["measure"]) == ("lshdb", "documents/s")
    assert rows[0].split(" | ")[1].rstrip(" |") == report.number(own["median"])
    assert all(row.count("|") == head.count("|") for row in rows)


def test_documents_of_ones_own(directory: Path) -> None:
    path = directory.parent / "mine.jsonl"
    texts = (f"document number {i} of some that are mine" for i in range(30))
    path.write_text(
        "".join(json.dumps({"id": f"a{i}", "text": t}) + "\n" for i, t in enumerate(texts))
    )
    out = directory.parent / "mine.json"
    done = bench_command("ingest", "--quick", "--input", path, "--engines", "lshdb", "--json", out)
    assert done.status == 0, done.err
    results = figures.read(out)
    assert {one["case"] for one in results["figures"]} == {
        "word:3, mine.jsonl",
        "char:5, mine.jsonl",
    }
    assert {one["documents"] for one in results["figures"]} == {30}
    assert results["aims"] == []


def test_what_is_asked_wrongly_is_reported() -> None:
    assert "no engine 'grep'" in bench_command("ingest", "--engines", "lshdb,grep").err
    assert "is not word:W or char:K" in bench_command("ingest", "--shingle", "lines").err
    assert bench_command("ingest", "--documents", "0").status == 2
    assert "missing.jsonl is not a file" in bench_command("query", "--input", "missing.jsonl").err


# what the figures become


def test_an_aim_is_judged_by_medians() -> None:
    made = [
        figures.Figure("b", "c", "lshdb", figures.RATE, 10, (90.0, 100.0, 500.0)),
        figures.Figure("b", "c", "peer", figures.RATE, 5, (50.0,)),
        figures.Figure("b", "c", "lshdb", figures.P50, 10, (3.0,)),
        figures.Figure("b", "d", "lshdb", figures.P50, 10, (2.0,)),
    ]
    (ratio,) = figures.ratios(made)
    assert (ratio.engine, ratio.ratio) == ("peer", 2.0)

    def judged(aim: figures.Aim) -> tuple[float | None, str]:
        record = aim.record(made)
        return record["value"], record["verdict"]

    assert judged(figures.Aim("b", "c", figures.RATE, 100)) == (100, "meets")
    assert judged(figures.Aim("b", "c", figures.RATE, 125)) == (100, "falls short (by 20%)")
    assert judged(figures.Aim("b", "c", figures.RATE, 2, over="peer")) == (2, "meets")
    assert judged(figures.Aim("b", "c", figures.RATE, 2, over="other")) == (None, "not measured")
    assert judged(figures.Aim("b", "c", figures.P50, 2)) == (3, "falls short (by 50%)")
    assert judged(figures.Aim("b", "c", figures.P50, 2, over_case="d")) == (1.5, "meets")
    assert judged(figures.Aim("b", "x", figures.P50, 2)) == (None, "not measured")


def test_a_curve_is_read_by_tenths_and_projected() -> None:
    constant = [(count, count / 100) for count in range(10, 1001, 10)]
    assert scale.tenths(constant) == pytest.approx((100, 100))
    assert scale.projection(constant, 10_000) == pytest.approx((100, 100))
    # A document takes as long as there are others: n^2 / 2 in all.
    slowing = [(count, count**2 / 2) for count in range(10, 1001, 10)]
    first, last = scale.tenths(slowing)
    assert first > 8 * last
    steady, growing = scale.projection(slowing, 10_000)
    assert growing == pytest.approx(10_000**2 / 2)
    assert steady < growing


def test_two_versions_are_compared_run_by_run(tmp_path: Path) -> None:
    lab = Lab(Options(("lshdb",), repeat=3), tmp_path, "against")
    for engine, seconds in (("lshdb", (2.0, 4.0, 9.0)), ("abc1234", (1.0, 4.0, 3.0))):
        runs = [dict.fromkeys(against.RATIOS, value) for value in seconds]
        for name in against.AIMS:
            lab.keep(name, 10, runs, engine)
    against.compare(lab, 10)
    results = figures.results({}, {"repeat": 3}, lab.figures, lab.aims)
    ratios = [one for one in results["figures"] if one["measure"] == "CPU ratio"]
    assert [one["case"] for one in ratios] == list(against.AIMS)
    assert {tuple(one["runs"]) for one in ratios} == {(2.0, 1.0, 3.0)}
    assert "falls short (by 82%)" in {aim["verdict"] for aim in results["aims"]}
    table = against.table(results)
    assert table.row_count == len(against.AIMS)
    assert list(table.columns[3].cells) == ["2.00 (1.00-3.00)"] * len(against.AIMS)


def test_memory_is_that_of_the_process_and_its_children() -> None:
    if not commands.PROC.is_dir():
        pytest.skip("there is no /proc here")
    hold = "import time; held = bytearray(b'x') * 40_000_000; time.sleep(0.3)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    done = commands.measure([sys.executable, "-c", child + "; print('done')"])
    assert done.out == "done\n"
    assert done.seconds > 0.3
    assert done.peak is not None
    assert done.peak > 40_000_000
    assert done.largest > 40_000_000
    assert done.cpu > 0
    with pytest.raises(commands.CommandFailed, match="status 3"):
        commands.measure([sys.executable, "-c", "raise SystemExit(3)"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.07041, "0.0704"),
        (1.5, "1.5"),
        (28_123.4, "28,123"),
        (99.96, "100"),
        (0.6, "0.6"),
    ],
)
def test_numbers_have_three_digits(value: float, shown: str) -> None:
    assert report.number(value) == shown


# the documents


def test_the_generator_gives_the_same_for_the_same_seed() -> None:
    once = list(generate.texts(50, 300, seed=7))
    assert list(generate.texts(50, 300, seed=7)) == once
    assert list(generate.texts(20, 300, seed=7)) == once[:20]
    assert list(generate.texts(50, 300, seed=8)) != once
    assert list(generate.sets(50, 30, seed=7)) == list(generate.sets(50, 30, seed=7))


@pytest.mark.parametrize("similarity", [0.9, 0.7])
def test_the_generator_gives_the_similarity_asked_for(similarity: float) -> None:
    made = [t for _, t in generate.texts(400, 3000, duplicates=0.2, similarity=similarity)]
    assert statistics.mean(map(len, made)) == pytest.approx(3000, rel=0.03)
    sets = [brute_force.shingle_set(text, "word:3") for text in made]
    nearest: dict[int, float] = {}
    for _, later, score in brute_force.similar_pairs(sets, 0.3):
        nearest[later] = max(score, nearest.get(later, 0))
    assert len(nearest) / len(made) == pytest.approx(0.2, abs=0.06)
    assert statistics.mean(nearest.values()) == pytest.approx(similarity, abs=0.02)


def test_what_was_dropped_wrongly_is_counted() -> None:
    sets: list[set[object]] = [{1, 2, 3, 4}, {1, 2, 3, 5}, {9}, {1, 2, 3, 4}, set()]
    assert brute_force.nearest(sets, [0, 1, 2, 4]) == [1.0, 0.6, 0.0, 0.0]
    values = {figures.SECONDS: 2.0, dedup_peers.DROPPED: 3, dedup_peers.WRONGLY: 1}
    found = [
        one.record()
        for engine in ("lshdb", "datatrove")
        for one in figures.collect("dedup --peers", "some", engine, 9, [values])
    ]
    rows = dedup_peers.markdown({"figures": found}).splitlines()[-2:]
    assert rows == ["| lshdb | 2 |  | 3 | 1 |  |", "| datatrove | 2 |  | 3 | 1 |  |"]


def test_pieces_are_of_real_sources(tmp_path: Path) -> None:
    corpus = corpora.write_pieces(tmp_path / "pieces.jsonl", 20, 500)
    texts = corpora.read_texts(corpus.path)
    assert len(texts) == corpus.documents == len(set(texts))
    assert all(250 < len(text) <= 500 for text in texts)
    assert sum("import " in text or "def " in text for text in texts) > 3


def test_alphabets_keep_the_similarity_and_take_the_bytes_they_should(tmp_path: Path) -> None:
    for alphabet in corpora.ALPHABETS:
        corpus = corpora.write_generated(tmp_path / alphabet, 30, 3000, alphabet)
        texts = corpora.read_texts(corpus.path)
        assert len(texts) == corpus.documents == 30
        assert sum(len(text.encode()) for text in texts) == corpus.bytes
        assert corpus.bytes / 30 == pytest.approx(3000, rel=0.1)
        assert all(text.isascii() == (alphabet == "ASCII") for text in texts)
    same, other = (corpora.written_in(text, "Chinese") for text in ("fox and vine", "fox and wine"))
    assert same[:-2] == other[:-2]
    assert "，" in corpora.written_in("word " * 20, "Chinese")


@pytest.mark.parametrize("shingle", ["word:3", "char:5"])
@pytest.mark.parametrize("alphabet", corpora.ALPHABETS)
def test_peers_are_given_the_same_shingles(alphabet: str, shingle: str) -> None:
    make = engines.shingler(shingle)
    for _, text in generate.texts(3, 400):
        written = corpora.written_in(text, alphabet)
        assert len(set(make(written))) == len(brute_force.shingle_set(written, shingle))
    assert len(make("one")) == 1
    assert make("") == []


def test_half_of_the_queries_are_near_duplicates(tmp_path: Path) -> None:
    corpus = corpora.write_generated(tmp_path / "corpus.jsonl", 50, 3000)
    texts = corpora.read_texts(corpus.path)
    corpora.write_queries(tmp_path / "queries.jsonl", corpus, 60)
    lines = (tmp_path / "queries.jsonl").read_text("utf-8").splitlines()
    queries = [json.loads(line) for line in lines]
    near = [query for query in queries if query["near"] is not None]
    assert (len(queries), len(near)) == (60, 30)
    for query in queries:
        own = brute_force.shingle_set(query["text"], "word:3")
        others = texts if query["near"] is None else [texts[query["near"]]]
        best = max(_jaccard(own, brute_force.shingle_set(text, "word:3")) for text in others)
        assert (best < 0.3) if query["near"] is None else (best > 0.7)


def _jaccard(one: set[object], other: set[object]) -> float:
    return len(one & other) / len(one | other)
