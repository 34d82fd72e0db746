"""What changes of a repository copy from elsewhere in it.

Two databases below .git hold the files that git tracks, programs as tokens and texts as words.
`sync` keeps them in step, and `passages` and `query` find what is copied and similar. Other
lengths of passages have other files: an index for shorter ones leads to many more candidates.
"""

import hashlib
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal
from urllib.parse import quote

import numpy as np

from lshdb.database import Database
from lshdb.errors import InputError, UsageError
from lshdb.formatting import counted, number
from lshdb.groups import regrouped
from lshdb.json_text import loads
from lshdb.model import CopiedPassage
from lshdb.opening import open_database
from lshdb.options import (
    ExcludeOptions,
    GateOptions,
    OpenOptions,
    PassagePairsOptions,
    PassagesOptions,
    SyncOptions,
)
from lshdb.shingling import positions
from lshdb.sources import git
from lshdb.sources.paths import STDIN, key_of, opened, printable_path

_CODE = (
    "bash c cc cjs clj cpp cs css cxx dart ex exs f90 go gradle groovy h hpp hs java jl js jsx kt "
    "kts less lua m mjs ml mm php pl pm proto ps1 py pyi r rb rs scala scss sh sql svelte swift tf "
    "ts tsx v vhd vue zig zsh"
)
_TEXT = "adoc markdown md org rst tex txt"
_KINDS = {"code": ("code:6", _CODE), "text": ("word:3", _TEXT)}
"""Shingles and suffixes of the files in each database."""
_THRESHOLD = 0.6
"""The lowest similarity that they are made for."""
_SAME_WORDS = 0.5
"""The share of the distinct words of two passages that both have: lists of imports or of data may
have the same tokens, and nothing else in common."""
_WORD = re.compile(r"\w+")
_LARGEST = 1 << 20
"""Bytes of a file: larger ones are data, or made by programs."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A passage that a file has in common with another, or two similar files.

    Attributes:
        kind: `copied` for a passage, `similar` for files.
        file, line, end_line: the file that is checked, and which of its lines, from 1.
        other, other_line, other_end_line: where the same is.
        tokens: how many tokens (in texts words) the passage or the file has.
        similarity: of two files; None for a passage.
        fingerprint: the same as long as both names and the text of the passage are.
    """

    kind: Literal["copied", "similar"]
    file: str
    line: int
    end_line: int
    other: str
    other_line: int
    other_end_line: int
    tokens: int
    similarity: float | None
    fingerprint: str

    @property
    def message(self) -> str:
        """The finding in words, without its place."""
        if self.similarity is None:
            lines = f"{self.other}:{self.other_line}-{self.other_end_line}"
            return f"{self.tokens} tokens copied from {lines}"
        return f"similar to {self.other}: {number(self.similarity)}"


@dataclass(frozen=True, slots=True)
class Findings:
    """What is found.

    Attributes:
        found: without what the baseline has.
        files: how many files were searched.
        checked: how many of these were checked.
        accepted: how many findings the baseline has.
        unknown: files that were to be checked, but are not in the index.
    """

    found: list[Finding]
    files: int
    checked: int
    accepted: int
    unknown: list[str]


@dataclass(eq=False)
class _Text:
    """A file in a database, with the places of its tokens in it, int64[n] both."""

    database: Database
    key: str

    def __post_init__(self) -> None:
        self.content = str(self.database.get(self.key).content)
        units = positions.cut([self.content], self.database.settings.shingling.kind)
        self.starts, self.stops = units.starts, units.stops
        # As git counts lines; the last number is behind the text.
        self.lines = [0, *accumulate(len(line) + 1 for line in self.content.split("\n"))]

    def token(self, start: int) -> int:
        """The number of the first token that begins at a character or behind it, from 0."""
        return int(np.searchsorted(self.starts, start))

    def start_of(self, line: int) -> int:
        """The first character of a line; the end of the text behind its last one."""
        return self.lines[min(line, len(self.lines)) - 1]

    def span(self, low: int, high: int) -> slice:
        """The characters of some tokens."""
        return slice(int(self.starts[low]), int(self.stops[high - 1]))

    def place(self, part: slice) -> tuple[str, int, int]:
        """The file, and the first and the last line of some characters, from 1."""
        first, last = (bisect_right(self.lines, at) for at in (part.start, part.stop - 1))
        return self.key, first, last


