"""What a user asks of a database: kinds of arguments, defaults of a new file, a check against one.

A wrong argument is refused where it is given, by name: an error of Python from deep inside would
name neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Final, Literal, TypeVar

from lshdb.errors import SettingsError, SettingsMismatch, UsageError
from lshdb.limits import Limits
from lshdb.model import MAX_LANES, Construction, Settings, StoredDocument

THRESHOLD: Final = 0.8
RECALL: Final = 0.99
SHINGLE: Final = "word:3"
PERMUTATIONS: Final = 128
SKETCH: Final = "fast"
FOREIGN: Final = "minhash"
"""Sketch of another program's lanes: the share of equal lanes is about the similarity."""
SEED: Final = 1
MIN_RANDOM_SEED: Final = 1 << 32
"""Seeds below this are chosen by people; random ones are not among them."""

PURPOSES: Final = {
    "short-text": ("char:5", 0.8),
    "documents": ("char:9", 0.8),
    "code": ("word:3", 0.8),
    "baskets": ("set", 0.2),
}
"""Shingle and threshold by what is compared; the textbook's rules of thumb."""

_T = TypeVar("_T")


def _is_file_name(value: object) -> bool:
    try:
        name = os.fspath(value)  # type: ignore[call-overload]
        return isinstance(name, str) and b"\0" not in os.fsencode(name) and name != ":memory:"
    except (TypeError, UnicodeEncodeError):
        return False


def _is_stream(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray)


def _are_texts(value: object) -> bool:
    if not isinstance(value, Collection) or not _is_stream(value):
        return _is_stream(value)
    return all(isinstance(one, str) for one in value)


_KINDS: Final[dict[str, tuple[str, Callable[[object], bool]]]] = {
    "key prefix statement text set where verdict note who decided root": (
        "a text",
        lambda value: isinstance(value, str),
    ),
    "base directories fields paths metadata_fields": (
        "texts in a list or another iterable",
        _are_texts,
    ),
    "keys documents decisions": ("a list or another iterable", _is_stream),
    "digests": ("a list", lambda value: isinstance(value, Sequence)),
    "top most least gap common min_size max_size workers sample seed permutations decision": (
        "an integer",
        lambda value: isinstance(value, Integral),
    ),
    "threshold recall timeout": ("a number", lambda value: isinstance(value, Real)),
    "content dry_run remove_most ignore_decisions": (
        "true or false",
        lambda value: isinstance(value, bool),
    ),
    "on_batch on_failure on_skip": ("a function", callable),
    "path": ("the name of a file", _is_file_name),
    "against": ("a file's name", lambda value: _is_file_name(value) or hasattr(value, "similar")),
    "progress": (
        "true, false or a function",
        lambda value: isinstance(value, bool) or callable(value),
    ),
    "reader against_reader": ("a reader of files", lambda value: hasattr(value, "parser")),
    "limits": ("a lshdb.Limits", lambda value: isinstance(value, Limits)),
    "distribution": ("a distribution", lambda value: hasattr(value, "for_power")),
    "document": ("a stored document", lambda value: isinstance(value, StoredDocument)),
}
_ARGUMENTS: Final = {name: kind for names, kind in _KINDS.items() for name in names.split()}


def check_needed(**arguments: object) -> None:
    """UsageError if an argument has another type than its name requires."""
    for name, value in arguments.items():
        what, fits = _ARGUMENTS[name]
        if not fits(value):
            raise UsageError(f"{name} {value!r:.100} is not {what}")


def check_given(**arguments: object) -> None:
    """The same for optional arguments, where None means not given."""
    check_needed(**{name: value for name, value in arguments.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRequest:
    """Settings as given; None means not given. For their meaning see `lshdb.open`."""

    threshold: float | None = None
    recall: float | None = None
    shingle: str | None = None
    permutations: int | None = None
    bands: int | None = None
    rows: int | None = None
    construction: str | None = None
    sketch: str | None = None
    seed: int | Literal["random"] | None = None
    content: bool | None = None
    purpose: str | None = None
    passages: int | None = None

    def __post_init__(self) -> None:
        if self.purpose is not None and self.purpose not in list(PURPOSES):
            raise SettingsError(f"purpose {self.purpose!r:.100} is not {', '.join(PURPOSES)}")
        check_given(content=self.content)

    def given_construction(self) -> Construction | None:
        """The shape asked for, None if lshdb chooses it; SettingsError if impossible."""
        if self.construction is not None:
            given = Construction.parse(self.construction)
            if self.bands not in (None, given.bands) or self.rows not in (None, given.rows):
                raise SettingsError("give either a construction or bands and rows")
            return given
        if (self.bands is None) != (self.rows is None):
            raise SettingsError("bands and rows are given together")
        if self.bands is None or self.rows is None:
            return None
        if self.bands < 1 or self.rows < 1:
            raise SettingsError(f"{self.bands} bands of {self.rows} rows: give at least 1 of each")
        if self.bands * self.rows > MAX_LANES:
            raise SettingsError(
                f"{self.bands} bands of {self.rows} rows take {self.bands * self.rows} lanes, and "
                f"the maximum is {MAX_LANES}"
            )
        return Construction(self.rows, self.bands)

    def check_against(self, actual: Settings, path: Path) -> None:
        """Raise SettingsMismatch where a file has other settings than those given."""
        construction = self.given_construction()
        # From a purpose, only what is not given explicitly.
        shingle, threshold = PURPOSES.get(self.purpose or "", (None, None))
        comparisons = [
            ("threshold", or_default(self.threshold, threshold), actual.threshold),
            ("recall", self.recall, actual.recall),
            ("shingle", or_default(self.shingle, shingle), str(actual.shingling)),
            ("permutations", self.permutations, actual.permutations),
            ("construction", construction and str(construction), str(actual.construction)),
            ("sketch", self.sketch, actual.sketch),
            ("seed", None if self.seed == "random" else self.seed, actual.seed),
            ("passages", self.passages, actual.passages),
        ]
        if self.seed == "random" and actual.seed < MIN_RANDOM_SEED:
            raise SettingsMismatch(
                f"{path} has seed {actual.seed}, not a random one: leave it out, or make another "
                "file"
            )
        if self.content is not None and self.content != actual.content:
            keeps = "keeps contents" if actual.content else "keeps signatures only"
            raise SettingsMismatch(f"{path} {keeps}: that cannot change once a file is made")
        for name, given, own in comparisons:
            if given is not None and given != own:
                raise SettingsMismatch(
                    f"{path} has {name} {own}, not {given}: leave it out, or make another file"
                )


def or_default(given: _T | None, default: _T) -> _T:
    """The given value, or the default in place of None."""
    return default if given is None else given
