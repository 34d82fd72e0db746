"""Fixtures that several files of tests need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lshdb import acceleration


@pytest.fixture(scope="module", params=["numpy", "compiled"])
def both_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each test of a module with numpy alone and with the compiled kernels."""
    if request.param == "compiled":
        pytest.importorskip("numba", reason="the extra `speed` is not installed")
        assert acceleration.speed_up(), "numba is there, but the kernels do not load"
    yield
    acceleration.slow_down()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database is to be made, alone in its directory."""
    return tmp_path / "lsh.db"
