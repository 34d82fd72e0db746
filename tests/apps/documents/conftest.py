"""Fixtures for tests of documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import Command


@pytest.fixture
def folder(command: Command) -> Path:
    """An empty directory `d` beside the database."""
    path = command.path("d")
    path.mkdir()
    return path
