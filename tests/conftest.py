"""Fixtures for several files of tests."""

from __future__ import annotations

import gc
import os
import sys
from itertools import count
from pathlib import Path
from unittest import mock

import pytest
from extras import pytest_addoption as pytest_addoption
from extras import pytest_make_collect_report as pytest_make_collect_report
from extras import pytest_runtest_makereport as pytest_runtest_makereport
from extras import pytest_runtest_setup as pytest_runtest_setup
from extras import refuse_missing
from helpers import Command
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from lshdb import workers
from lshdb.write import batches

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

# A worker process takes longer to start than most tests: those start one that ask for it.
for module in (workers, batches):
    mock.patch.object(module, "default_workers", return_value=0).start()

LONGEST = ("test_deletions", "test_spark", "test_browser", "test_run", "test_app")
"""Files of tests that take the longest, of which one at the end would keep a processor waiting."""


def pytest_configure(config: pytest.Config) -> None:
    """With --every-extra the run ends here if an extra is missing."""
    refuse_missing(config)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take the longest, then by size."""
    # Tests are objects that stay, by the thousand: searches for garbage need not look at them.
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    sizes = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: (item.path.stem not in LONGEST, -sizes[item.path]))


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


def pytest_collection_finish() -> None:
    """Search no test and no module for garbage: they stay until the end."""
    gc.freeze()