def gate(
    files: Sequence[str], asked: GateOptions, progress: bool = False, directory: str = "."
) -> Findings:
    """What files of a repository have in common with others.

    Args:
        files: paths; none for all files.
        asked: which findings count.
        progress: whether a bar shows how the index is brought in step.
        directory: any in the repository.

    Raises:
        InputError: this is no repository, git fails, or the baseline cannot be read.
        UsageError: git does not know the commit.
        StoreError: an index cannot be read or written; it may be deleted.
    """
    accepted = _baseline(asked.baseline)
    top, place = git.repository(directory)
    changes = None if asked.since is None else git.changes(top, asked.since)
    keys = [key_of(path, top) for path in files] if files else changes and [*changes]
    if files and changes is not None:
        keys = [key for key in keys or () if key in changes]
    os.makedirs(place, exist_ok=True)
    found, size, checked, known = list[Finding](), 0, 0, set[str]()
    for kind, (shingle, suffixes) in _KINDS.items():
        path = os.path.join(place, f"{kind}-{asked.min_tokens}.db")
        opening = OpenOptions(
            path=path,
            shingle=shingle,
            threshold=_THRESHOLD,
            passages=asked.min_tokens,
            check_settings=True,
        )
        with open_database(opening) as database:
            patterns = [f"*.{suffix}" for suffix in suffixes.split()]
            own = regrouped(asked, ExcludeOptions)
            walking = regrouped(own, SyncOptions, include=patterns, tracked=True, root=top)
            step = replace(walking, max_filesize=_LARGEST, remove_most=True, progress=progress)
            database.sync([top], step)
            size += len(database)
            some = None if keys is None else [key for key in keys if key in database]
            known |= set(some or ())
            checked += len(database) if some is None else len(some)
            found += _Search(database, some, changes, asked).findings()
    new = [one for one in found if one.fingerprint not in accepted]
    unknown = [one for one in keys or () if files and one not in known]
    return Findings(new, size, checked, len(found) - len(new), unknown)


@dataclass(eq=False)
class _Search:
    """Finds what files of a database have in common with others.

    Attributes:
        keys: the files; None for all.
        changes: which lines of them count; None for all.
    """

    database: Database
    keys: list[str] | None
    changes: dict[str, git.Changed] | None
    asked: GateOptions
    texts: dict[str, _Text] = field(default_factory=dict)

    def findings(self) -> Iterator[Finding]:
        """All of them: similar files, then passages of files that are not similar."""
        seen = set[object]()
        for a, b, similarity in self._similar():
            text, other = self._text(a), self._text(b)
            if frozenset((a, b)) not in seen and len(text.starts) >= self.asked.min_tokens:
                seen.add(frozenset((a, b)))
                where, place = (one.place(slice(0, len(one.content))) for one in (text, other))
                mark = _fingerprint((a, ""), (b, ""))
                yield Finding("similar", *where, *place, len(text.starts), similarity, mark)
        for a, b, passage in self._passages():
            ends = frozenset(((a, passage.start), (b, passage.stored_start)))
            if frozenset((a, b)) not in seen and ends not in seen:
                seen.add(ends)
                yield from self._copied(a, b, passage)

    def _text(self, key: str) -> _Text:
        if key not in self.texts:
            self.texts[key] = _Text(self.database, key)
        return self.texts[key]

    def _similar(self) -> Iterator[tuple[str, str, float]]:
        """Pairs of similar files; of changed ones those that are new."""
        if self.keys is None:
            for pair in self.database.pairs(threshold=self.asked.threshold):
                yield pair.a, pair.b, pair.similarity
        for key in self.keys or ():
            if self.changes is None or self.changes[key].is_new:
                for match in self.database.query(key=key, threshold=self.asked.threshold):
                    yield key, match.key, match.similarity

    def _passages(self) -> Iterator[tuple[str, str, CopiedPassage]]:
        asked = PassagePairsOptions(min_words=self.asked.min_tokens)
        if self.keys is None:
            for pair in self.database.passage_pairs(asked):
                for passage in pair.passages:
                    yield pair.a, pair.b, passage
        for key in self.keys or ():
            for source in self.database.passages(regrouped(asked, PassagesOptions, key=key)):
                for passage in source.passages:
                    yield key, source.key, passage

    def _copied(self, a: str, b: str, passage: CopiedPassage) -> Iterator[Finding]:
        """The findings of a passage: for each range of changed lines in it that is long enough."""
        text, other = self._text(a), self._text(b)
        mark = _fingerprint(
            (a, text.content[passage.start : passage.end]),
            (b, other.content[passage.stored_start : passage.stored_end]),
        )
        lines = [(passage.line, passage.end_line)]
        if self.changes is not None:
            lines = self.changes[a].lines
        # Both have the same tokens, one by one.
        shift = other.token(passage.stored_start) - text.token(passage.start)
        for first, last in lines:
            low = text.token(max(passage.start, text.start_of(first)))
            high = text.token(min(passage.end, text.start_of(last + 1)))
            if high - low < self.asked.min_tokens:
                continue
            here, there = text.span(low, high), other.span(low + shift, high + shift)
            mine = set(_WORD.findall(text.content[here]))
            its = set(_WORD.findall(other.content[there]))
            if len(mine & its) >= _SAME_WORDS * len(mine | its):
                where, place = text.place(here), other.place(there)
                yield Finding("copied", *where, *place, high - low, None, mark)


