"""The package as others get it: built, and installed where there is nothing of the sources."""

from __future__ import annotations

import email
import email.message
import os
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
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SHARED = {
    "man/man1/lshdb.1": "docs/lshdb.1",
    "bash-completion/completions/lshdb": "docs/completions/lshdb",
    "zsh/site-functions/_lshdb": "docs/completions/_lshdb",
    "fish/vendor_completions.d/lshdb.fish": "docs/completions/lshdb.fish",
}
"""What a wheel puts below `share`, where systems look for it; and its sources."""
BUILT_FROM = {"pyproject.toml", "README.md", "LICENSE"}
OF_CONDA = {"xxhash": "python-xxhash"}
"""Packages that have another name there."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is made of it, as `python -m build` makes them.

    All in one environment, where it makes one for each. scripts/packaging/build makes both twice.
    """
    index = tmp_path_factory.mktemp("dist")
    with DefaultIsolatedEnv() as environment:
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


def sources() -> set[str]:
    """The files of the package, as they are in the project."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    return {
        str(path.relative_to(ROOT))
        for path in files
        if "__pycache__" not in path.parts and path.suffix not in (".pyc", ".nbi", ".nbc")
    }


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def test_the_wheel_has_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        names = set(archive.namelist())
    inside = {name for name in names if ".dist-info/" not in name}
    shared = {name.partition(".data/data/share/")[2] for name in inside - sources()}
    assert shared == SHARED.keys()
    assert sources() <= inside
    assert {"lshdb/schema.sql", "lshdb/py.typed", "lshdb/shingling/unicode14.bin"} <= inside


def test_the_source_distribution_can_be_tested(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sources() <= names
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "scripts/setup"} <= names
    assert {*SHARED.values(), "CITATION.cff", "scripts/packaging/Dockerfile"} <= names
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")} <= names
    assert not [name for name in names if name.startswith((".venv", ".git/"))]


def test_the_metadata_is_complete(built: tuple[Path, Path]) -> None:
    fields = metadata(built[1])
    assert fields["License-Expression"] == "MIT"
    assert fields["Requires-Python"] == ">=3.11"
    assert fields.get_payload() == (ROOT / "README.md").read_text("utf-8")


def test_every_dependency_has_a_tested_range() -> None:
    project = project_table()
    everything = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        everything += extra
    for one in everything:
        assert one.startswith("lshdb[") or (">=" in one and ",<" in one), one


def project_table() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return dict(table["project"])


def test_the_recipe_of_conda_has_the_same_dependencies() -> None:
    """For any Python, so the widest range of each; its solver knows which versions fit."""
    project = project_table()
    ranges: dict[str, str] = {}
    for one in project["dependencies"]:
        name, range_ = re.split("(?=>=)", one.partition(";")[0].strip(), maxsplit=1)
        ranges.setdefault(OF_CONDA.get(name, name), range_)  # the oldest Python is first
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
    texts = {path.stem: path.read_text("utf-8") for path in WORKFLOWS}
    for text in texts.values():
        for script in re.findall(r"(?:\.ci|scripts)/[\w/]+", text):
            assert (ROOT / script).exists(), script
    jobs = yaml.safe_load(texts["release"])["jobs"]
    # Only the job that publishes may ask for a token, and nothing else runs in it.
    granted = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    assert granted == {"publish"}
    assert not [step for step in jobs["publish"]["steps"] if "run" in step]
    assert "password" not in texts["release"].replace("no password", "")


def test_the_image_is_built_from_what_there_is() -> None:
    (extras,) = re.findall(r"\.\[([\w,]+)\]", (PACKAGING / "Dockerfile").read_text("utf-8"))
    assert {*extras.split(",")} <= project_table()["optional-dependencies"].keys()
    # All that the wheel is built from is sent to the builder, and exists.
    lines = (PACKAGING / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    assert sent == {"lshdb", "docs/completions", "docs/lshdb.1", *BUILT_FROM}
    assert all((ROOT / name).exists() for name in sent)


def test_the_tests_of_the_wheel_are_there() -> None:
    core = runpy.run_path(str(ROOT / "scripts" / "versions"))["CORE"]
    assert all((ROOT / "tests" / name).exists() for name in core)


def test_shells_complete_commands_and_options(tmp_path: Path) -> None:
    """The files are what --show-completion prints; bash is asked what it completes."""
    made = tmp_path / "made"
    subprocess.run([sys.executable, ROOT / "scripts" / "site" / "completions.py", made], check=True)
    kept = ROOT / "docs" / "completions"
    assert {path.name: path.read_text("utf-8") for path in made.iterdir()} == {
        path.name: path.read_text("utf-8") for path in kept.iterdir()
    }
    script = """
        source "$1/lshdb"
        COMP_WORDS=(lshdb "${@:2}"); COMP_CWORD=$(($# - 1))
        _lshdb_completion "$COMMAND"
        echo "${COMPREPLY[@]}"
    """
    command = Path(sys.executable).parent / "lshdb"
    for words, completed in (("que",), "query"), (("query", "--thr"), "--threshold"):
        done = subprocess.run(
            ["bash", "-c", script, "bash", kept, *words],
            env={**os.environ, "COMMAND": str(command)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == [completed], done.stderr
