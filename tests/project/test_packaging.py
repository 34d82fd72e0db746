"""The package as others get it: built, and installed where there is nothing of the sources."""

from __future__ import annotations

import email
import re
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from build import ProjectBuilder
from build.env import DefaultIsolatedEnv
from helpers import ROOT
from pyproject_hooks import quiet_subprocess_runner

import lshdb

PACKAGE = ROOT / "lshdb"
PACKAGING = ROOT / "scripts" / "packaging"
SHARED = {
    "man/man1/lshdb.1": "docs/lshdb.1",
    "bash-completion/completions/lshdb": "docs/completions/lshdb",
    "zsh/site-functions/_lshdb": "docs/completions/_lshdb",
    "fish/vendor_completions.d/lshdb.fish": "docs/completions/lshdb.fish",
}
"""What a wheel puts below `share`, where systems look for it; and its sources."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is made of it, as `python -m build` makes them.

    All in one environment, where it makes one for each. scripts/packaging/build makes both twice.
    """
    index = tmp_path_factory.mktemp("dist")
    with DefaultIsolatedEnv(installer="uv") as environment:
        builder = ProjectBuilder.from_isolated_env(environment, ROOT, quiet_subprocess_runner)
        environment.install(builder.build_system_requires)
        environment.install(builder.get_requires_for_build("sdist"))
        sdist = Path(builder.build("sdist", index))
        with tarfile.open(sdist) as archive:
            archive.extractall(index, filter="data")
        unpacked = index / sdist.name.removesuffix(".tar.gz")
        builder = ProjectBuilder.from_isolated_env(environment, unpacked, quiet_subprocess_runner)
        assert builder.get_requires_for_build("wheel") <= builder.build_system_requires
        return sdist, Path(builder.build("wheel", index))


def test_both_have_the_package_and_the_wheel_nothing_else(built: tuple[Path, Path]) -> None:
    ignored = {".pyc", ".nbi", ".nbc"}
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in ignored]
    sources = {str(path.relative_to(ROOT)) for path in files}
    assert {"lshdb/schema.sql", "lshdb/py.typed", "lshdb/text/unicode14.bin"} <= sources
    with zipfile.ZipFile(built[1]) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        fields = email.message_from_bytes(archive.read(name))
    assert sources <= inside
    shared = {name.partition(".data/data/share/")[2] for name in inside - sources}
    assert shared == SHARED.keys()
    assert (fields["License-Expression"], fields["Requires-Python"]) == ("MIT", ">=3.11")
    assert fields.get_payload() == (ROOT / "README.md").read_text("utf-8")
    with tarfile.open(built[0]) as archive_of_sources:
        names = {name.partition("/")[2] for name in archive_of_sources.getnames()}
    tests = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")}
    assert sources | tests | {*SHARED.values()} <= names, "what tests need is there"
    assert {"CHANGELOG.md", "LICENSE", "scripts/setup", "CITATION.cff"} <= names
    assert not [name for name in names if name.startswith((".venv", ".git/"))]


def test_every_dependency_has_a_tested_range() -> None:
    project = project_table()
    for needed in project["dependencies"], *project["optional-dependencies"].values():
        assert all(line.startswith("lshdb[") or (">=" in line and ",<" in line) for line in needed)


def project_table() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return dict(table["project"])


def test_the_recipe_of_conda_has_the_same_dependencies() -> None:
    """For any Python, so the widest range of each; its solver knows which versions fit."""
    project = project_table()
    ranges: dict[str, str] = {}
    for one in project["dependencies"]:
        name, range_ = re.split("(?=>=)", one.partition(";")[0].strip(), maxsplit=1)
        # Each is named as on PyPI, but for one; the range for the oldest Python is first.
        ranges.setdefault("python-xxhash" if name == "xxhash" else name, range_)
    recipe = yaml.safe_load((PACKAGING / "recipe.yaml").read_text("utf-8"))
    asked = dict(one.split(" ", 1) for one in recipe["requirements"]["run"])
    assert asked == {"python": project["requires-python"], **ranges}
    assert recipe["context"]["version"] == lshdb.__version__
    assert recipe["about"]["summary"] == project["description"]
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry == f"lshdb = {project['scripts']['lshdb']}"


def test_the_citation_is_of_this_version() -> None:
    cited, project = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8")), project_table()
    assert cited["version"] == lshdb.__version__
    for ours, theirs in ("name", "title"), ("description", "abstract"), ("license", "license"):
        assert project[ours] == cited[theirs]
    assert cited["authors"] == project["authors"]


def test_workflows_run_scripts_that_exist_and_only_the_one_that_publishes_may() -> None:
    workflows = (ROOT / ".github" / "workflows").glob("*.yml")
    texts = {path.stem: path.read_text("utf-8") for path in workflows}
    for text in texts.values():
        for script in re.findall(r"(?:\.ci|scripts)/[\w/]+", text):
            assert (ROOT / script).exists(), script
    jobs = yaml.safe_load(texts["release"])["jobs"]
    # Only the job that publishes may ask for a token, and nothing else runs in it.
    granted = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    assert granted == {"publish"}
    assert not [step for step in jobs["publish"]["steps"] if "run" in step]
    assert "password" not in texts["release"].replace("no password", "")
    core = runpy.run_path(str(ROOT / "scripts" / "versions"))["CORE"]
    assert all((ROOT / "tests" / name).exists() for name in core), "tests of the wheel"


def test_the_archive_of_the_format_has_all_that_its_page_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one folder; the same bytes each time."""
    program = runpy.run_path(str(PACKAGING / "format_archive"))
    packed = set()
    for name in "one", "two":
        monkeypatch.setattr(sys, "argv", ["format_archive", str(tmp_path / name)])
        program["main"]()
        (path,) = (tmp_path / name).iterdir()
        packed.add(path.read_bytes())
    assert len(packed) == 1
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / path.name.removesuffix(".tar.gz")
    page = (folder / "format.md").read_text("utf-8")
    beside = {path.name for path in folder.iterdir()} - {"format.md", "example.db", "LICENSE"}
    linked = {link for link in re.findall(r"\]\(([^)#:]+)\)", page) if not link.endswith(".md")}
    assert len(linked) == 9
    assert linked == beside
    assert lshdb.check(folder / "example.db", deep=True).documents > 5
    assert runpy.run_path(str(folder / "plain_lshdb.py"))["TABLE"].parent == folder


def test_a_shell_completes_commands() -> None:
    """Bash is asked: the file is what --show-completion prints, as a test of what is made says."""
    script = """
        source "$1"; COMP_WORDS=(lshdb que); COMP_CWORD=1
        _lshdb_completion "$2"; echo "${COMPREPLY[@]}"
    """
    completion = ROOT / "docs" / "completions" / "lshdb"
    words = ["bash", "-c", script, "bash", str(completion)]
    words.append(str(Path(sys.executable).parent / "lshdb"))
    assert subprocess.run(words, capture_output=True, check=True).stdout == b"query\n"
