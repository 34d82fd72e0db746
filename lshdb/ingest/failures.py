"""What gave no document in one call of the library: passed on, kept for its report, warned of."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lshdb.errors import FailureWarning, warn
from lshdb.model import Failure

MAX_KEPT = 10_000
"""Failures that a report has: each takes 300 bytes, and every line of an input may be one."""


@dataclass(eq=False)
class Failures:
    """Counts the failures of a call, and keeps the first ones.

    Attributes:
        on_failure: the caller's function, which gets each; without one, `warn` warns.
        count: how many there are.
    """

    on_failure: Callable[[Failure], object] | None = None
    count: int = 0
    _kept: list[Failure] = field(default_factory=list)

    def __call__(self, failure: Failure) -> None:
        """Take in a failure."""
        self.count += 1
        if len(self._kept) < MAX_KEPT:
            self._kept.append(failure)
        if self.on_failure is not None:
            self.on_failure(failure)

    @property
    def kept(self) -> tuple[Failure, ...]:
        """The first failures."""
        return tuple(self._kept)

    def warn(self, where: str = "the report's `failures` name them") -> None:
        """Issue a FailureWarning if there is a failure, and no function of the caller got it."""
        if self.count and self.on_failure is None:
            first = self._kept[0]
            what = "1 row or file" if self.count == 1 else f"{self.count:,} rows or files"
            warn(
                FailureWarning(
                    f"{what} gave no document and {'is' if self.count == 1 else 'are'} left out; "
                    f"{where}, the first: {first.where}: {first.reason}"
                )
            )
