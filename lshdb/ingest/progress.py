"""Progress of a long job: reported to a function, or shown as a bar in a terminal or notebook.

rich, which shows the bar, is imported only when needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias, TypeVar

from lshdb.model import AddReport

T = TypeVar("T")
Progress: TypeAlias = bool | Callable[[int, int | None], None]
"""Whether to show a bar; or a function, called with the amount done, and the total (or None)."""
OnBatch: TypeAlias = Callable[[AddReport], None]


class Update(Protocol):
    """Called with the progress of a job."""

    def __call__(
        self, done: int, total: int | None = None, /, *, documents: int = 0, label: str = ""
    ) -> None:
        """`done` of `total` steps or bytes; `label` for a new step."""


@contextmanager
def counted(
    progress: Progress,
    label: str,
    total: int | None,
    on_batch: OnBatch | None,
    bytes_read: Callable[[], int] | None = None,
) -> Iterator[OnBatch]:
    """A function for the report of each batch, which also shows progress.

    Args:
        progress: the caller's argument.
        label: what is being done.
        total: the number of documents or bytes; None if unknown.
        on_batch: the caller's own.
        bytes_read: returns the bytes read so far, if these are counted and not documents.
    """
    documents = 0
    with _shown(progress, label, total, of_bytes=bytes_read is not None) as show:

        def written(report: AddReport) -> None:
            nonlocal documents
            documents += report.documents + report.failed
            show(documents if bytes_read is None else bytes_read(), documents)
            if on_batch is not None:
                on_batch(report)

        yield written


@contextmanager
def _shown(
    progress: Progress, label: str, total: int | None, *, of_bytes: bool
) -> Iterator[Callable[[int, int], None]]:
    """A function to call with the amount done and the number of documents."""
    if callable(progress):
        yield lambda done, _: progress(done, total)
    elif progress:
        with bar(label, total, of_bytes=of_bytes and total is not None) as update:
            yield lambda done, documents: update(done, documents=documents)
    else:
        yield lambda _done, _documents: None


def counted_while_taken(
    progress: Progress, label: str, on_batch: OnBatch | None
) -> tuple[Callable[[Iterator[T]], Iterator[T]], OnBatch]:
    """The same for an iterator: progress is shown from its first to its last item.

    Returns:
        A function to wrap the iterator, and one for the report of each batch.
    """
    written: OnBatch | None = None

    def call(report: AddReport) -> None:
        if written is not None:
            written(report)

    def shown(taken: Iterator[T]) -> Iterator[T]:
        nonlocal written
        with counted(progress, label, None, on_batch) as written:
            yield from taken

    return shown, call


@contextmanager
def counting(progress: Progress, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of documents done so far, which shows progress.

    Args:
        progress: the caller's argument.
        label: what is being done.
        total: the number of documents; None if unknown.
    """
    with _shown(progress, label, total, of_bytes=False) as show:
        yield lambda done: show(done, done)


@contextmanager
def bar(
    label: str = "", total: int | None = None, *, of_bytes: bool = False, counting: bool = True
) -> Iterator[Update]:
    """A bar in a notebook, or on standard error.

    Args:
        label: what is being done.
        total: the number of steps or bytes, None if unknown.
        of_bytes: show them as bytes.
        counting: show how many documents are done, and how many per second.
    """
    import rich
    from rich import progress as columns
    from rich.console import Console

    console = rich.get_console()
    if not console.is_jupyter:
        console = Console(stderr=True)
    counts: list[columns.ProgressColumn] = [columns.TaskProgressColumn()]
    if counting:
        counts = [columns.DownloadColumn()] if of_bytes else []
        counts.append(
            columns.TextColumn("{task.fields[documents]:,} documents, {task.fields[rate]:,.0f}/s")
        )
    with columns.Progress(
        columns.TextColumn("{task.description}"),
        columns.BarColumn(),
        *counts,
        columns.TimeElapsedColumn(),
        columns.TimeRemainingColumn(),
        console=console,
        transient=not console.is_jupyter,
        # What is printed meanwhile goes above the bar, but not what goes to a pipe or a file.
        redirect_stdout=console.is_jupyter or sys.stdout.isatty(),
    ) as shown:
        task = shown.add_task(label, total=total, documents=0, rate=0.0)

        def update(
            done: int, total: int | None = None, /, *, documents: int = 0, label: str = ""
        ) -> None:
            shown.update(
                task,
                completed=done,
                total=total or None,
                description=label or None,
                documents=documents,
                rate=documents / (shown.tasks[0].elapsed or 1.0),
            )

        yield update
