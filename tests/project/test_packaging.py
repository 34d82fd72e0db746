"""The package as others get it: built, and installed where there is nothing of the sources."""

from __future__ import annotations

import email
import email.message
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from build import ProjectBuilder
from build.env import DefaultIsolatedEnv
from helpers import ROOT
from pyproject_hooks import quiet_subprocess_runner

PACKAGE = ROOT / "lshdb"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is made of it, as `python -m build` makes them.

    Both in one environment, where it makes one for each.
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
    (manual,) = inside - sources()
    assert manual.endswith(".data/data/share/man/man1/lshdb.1")
    assert sources() <= inside
    assert {"lshdb/store/schema.sql", "lshdb/py.typed", "lshdb/shingling/unicode14.bin"} <= inside


def test_the_source_distribution_can_be_tested(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sources() <= names
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "scripts/setup"} <= names
    assert "docs/lshdb.1" in names
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")} <= names
    assert not [name for name in names if name.startswith((".venv", ".git/"))]


def test_the_metadata_is_complete(built: tuple[Path, Path]) -> None:
    fields = metadata(built[1])
    assert fields["License-Expression"] == "MIT"
    assert fields["Requires-Python"] == ">=3.11"
    assert fields.get_payload() == (ROOT / "README.md").read_text("utf-8")


def test_every_dependency_has_a_tested_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    everything = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        everything += extra
    for one in everything:
        assert one.startswith("lshdb[") or (">=" in one and ",<" in one), one


def test_it_works_where_nothing_else_is_installed(built: tuple[Path, Path], tmp_path: Path) -> None:
    index = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", index], check=True)
    own = index / "bin" / "python"
    environment = {"PATH": str(index / "bin"), "HOME": str(tmp_path), "LANG": "C.UTF-8"}

    def run(*arguments: str | Path, stdin: str = "") -> str:
        done = subprocess.run(
            arguments,
            cwd=tmp_path,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    pip: list[str | Path] = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    pip += ["--python", own]
    # With the user's own configuration, which may name where packages are.
    install = ["install", "--quiet", "--no-compile"]
    user = {**os.environ, "PYTHONPATH": ""}
    subprocess.run([*pip, *install, built[1]], cwd=tmp_path, env=user, check=True)
    run(*pip, "check")
    where = Path(run(own, "-c", "import lshdb; print(lshdb.__file__)").strip())
    assert where.is_relative_to(index)
    lshdb = index / "bin" / "lshdb"
    assert metadata(built[1])["Version"] in run(lshdb, "--version")
    text = "whisk the flour with the eggs and the milk and rest the batter for an hour "
    lines = [
        json.dumps({"id": f"n{i}", "text": " ".join([text, str(i // 2)] * 30)})
        for i in range(2_000)
    ]
    # So many that other processes sign some of them.
    run(lshdb, "add", "-", stdin="\n".join(lines))
    assert run(lshdb, "query", "--key", "n7", "--threshold", "0.99").split() == [
        "1.000000",
        "identical",
        "n6",
    ]
    assert json.loads(run(lshdb, "info", "--json"))["documents"] == 2_000
