"""Fixtures for tests of pages."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with databases of all kinds."""
    from web_pages import make_databases  # which needs an extra

    made = tmp_path_factory.mktemp("web")
    make_databases(made)
    return made
