"""Fixtures that several files of tests need."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database is to be made, alone in its directory."""
    return tmp_path / "lsh.db"
