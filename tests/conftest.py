"""Fixtures for several files of tests."""

from __future__ import annotations

import gc
import os
import sys
from itertools import count
from pathlib import Path

import pytest
from helpers import Command
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

# Pytest takes seconds to compile the tests: only the first run should do so.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The files of tests are in memory where there is room: on a disk thousands of commits wait.
MEMORY = "/dev/shm"
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and os.access(MEMORY, os.W_OK):
    volume = os.statvfs(MEMORY)
    if volume.f_bavail * volume.f_frsize > 4 << 30 and not volume.f_flag & os.ST_NOEXEC:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = MEMORY

# No limits of time: on a busy machine any test is slow at times. Each run tries the same cases;
# those that once failed are examples in the tests, and scripts/fuzz searches for more.
settings.register_profile(
    "lshdb",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=25,
    derandomize=True,
)
settings.load_profile("lshdb")
settings.register_profile(
    "fuzz",
    settings.get_profile("lshdb"),
    derandomize=False,
    database=DirectoryBasedExampleDatabase(".hypothesis/examples"),
    max_examples=100,
)
# For scripts/mutations: a failure is enough, it need not be the smallest.
settings.register_profile(
    "mutations", settings.get_profile("lshdb"), phases=(Phase.explicit, Phase.generate)
)

# Collection makes millions of objects that stay: a search for garbage among them takes long.
gc.disable()

LONGEST = (
    "test_spark.py",
    "test_browser.py",
    "test_web.py",
    "test_database.py",
    "test_packaging.py",
    "test_power_cut.py",
    "test_bench.py",
    "test_selection.py",
    "test_docs.py",
    "test_crashes.py",
    "test_faults.py",
    "test_copied_passages.py",
    "test_concurrency.py",
    "test_cli_dedup.py",
    "test_workers.py",
    "test_check.py",
    "test_bad_input.py",
    "test_cli.py",
    "test_hostile.py",
    "test_reindex.py",
    "test_cli_dedup_tables.py",
    "test_formats.py",
    "test_many_queries.py",
    "test_store.py",
    "test_gate.py",
    "test_cli_documents.py",
    "test_arguments.py",
    "test_results.py",
    "test_cli_review.py",
    "test_pairs.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files, so that no processor waits for them at the end."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else 99)


def pytest_collection_finish() -> None:
    """Search for garbage again, but only among the objects of the tests that run."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let Python free all at its end: libraries in C++ report what is left as leaks."""
    gc.unfreeze()


_passed = count(1)


def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """Print a dot for each 25 tests that pass: there are thousands."""
    if report.when != "call" or not report.passed or config.get_verbosity() >= 0:
        return None
    return "passed", "" if next(_passed) % 25 else ".", "PASSED"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The installed command, run in an empty directory."""
    return Command(tmp_path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path for a new database, in an empty directory."""
    return tmp_path / "lsh.db"
