"""References: collections that are only read; rows that resemble their documents are dropped.

A reference is a database, a file or a directory of rows or texts, a pattern, or data of a program.
Its fields may have other names than those of the input: `test.csv:text=question,key=id`.
"""

import contextlib
import dataclasses
import glob
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lshdb.errors import InputError, UsageError
from lshdb.groups import replaced, values_of
from lshdb.options import SettingsOptions
from lshdb.read import paths
from lshdb.sketch.settings import Settings
from lshdb.store.store import Store

FIELDS = ("key", "text", "set")
_NAMED = re.compile(r"(?P<path>.+):(?P<fields>(?:key|text|set)=[^=]+(?:,(?:key|text|set)=[^=]+)*)")


@dataclasses.dataclass(frozen=True)
class Reference:
    """Something that rows are compared with before they are compared with each other.

    Attributes:
        data: the name of a file, a directory, a pattern or a database; or data of a program.
        fields: the names of its fields `key`, `text` and `set`, where they are not those of the
            input.
        label: the name of data of a program in lists and messages.
    """

    data: Any
    fields: Mapping[str, str] = dataclasses.field(default_factory=dict)
    label: str = ""

    def __post_init__(self) -> None:
        for name, value in self.fields.items():
            if not isinstance(value, str) or not value:
                raise UsageError(
                    "against: a reference's fields are key, text and set, each the name of a "
                    f"field, and not {name!r:.50}"
                )

    @property
    def is_path(self) -> bool:
        """Whether it is named by one path."""
        return isinstance(self.data, str | os.PathLike)

    @property
    def name(self) -> str:
        """Its name in lists and messages."""
        return os.fspath(self.data) if self.is_path else self.label or "against"

    @property
    def is_database(self) -> bool:
        """Whether it is a database."""
        return self.is_path and paths.is_database(os.fspath(self.data))

    def check(self) -> None:
        """Check what can be known before anything is read.

        Raises:
            UsageError: standard input, or fields of a database.
            InputError: a path that is not a file, a directory or a matching pattern.
        """
        if not self.is_path:
            return
        path = os.fspath(self.data)
        if path == paths.STDIN:
            raise UsageError("--against reads no standard input: save it to a file")
        is_pattern = glob.has_magic(path) and bool(glob.glob(path, recursive=True))
        if not os.path.exists(paths.file_and_sheet(path)[0]) and not is_pattern:
            raise InputError(f"{path}: no such file")
        if self.fields and self.is_database:
            raise UsageError(f"{path} is a database, whose documents have no fields to name")


def reference_of_text(text: str) -> Reference:
    """A reference as the command line writes it: PATH, or PATH:text=NAME,key=NAME.

    A path that exists is one, whatever is in its name.

    >>> reference_of_text("test.csv:text=question,key=id").fields
    {'text': 'question', 'key': 'id'}
    """
    named = None if os.path.exists(text) else _NAMED.fullmatch(text)
    if named is None:
        return Reference(text)
    fields = [name.split("=", 1) for name in re.split(r",(?=(?:key|text|set)=)", named["fields"])]
    if len(fields) > len(dict(fields)):
        raise UsageError(f"--against {text}: a field is named twice; text=A,B joins two columns")
    return Reference(named["path"], dict(fields))


def references_of(against: Any) -> list[Reference]:
    """The references of an argument.

    Args:
        against: None; a reference; or a list of references, each alone or in a pair with its
            fields. A list of dicts is one reference, of rows.

    Raises:
        UsageError: other fields than key, text and set.
    """
    if against is None:
        return []
    if isinstance(against, Reference):
        return [against]
    if isinstance(against, tuple) and len(against) == 2:
        data, fields = against
        if isinstance(fields, Mapping) and fields and fields.keys() <= set(FIELDS):
            return [Reference(data, fields)]
    if isinstance(against, list | tuple) and against and not isinstance(against[0], Mapping):
        references = [reference for data in against for reference in references_of(data)]
        if len(references) > 1:
            references = [
                dataclasses.replace(reference, label=reference.label or f"against[{index}]")
                for index, reference in enumerate(references)
            ]
        return references
    return [Reference(against)]


def outermost(fields: Sequence[str]) -> list[str]:
    """The fields with the outermost fields that hold them: a.b, and a for a.b."""
    return [*dict.fromkeys([*fields, *(name.partition(".")[0] for name in fields)])]


def settings_known(references: Sequence[Reference], timeout: float) -> Settings | None:
    """The settings of the first database among references; None without one."""
    for reference in references:
        if reference.is_database:
            with contextlib.closing(Store.open(Path(reference.name), "read", timeout)) as store:
                return store.settings
    return None


def completed(request: SettingsOptions, other: Settings) -> SettingsOptions:
    """The request, completed with the settings of another file."""
    names = ["permutations", "sketch", "seed"]
    shape = request.shape
    if not (shape.bands or shape.rows or shape.construction):
        names += ["threshold", "recall"]
    usual = {name: getattr(other, name) for name in names}
    usual |= {"shingle": str(other.shingling), "base": dict(other.shingling.base)}
    given = {name: value for name, value in values_of(request).items() if value is not None}
    return replaced(request, **(usual | given))
