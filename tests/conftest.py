"""Fixtures for several files of tests."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from itertools import count
from pathlib import Path

import pytest
from extras import pytest_addoption as pytest_addoption
from extras import pytest_make_collect_report as pytest_make_collect_report
from extras import pytest_runtest_makereport as pytest_runtest_makereport
from extras import pytest_runtest_setup as pytest_runtest_setup
from extras import refuse_missing
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

_REMEMBERED = "lshdb/seconds"
_SLOW = 0.1
"""Seconds of a test that are worth remembering."""


def pytest_configure(config: pytest.Config) -> None:
    """With --every-extra the run ends here if an extra is missing."""
    refuse_missing(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the slowest files of earlier runs, so that no processor waits for them at the end.

    Before any run, and for a new file, that is the largest. All processes sort alike: the first
    one writes how long tests took when they have ended.
    """
    known = _remembered(config)
    totals = dict.fromkeys((item.path for item in items), 0.0)
    for item in items:
        totals[item.path] += known.get(item.nodeid, 0.0)
    sizes = {path: path.stat().st_size for path in totals}
    items.sort(key=lambda item: (-totals[item.path], -sizes[item.path]))


def _remembered(config: pytest.Config) -> dict[str, float]:
    """How long tests took in earlier runs, by their names."""
    cache = getattr(config, "cache", None)
    return cache.get(_REMEMBERED, {}) if cache else {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remember how long the tests took."""
    cache = getattr(session.config, "cache", None)
    if cache and not hasattr(session.config, "workerinput"):
        now = {name: round(spent, 1) for name, spent in _spent.items() if spent >= _SLOW}
        earlier = _remembered(session.config)
        cache.set(_REMEMBERED, {n: earlier[n] for n in earlier if n not in _spent} | now)


_spent: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the parts of each test."""
    _spent[report.nodeid] += report.duration


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
