"""A directory of outputs: which files may be in it already, and the list of those that lshdb wrote.

Whoever reads the directory reads all of its files, so those of another run would be rows of this
one. Only files on the list are ever deleted, if they are as they were written.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from lshdb.apps.dedup.input_tables import Tables
from lshdb.errors import UsageError
from lshdb.read import compression, outputs
from lshdb.read.paths import format_of, is_spreadsheet, pattern_top, printable_path

MANIFEST = ".lshdb-outputs.json"
"""The list, beside the outputs: by the name of each file its size and time of change."""


@dataclass(eq=False)
class Outputs:
    """A file, or a directory with a file for each input. A context manager around their writers.

    At the end, if nothing failed, what earlier runs wrote to the directory is deleted, and the list
    is written.

    Attributes:
        path: the file or directory.
        tables: of the input; files without rows are copied beside them.
        appends: whether there may be files of earlier runs, with other names.
        overwrites: whether files of earlier runs are deleted.
        option: how messages name the option for this.
        note: called with the files that stay although the others are deleted.
        annotates: whether rows get the columns of ANNOTATED, and all of them are written.
        targets: the outputs, each with its tables.
        is_directory: whether it is a directory.

    Raises:
        UsageError: two inputs have one name, or a file in the directory is in the way.
    """

    path: str
    tables: Tables
    appends: bool
    overwrites: bool
    option: str
    note: Callable[[str], object]
    annotates: bool = False
    targets: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        names = self.tables.names
        self.is_directory = is_directory(self.path, self.tables.inputs)
        if not self.is_directory:
            self.targets = {self.path: [*names]}
            return
        if self.appends and self.overwrites:
            raise UsageError(
                f"{self.option} would delete rows of earlier runs, which the database knows as "
                "kept: name an empty directory"
            )
        self.targets = {}
        for path, name in names.items():
            if path == outputs.STDOUT:
                raise UsageError(f"standard input has no name for a file in {self.path}")
            output = self._below(name + ".jsonl" * is_spreadsheet(path))
            if output in self.targets:
                raise UsageError(f"{self.targets[output][0]} and {path} would both go to {output}")
            self.targets[output] = [path]
        self._copies = {self._below(n): source for source, n in self.tables.rowless.items()}
        written = {*map(os.path.realpath, [*self.targets, *self._copies])}
        formats, known = {*map(format_of, self.targets)}, self._known()
        self._old, self._staying = set[str](), list[str]()
        for path in self._files():
            real, fault = os.path.realpath(path), ""
            if real in written:
                if self.appends:
                    fault = (
                        "is there, and a run with a database writes new files only, as it keeps no "
                        "row that it knows: move this one away, or name another directory"
                    )
            elif self.overwrites and path in known:
                self._old.add(path)
                if real in map(os.path.realpath, names):
                    fault = "is an input, and would be deleted"
            elif format_of(path) in formats:
                self._staying.append(path)
                if not self.appends and not self.overwrites:
                    fault = (
                        "is there, and not written by this run: name an empty directory, or give "
                        f"{self.option} to delete what earlier runs wrote"
                    )
            if fault:
                raise UsageError(f"{printable_path(path)} {fault}")

    def __enter__(self) -> Self:
        if self.is_directory:
            for target in [*self.targets, *self._copies]:
                os.makedirs(os.path.dirname(target), exist_ok=True)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None or not self.is_directory:
            return
        for target, source in self._copies.items():
            with open(source, "rb") as file, outputs.Output(target) as copy:
                shutil.copyfileobj(file, copy)
        for path in self._old.intersection(self._known()):  # none that has changed meanwhile
            os.unlink(path)
        paths = [*self.targets, *self._copies, *self._known()]
        listed = {self._name(path): _state(path) for path in paths}
        with outputs.Output(self._below(MANIFEST)) as manifest:
            manifest.write(json.dumps({"files": listed}, indent=1).encode() + b"\n")
        for path in self._staying if self.overwrites else ():
            self.note(f"{printable_path(path)} stays: lshdb has not written it as it is")

    def _below(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _known(self) -> list[str]:
        """The files on the list that are as they were written."""
        with suppress(OSError, ValueError, AttributeError, KeyError):
            with open(self._below(MANIFEST), "rb") as file:
                states = json.load(file)["files"]
            return [path for path in self._files() if states.get(self._name(path)) == _state(path)]
        return []

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self.path)

    def _files(self) -> Iterator[str]:
        """The files in the directory and below, without hidden ones."""
        for directory, folders, names in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (os.path.join(directory, n) for n in sorted(names) if not n.startswith("."))


def _state(path: str) -> list[int]:
    status = os.lstat(path)
    return [status.st_size, status.st_mtime_ns]


def is_directory(output: str, inputs: Sequence[str]) -> bool:
    """Whether the output is a directory, or will be one."""
    if output == outputs.STDOUT or (os.path.exists(output) and not os.path.isdir(output)):
        return False
    if os.path.isdir(output) or output.endswith(os.sep):
        return True
    named = format_of(output) != "text" or compression.compression_of(output) is not None
    return not named and any(os.path.isdir(path) or pattern_top(path) for path in inputs)
