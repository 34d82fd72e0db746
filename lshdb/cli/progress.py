"""The progress of a long job: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from lshdb.cli.messages import is_quiet


class Progress(Protocol):
    """Told how far a job has come."""

    def __call__(self, done: int, documents: int, /) -> None:
        """`done` bytes are read, `documents` are in the file."""


class Steps(Protocol):
    """Told how far a job of a known length has come."""

    def __call__(self, done: int, total: int, /) -> None:
        """`done` steps of `total` are done."""


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Progress]:
    """A bar on standard error that counts bytes of input and documents.

    Args:
        label: what is being done.
        total: bytes of input, None where it is not known.
    """
    if is_quiet() or not sys.stderr.isatty():
        yield lambda _done, _documents: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[documents]:,} documents, {task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, documents=0, rate=0.0)

        def update(done: int, documents: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            rate = documents / elapsed if elapsed else 0.0
            bar.update(task, completed=done, documents=documents, rate=rate)

        yield update


@contextmanager
def stages_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on standard error that is told what is done, how much of it, and of how much."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total or None
        )


@contextmanager
def steps_bar(label: str) -> Iterator[Steps]:
    """A bar on standard error that counts steps."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield update