def _fingerprint(*ends: tuple[str, str]) -> str:
    """What stays the same for two files and a text in them, whichever is checked."""
    parts = [part for key, text in sorted(ends) for part in (key, " ".join(text.split()))]
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _baseline(path: str | None) -> set[str]:
    """The fingerprints of findings in a file of JSON lines."""
    if path is None:
        return set()
    if path == STDIN:
        raise UsageError("--baseline takes a file, not standard input")
    try:
        with opened(path, None) as file:
            return {loads(line)["fingerprint"] for line in file if not line.isspace()}
    except OSError as error:
        raise InputError(f"{printable_path(path)}: {(error.strerror or '').lower()}") from None
    except InputError as error:
        raise InputError(f"{printable_path(path)}: {error}") from None
    except (ValueError, TypeError, KeyError):
        raise InputError(
            f"{printable_path(path)}: not the findings of lshdb gate --json, one per line"
        ) from None


def sarif(found: Sequence[Finding], version: str) -> dict[str, Any]:
    """Findings as a log of SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format)."""
    rules = {
        "copied": "A passage is copied from another file.",
        "similar": "A file is a near duplicate of another one.",
    }
    results = [
        {
            "ruleId": one.kind,
            "level": "warning",
            "message": {"text": one.message},
            "locations": [_location(one.file, one.line, one.end_line)],
            "relatedLocations": [
                {"id": 1, "message": {"text": "the same text"}}
                | _location(one.other, one.other_line, one.other_end_line)
            ],
            "partialFingerprints": {"lshdb/v1": one.fingerprint},
        }
        for one in found
    ]
    about = [{"id": name, "shortDescription": {"text": text}} for name, text in rules.items()]
    driver = {"name": "lshdb", "version": version, "rules": about}
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
        "sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _location(file: str, line: int, end_line: int) -> dict[str, Any]:
    where = {"uri": quote(file), "uriBaseId": "%SRCROOT%"}
    region = {"startLine": line, "endLine": end_line}
    return {"physicalLocation": {"artifactLocation": where, "region": region}}


def summary(done: Findings) -> str:
    """What was done, in a line."""
    kinds = [one.kind for one in done.found]
    accepted = f", accepted {done.accepted:,}" if done.accepted else ""
    return (
        f"checked {done.checked:,} of {counted(done.files, 'file')}: copied passages "
        f"{kinds.count('copied'):,}, similar files {kinds.count('similar'):,}{accepted}"
    )
