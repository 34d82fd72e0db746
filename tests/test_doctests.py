"""The examples in the docstrings, run in an empty directory."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import lshdb

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(lshdb.__path__, "lshdb.")
    if module.name != "lshdb.__main__"
)


def run(test: doctest.DocTest, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir()
    monkeypatch.chdir(directory)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", ["lshdb", *MODULES])
def test_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(name)
    for number, test in enumerate(doctest.DocTestFinder().find(module)):
        if test.examples:
            run(test, tmp_path / str(number), monkeypatch)


def test_there_are_examples() -> None:
    found = [
        test.name
        for name in ("lshdb", *MODULES)
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
        if test.examples
    ]
    assert {"lshdb.database.Database.query", "lshdb.database.open_database"} <= set(found)
