"""Progress of a long job: the function that is called with it, and a bar made from its calls.

rich, which shows the bar, is imported only when needed.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lshdb.formatting import size

Progress = Callable[[int, int | None, str], object]
"""Called with the amount done, the total (None if unknown), and the unit, such as `documents`."""
BYTES = "bytes"
"""The unit of input. If its total is known the bar shows it, and other units are shown as text."""


def silent(_done: int, _total: int | None, _unit: str, /) -> None:
    """Show nothing."""


@contextmanager
def shown(progress: bool | Progress, label: str) -> Iterator[Progress]:
    """The function to call with progress: the caller's own, or one that shows a bar or nothing.

    Args:
        progress: the caller's argument; True for a bar in a notebook or on standard error.
        label: what is being done.
    """
    if callable(progress):
        yield progress
        return
    if not progress:
        yield silent
        return
    import rich
    from rich import progress as columns
    from rich.console import Console

    console = rich.get_console()
    if not console.is_jupyter:
        console = Console(stderr=True)
    with columns.Progress(
        columns.TextColumn("{task.description}"),
        columns.BarColumn(),
        columns.TextColumn("{task.fields[counts]}"),
        columns.TimeElapsedColumn(),
        columns.TimeRemainingColumn(),
        console=console,
        transient=not console.is_jupyter,
        # What is printed meanwhile goes above the bar, but not what goes to a pipe or a file.
        redirect_stdout=console.is_jupyter or sys.stdout.isatty(),
    ) as bar:
        task = bar.add_task(label, total=None, counts="")
        counts: dict[bool, str] = {}

        def update(done: int, total: int | None, unit: str) -> None:
            is_input = unit == BYTES
            amount = size if is_input else "{:,}".format
            of_total = "" if total is None else f" of {amount(total)}"
            counts[is_input] = f"{amount(done)}{of_total}{'' if is_input else f' {unit}'}"
            bar.update(task, counts=", ".join(counts[key] for key in sorted(counts, reverse=True)))
            if is_input or True not in counts:
                bar.update(task, completed=done, total=total)

        yield update
