"""The progress of a long job: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from lshdb.cli.messages import is_quiet


class Progress(Protocol):
    """Called with how far a job has come."""

    def __call__(
        self, done: int, total: int | None = None, /, *, documents: int = 0, label: str = ""
    ) -> None:
        """`done` of `total` steps or bytes; `label`, where what is done changes."""


@contextmanager
def progress_bar(
    label: str = "", total: int | None = None, *, of_bytes: bool = False
) -> Iterator[Progress]:
    """A bar on standard error.

    Args:
        label: what is being done.
        total: how many steps or bytes there are, None where that is not known, or not yet.
        of_bytes: count bytes of input and documents, instead of steps.
    """
    if is_quiet() or not sys.stderr.isatty():
        yield lambda _done, _total=None, **_: None
        return
    from rich import progress as rich
    from rich.console import Console

    counts: list[rich.ProgressColumn] = [rich.TaskProgressColumn()]
    if of_bytes:
        text = "{task.fields[documents]:,} documents, {task.fields[rate]:,.0f}/s"
        counts = [rich.DownloadColumn(), rich.TextColumn(text)]
    with rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        *counts,
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(label, total=total, documents=0, rate=0.0)

        def update(
            done: int, total: int | None = None, /, *, documents: int = 0, label: str = ""
        ) -> None:
            bar.update(
                task,
                completed=done,
                total=total or None,
                description=label or None,
                documents=documents,
                rate=documents / (bar.tasks[0].elapsed or 1.0),
            )

        yield update
