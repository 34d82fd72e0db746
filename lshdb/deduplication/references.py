"""References: collections that are only read; what resembles one of their documents is dropped.

A reference is a database, a file or a directory of rows or texts, a pattern, or data of a program.
It may name its fields otherwise than the input: `test.csv:text=question,key=id`.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lshdb.deduplication.collection import Collection
from lshdb.deduplication.rules import Rule
from lshdb.errors import InputError, UsageError
from lshdb.ingest import add, batches
from lshdb.ingest.locations import Locations
from lshdb.ingest.temporary import temporary_store
from lshdb.limits import Limits
from lshdb.model import AddReport, Failure
from lshdb.progress import Progress, silent
from lshdb.sketching.settings import Settings
from lshdb.sketching.signature_sets import Sketching, check_comparable
from lshdb.sources.batch import Batch
from lshdb.sources.counts import Failures
from lshdb.sources.paths import STDIN, is_database
from lshdb.sources.session import Session
from lshdb.store.store import Store

FIELDS = ("key", "text", "set")
_NAMED = re.compile(r"(?P<path>.+):(?P<fields>(?:key|text|set)=[^=]+(?:,(?:key|text|set)=[^=]+)*)")


@dataclass(frozen=True)
class Reference:
    """What rows are compared with, before each other.

    Attributes:
        data: the name of a file, a directory, a pattern or a database; or data of a program.
        fields: the names of its fields `key`, `text` and `set`, where they are not those of the
            input.
        label: what data of a program is called in lists and messages.
    """

    data: Any
    fields: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    def __post_init__(self) -> None:
        wrong = [
            name
            for name, value in self.fields.items()
            if name not in FIELDS or not isinstance(value, str) or not value
        ]
        if wrong:
            raise UsageError(
                f"against: a reference's fields are key, text and set, each the name of a field, "
                f"and not {wrong[0]!r:.50}"
            )

    @property
    def is_path(self) -> bool:
        """Whether it is named by one path."""
        return isinstance(self.data, str | os.PathLike)

    @property
    def name(self) -> str:
        """What it is called in lists and messages."""
        return os.fspath(self.data) if self.is_path else self.label or "against"

    @property
    def is_database(self) -> bool:
        """Whether it is a database."""
        return self.is_path and is_database(os.fspath(self.data))

    def check(self) -> None:
        """Check what can be known before anything is read.

        Raises:
            UsageError: standard input, or fields of a database.
            InputError: a path that is not a file, a directory or a matching pattern.
        """
        if not self.is_path:
            return
        path = os.fspath(self.data)
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise UsageError(f"against {path!r:.100} is not the name of a file") from None
        if "\0" in path or not path:
            raise UsageError(f"against {path!r:.100} is not the name of a file")
        if path == STDIN:
            raise UsageError("--against reads no standard input: save it to a file")
        is_pattern = glob.has_magic(path) and bool(glob.glob(path, recursive=True))
        if not os.path.exists(path) and not is_pattern:
            raise InputError(f"{path}: no such file")
        if self.fields and self.is_database:
            raise UsageError(f"{path} is a database, whose documents have no fields to name")


def reference_of_text(text: str, others: Mapping[str, str] | None = None) -> Reference:
    """A reference as the command line writes it: PATH, or PATH:text=NAME,key=NAME.

    A path that exists is one, whatever is in its name.

    Args:
        text: what is written.
        others: names of fields where it gives none; not for a database.

    >>> reference_of_text("test.csv:text=question,key=id").fields
    {'text': 'question', 'key': 'id'}
    """
    named = None if os.path.exists(text) else _NAMED.fullmatch(text)
    if named is None:
        return Reference(text, {} if is_database(text) else others or {})
    fields = re.split(r",(?=(?:key|text|set)=)", named["fields"])
    return Reference(
        named["path"], {**(others or {}), **dict(name.split("=", 1) for name in fields)}
    )


def references_of(against: Any) -> list[Reference]:
    """The references of an argument.

    Args:
        against: None; a reference; a list of references, each alone or in a pair with its fields;
            or a mapping from paths to their fields. A list of dicts is one reference, of rows.

    Raises:
        UsageError: other fields than key, text and set.
    """
    if against is None:
        return []
    if isinstance(against, Reference):
        return [against]
    if isinstance(against, Mapping):
        for fields in against.values():
            if not isinstance(fields, Mapping | None):
                raise UsageError(f"against: {fields!r:.50} are not the names of fields")
        return [Reference(data, dict(fields or {})) for data, fields in against.items()]
    if isinstance(against, tuple) and len(against) == 2 and _are_fields(against[1]):
        return [Reference(against[0], against[1])]
    if isinstance(against, list | tuple) and against and not isinstance(against[0], Mapping):
        references = [reference for data in against for reference in references_of(data)]
        if len(references) > 1:
            references = [
                replace(reference, label=reference.label or f"against[{index}]")
                for index, reference in enumerate(references)
            ]
        return references
    return [Reference(against)]


def _are_fields(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and value.keys() <= set(FIELDS)


@dataclass(frozen=True)
class Opening:
    """How references are opened; see Run.

    Attributes:
        settings: of the documents that are compared with them.
        session: reads those that are files.
    """

    rule: Rule
    settings: Settings
    session: Session
    limits: Limits
    batches: Callable[[Any, Mapping[str, str]], Iterator[Batch]] | None
    fields: Sequence[str]
    workers: int | None
    on_failure: Callable[[Failure], object] | None
    timeout: float
    beside: Path | None
    progress: bool | Progress

    def open(self, reference: Reference) -> AbstractContextManager[Collection]:
        """A reference: a database, or a temporary one with the documents of what it names.

        Raises:
            InputError: it does not exist, or a part of it gives no document: what resembles that
                part would stay, and nobody would know.
            SettingsMismatch: signatures of the database are made differently.
        """
        reference.check()
        if reference.is_database:
            return self._database(reference.name)
        usual = self.session.options
        names = {
            f"{name}_field": reference.fields.get(name, getattr(usual, f"{name}_field"))
            for name in FIELDS
        }
        if "text" in reference.fields and "set" not in reference.fields:
            names["set_field"] = reference.fields["text"]
        if self.batches is not None and not reference.is_path:
            return self._indexed(self.batches(reference.data, names), reference.name)
        session = self.session.like(
            **names,
            format="auto",
            fallback=usual.fallback if usual.format == "auto" else usual.format,
            stdin=None,
            auto_key=True,
            metadata=bool(self.fields),
            metadata_fields=outermost(self.fields),
            whole=False,
        )
        paths = [reference.name]
        progress = session.shown(self.progress, "indexing", paths)
        return self._indexed(session.batches(paths), reference.name, progress)

    @contextmanager
    def _database(self, name: str) -> Iterator[Collection]:
        with closing(Store.open(Path(name), "read", self.timeout, limits=self.limits)) as store:
            self.rule.check(store.settings, name)
            check_comparable(name, Sketching.of(store.settings), Sketching.of(self.settings))
            yield Collection(store, reference=name)

    @contextmanager
    def _indexed(
        self,
        items: Iterable[Batch],
        name: str,
        progress: AbstractContextManager[Progress] | None = None,
    ) -> Iterator[Collection]:
        """Documents as a reference, in a temporary file."""
        total, locations = AddReport(), Locations(1)
        settings = self.rule.index(self.settings)
        with temporary_store(settings, self.limits, self.beside, keys_repeat=True) as store:
            failures = Failures(self.on_failure)
            job = batches.Job(store, self.workers, failures)
            with progress or nullcontext(silent) as show:
                for report in add.added(job, items, locations):
                    total += report
                    show(total.documents, None, "documents")
            if total.failed:
                first = failures.kept[0]
                raise InputError(
                    f"{name} cannot be read whole ({total.failed:,} failed, the first: "
                    f"{first.where}: {first.reason}), and rows similar to what is missing would "
                    "stay: nothing is written; repair it, or add the rest of it to a database with "
                    "lshdb add, and compare with that"
                )
            if not total.documents:
                raise InputError(f"{name}: no document in it to compare with")
            yield Collection(store, locations, reference=name, is_private=True)


def outermost(fields: Sequence[str]) -> list[str]:
    """The fields of rows to keep so that these can be taken from them: a for a.b."""
    return [*dict.fromkeys([*fields, *(name.partition(".")[0] for name in fields)])]


def directory_of(store: Store) -> Path | None:
    """Where temporary files have room: beside the database, unless TMPDIR names another place."""
    return None if os.environ.get("TMPDIR") else store.real_path.parent
