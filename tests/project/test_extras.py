"""Tests of extras skip where the extra is missing, and nowhere else."""

from __future__ import annotations

import tomllib
from types import SimpleNamespace
from typing import Any

import extras
import pytest
from helpers import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_tests_of_the_core_ask_for_little() -> None:
    """What these bring along is five more."""
    names = {line.partition(">")[0] for line in PROJECT["optional-dependencies"]["test"]}
    assert names == {"pytest", "pytest-xdist", "hypothesis"}


def test_every_extra_is_known() -> None:
    declared = {*PROJECT["optional-dependencies"]} - {"test", "lint", "docs", "bench", "zstd"}
    assert {*extras.EXTRAS} == declared


def test_all_extras_are_there_where_all_tests_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pytest --every-extra" in (ROOT / "scripts" / "test").read_text("utf-8")
    config: Any = SimpleNamespace(getoption=lambda name: name == "--every-extra")
    monkeypatch.setattr(extras, "find_spec", lambda module: None if module == "jinja2" else 1)
    with pytest.raises(pytest.UsageError, match="would skip, for jinja2 cannot be imported"):
        extras.refuse_missing(config)


@pytest.mark.parametrize(
    ("error", "extra"),
    [
        (ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow.parquet"), "arrow"),
        (ModuleNotFoundError("No module named 'numpy'", name="numpy"), None),
        (ValueError("tables need pyarrow: pip install '.[arrow]'"), "arrow"),
        (AssertionError("1 == 2"), None),
    ],
)
def test_a_missing_extra_is_named(
    error: Exception, extra: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "is_missing", lambda _: True)
    assert extras._missing_in(error) == extra
    monkeypatch.setattr(extras, "is_missing", lambda _: False)
    assert extras.named_in(str(error)) is None, "what is installed never skips"
