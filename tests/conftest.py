"""Fixtures that several files of tests need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lshdb import acceleration
from lshdb.sources.readers import Item, Reader


@pytest.fixture(scope="module", params=["numpy", "compiled"])
def both_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each test of a module with numpy alone and with the compiled kernels."""
    if request.param == "compiled":
        pytest.importorskip("numba", reason="the extra `speed` is not installed")
        assert acceleration.speed_up(), "numba is there, but the kernels do not load"
    yield
    acceleration.slow_down()


@pytest.fixture
def after_listing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something done when files are cut into stretches, and none of these is read yet."""

    def change_then(change: Callable[[], object]) -> None:
        real = Reader.items

        def items(reader: Reader, paths: list[str], **options: Any) -> Iterator[Item]:
            found = list(real(reader, paths, **options))
            change()
            yield from found

        monkeypatch.setattr(Reader, "items", items)

    return change_then


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database is to be made, alone in its directory."""
    return tmp_path / "lsh.db"
