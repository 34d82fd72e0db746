"""What `plot` and `report` share: names of files, drawing."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lshdb import errors
from lshdb.cli import files, messages, running
from lshdb.progress import Progress, shown
from lshdb.read.outputs import Output, is_stream
from lshdb.read.paths import printable_path


def say_next(drawn: str, database: Path | None = None, command: str = "", why: str = "") -> None:
    """At a terminal, say what opens a file that was drawn, and which command goes on from there."""
    if not is_stream(drawn):
        further = f"; {command} -d {shlex.quote(str(database))} {why}" if database else ""
        messages.hint(f"open {printable_path(drawn)} in a browser{further}")


def check_name(name: str, *suffixes: str) -> None:
    """UsageError for an output whose name has another suffix."""
    if not is_stream(name) and not name.lower().endswith(suffixes):
        raise errors.UsageError(f"--output {name}: the name must end in {' or '.join(suffixes)}")


@contextmanager
def drawn(name: str, *read: Path) -> Iterator[tuple[Any, Output, Progress]]:
    """The module that draws, an open file for what it draws, and what shows progress."""
    files.check_distinct(map(str, read), [name])
    web = drawing()
    with files.output_to(name) as output, shown(messages.shows_progress(), "drawing") as progress:
        yield web, output, progress
    if not is_stream(name):
        messages.message(f"wrote {printable_path(name)}")


def drawing() -> Any:
    """The module that draws; LshdbError without jinja2."""
    with running.installed("lshdb report and plot need jinja2"):
        from lshdb.apps.report import report as web
    return web
