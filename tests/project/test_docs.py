"""The documentation is true: examples of pages and docstrings run; each promise has its test."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import ROOT, Command

import lshdb
from lshdb.cli.app import COMMANDS

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)
PIECES = re.compile(r"""(?:'[^']*'|"[^"]*"|[^|'"])+""")
"""The commands of a pipe."""
QUOTED = re.compile("'[^']*'" r'|"([^"$`\\]|\$[.\[])*"')
"""What a shell passes on as it is."""
LINE = re.compile(r"(?:\(cd (\w+) && )?(.*?)(?: ([<>]) ([\w.]+)|\))?")
"""A command, perhaps in another directory, or with a file in place of a standard stream."""
IDS = {"ids": lambda page: page.name}
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(lshdb.__path__, "lshdb.")
    if not module.name.endswith(".__main__")  # these run something
)


# pages


def examples(page: str) -> Iterator[tuple[str, str]]:
    """The commands of all console blocks, in order, each with its expected output."""
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        parts = COMMAND.split(block)
        yield from zip(parts[1::2], (text.lstrip("\n") for text in parts[2::2]), strict=True)


def printed(expected: str, output: str) -> bool:
    """Whether the output is what a page shows; `...` in it stands for anything."""
    parts = map(re.escape, expected.split("..."))
    return re.fullmatch(".*".join(parts), output, re.DOTALL) is not None


@pytest.mark.parametrize("page", PAGES, **IDS)  # type: ignore[arg-type]
@pytest.mark.extra("test-all")
def test_console_examples(page: Path, tmp_path: Path) -> None:
    text = page.read_text("utf-8")
    for linked in re.findall(r"\]\(([\w./-]+\.(?:py|bin))\)", text):  # for those who download them
        shutil.copy(page.parent / linked, tmp_path)
    for command, expected in examples(text):
        if command.startswith("cat "):
            (tmp_path / command.removeprefix("cat ")).write_text(expected, "utf-8")
            continue
        output = shown(command, tmp_path)
        if not printed(expected, output):
            assert (command, output) == (command, expected)


def shown(command: str, directory: Path) -> str:
    """What a command prints, or the commands of a pipe one after the other."""
    said = output = ""
    for piece in [command] if "||" in command else PIECES.findall(command):
        err, output = ran(piece.strip(), output, directory)
        said += err
    return said + output


def ran(command: str, given: str, directory: Path) -> tuple[str, str]:
    """What a command prints on standard error and output: one of lshdb alone takes no shell."""
    within, plain, end, name = LINE.fullmatch(command.replace("$PWD", str(directory))).groups()  # type: ignore[union-attr]
    if plain.startswith("lshdb ") and not set(QUOTED.sub("", plain)) & set("|<>&;$*`\\"):
        if end == "<":
            given = (directory / name).read_text("utf-8")
        done = Command(directory / (within or ""))(*shlex.split(plain)[1:], stdin=given)
        if end == ">":
            (directory / name).write_text(done.out, "utf-8")
        return done.err, "" if end == ">" else done.out
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    result = subprocess.run(
        command,
        shell=True,
        cwd=directory,
        env={"PATH": path, "LANG": "C.UTF-8"},
        input=given,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return result.stderr, result.stdout


@pytest.mark.parametrize("page", PAGES, **IDS)  # type: ignore[arg-type]
@pytest.mark.extra("test-all")
def test_python_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(doctest.DocTestParser().get_doctest(page.read_text("utf-8"), {}, page.name, str(page), 0))


def run(test: doctest.DocTest) -> None:
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


def test_commands_table_names_every_command() -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `lshdb ([a-z][\w-]*)", page, re.MULTILINE))
    assert listed == COMMANDS.keys()


def test_the_table_of_variables_names_all_that_the_code_reads() -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8").partition("## Environment")[2]
    listed = set(re.findall(r"^\| `([A-Z_]+)`", page, re.MULTILINE))
    read = {
        name
        for path in (ROOT / "lshdb").rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if "os.environ" in line or "variable=" in line
        for name in re.findall(r'"([A-Z][A-Z_]+)"', line)
    }
    assert {"LSHDB_PATH", "PYSPARK_PYTHON"} <= read
    assert read <= listed


def test_each_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r": ([\w-]+\.md)$", navigation, re.MULTILINE)
    assert {page.name for page in PAGES[1:]} == {*named} - {"security.md"}, "of SECURITY.md"


def test_the_command_for_each_role_runs(tmp_path: Path) -> None:
    """Those of the table on the first page, in their order, with inputs of these names."""
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    table = [line.split(" | ")[1] for line in page.splitlines() if line.startswith("| a")]
    commands = re.findall("`(lshdb .*?)`", " ".join(table))
    assert (len(table), len(commands)) == (8, 10), "and one in Python"
    command = Command(tmp_path)
    texts = [f"the {word} ferry to the island leaves every hour from six on" for word in "ab"]
    for name in ("rows.jsonl", "articles.jsonl", "today.jsonl"):
        command.write(name, ({"id": text, "text": text} for text in texts))
    for text in texts:
        command.write(f"notes/{text}.txt", text)
        command.write(f"scans/{text}.txt", text)
        command.write(f"submissions/{text}.txt", text)
    git = "git -c user.name=Ann -c user.email=ann@example.org"
    shown(f"git init -q -b main . && {git} commit -q --allow-empty -m Begin", tmp_path)
    for line in commands[:-1]:  # the server of the last one is that of docs/agents.md
        command.done(*shlex.split(line)[1:])
    assert {"unique.jsonl", "notes.db", "report.html"} <= {*os.listdir(tmp_path)}


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), (page.name, target)


def test_each_picture_of_a_page_is_shown_and_described() -> None:
    pages = "".join(page.read_text("utf-8") for page in PAGES)
    shown = dict(re.findall(r"!\[([^\]]*)\]\(pictures/([^)]+)\)", pages))
    assert min(map(len, shown)) > 20, "for those who do not see it"
    assert {*shown.values()} == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}


# docstrings and words


@pytest.mark.parametrize("name", ["lshdb", *MODULES])
@pytest.mark.extra("test-all")
def test_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(name)
    for number, test in enumerate(doctest.DocTestFinder().find(module)):
        if test.examples:
            (directory := tmp_path / str(number)).mkdir()
            monkeypatch.chdir(directory)
            run(test)


def test_pages_docstrings_and_names_are_in_plain_words() -> None:
    odd = re.compile(
        r"\b(told|tells|mended|mends|anew|foretells?|at the most|shall|put right|whereof|whence"
        r"|thereby|so many|taken back|there already)\b"
    )
    for path in [*PAGES, *ROOT.glob("*.md"), *(ROOT / "lshdb").rglob("*.py")]:
        found = odd.search(path.read_text("utf-8").replace("_", " "))
        assert not found, (path.name, found)


# promises


def test_every_promise_names_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "promises.md").read_text("utf-8")
    promises = [line for line in page.splitlines() if line.startswith("- ")]
    assert promises
    for promise in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`$", promise)
        assert named, f"no test behind: {promise}"
        ((file, name),) = named
        assert f"\ndef {name}(" in (ROOT / file).read_text("utf-8")
