"""What changes of a repository copy from elsewhere in it.

Two databases below .git hold the files that git tracks, programs as tokens and texts as words,
without what does not count (lshdb.apps.programs.boilerplate). `sync` keeps them in step, and
`passages` and `query` find what is copied and similar. Other lengths of passages have other files:
an index for shorter ones leads to many more candidates. So has another version of the rules or of
lshdb, and the files of earlier ones are deleted.

100 MB of sources, on two cores (`scripts/bench gate`): see docs/gate.md. Most of the first run is
cutting programs into tokens, which is done once for signatures and fingerprints.
"""

import contextlib
import hashlib
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np

from lshdb import (
    CopiedPassage,
    Database,
    Failure,
    InputError,
    Shingling,
    UsageError,
    __version__,
    errors,
    formatting,
)
from lshdb import open as open_database
from lshdb.apps.folders.options import SyncOptions
from lshdb.apps.gate import working_tree
from lshdb.apps.gate.options import GateOptions
from lshdb.apps.passages import line_ends, positions
from lshdb.apps.passages.options import PassagePairsOptions, PassagesOptions
from lshdb.apps.passages.processes import in_processes
from lshdb.apps.programs import boilerplate, families, tokens
from lshdb.json_text import loads
from lshdb.options import OpenOptions
from lshdb.read import encodings, paths
from lshdb.read.counts import reason
from lshdb.read.session import session_of

_CODE = (
    "bash c cc cjs clj cpp cs css cxx dart ex exs f90 go gradle groovy h hpp hs java jl js jsx kt "
    "kts less lua m mjs ml mm php pl pm proto ps1 py pyi r rb rs scala scss sh sql svelte swift tf "
    "ts tsx v vhd vue zig zsh"
)
_TEXT = "adoc markdown md org rst tex txt"
_KINDS = {
    kind: (shingle, tuple(f".{suffix}" for suffix in suffixes.split()))
    for kind, shingle, suffixes in (("code", "code:6", _CODE), ("text", "word:3", _TEXT))
}
"""Shingles and endings of the files in each database."""
_THRESHOLD = 0.6
"""The lowest similarity that they are made for."""
_SAME_WORDS = 0.5
"""The share of the distinct words of two passages that both have: lists of imports or of data may
have the same tokens, and nothing else in common."""
_WORD = re.compile(r"\w+")
_LARGEST = 1 << 20
"""Bytes of a file: larger ones are data, or made by programs."""
_TAG = hashlib.blake2b(f"{__version__} {boilerplate.RULES}".encode(), digest_size=4).hexdigest()
"""What the names of indexes by these rules, and by this version of lshdb, end in."""


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
        repository_share: the share of the tokens of all checked files that is copied; the same
            for all findings of a run.
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
    repository_share: float = 0.0

    @property
    def message(self) -> str:
        """The finding in words, without its place."""
        if self.similarity is None:
            lines = f"{self.other}:{self.other_line}-{self.other_end_line}"
            return f"{self.tokens} tokens copied from {lines}"
        return f"similar to {self.other}: {formatting.number(self.similarity)}"


@dataclass(slots=True)
class Findings:
    """What is found.

    Attributes:
        found: without what the baseline has.
        files: how many files were searched or checked.
        checked: how many of these were checked.
        accepted: how many findings the baseline has.
        tokens: how many tokens of the checked files count.
        copied: how many of these are in findings, accepted ones included.
        left_out: how many tokens of the checked files do not count, by the reason.
        notes: files that were to be checked and were not, markers without a counterpart, and lines
            of ignore files that are no patterns.
        failures: files and directories that cannot be read, each with its path from the top.
    """

    found: list[Finding] = field(default_factory=list)
    files: int = 0
    checked: int = 0
    accepted: int = 0
    tokens: int = 0
    copied: int = 0
    left_out: Counter[boilerplate.Reason] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    failures: Sequence[Failure] = ()

    @property
    def share(self) -> float:
        """The share of the tokens of the checked files that is copied."""
        return self.copied / self.tokens if self.tokens else 0.0


@dataclass(eq=False)
class _TokenizedFile:
    """A file, with where its n tokens start and stop, and which are in findings: int64, bool[n]."""

    key: str
    content: str
    shingling: Shingling

    def __post_init__(self) -> None:
        texts = line_ends.whole_words([self.content], self.shingling)
        units = positions.units_of(texts, self.shingling)
        self.starts, self.stops = units.starts, units.stops
        self.is_copied = np.zeros(len(units.starts), dtype=np.bool_)
        # As git counts lines; the last number is behind the text.
        self.lines = [0, *accumulate(len(line) + 1 for line in self.content.split("\n"))]

    def token(self, start: int) -> int:
        """The number of the first token that begins at a character or behind it, from 0."""
        return int(np.searchsorted(self.starts, start))

    def start_of(self, line: int) -> int:
        """The first character of a line; the end of the text behind its last one."""
        return self.lines[min(line, len(self.lines)) - 1]

    def span(self, low: int, high: int) -> slice:
        """The range of characters of tokens `low` to `high` - 1."""
        return slice(int(self.starts[low]), int(self.stops[high - 1]))

    def location(self, part: slice) -> tuple[str, int, int]:
        """The file, and the first and the last line of a range of characters, from 1."""
        first, last = (
            bisect_right(self.lines, character) for character in (part.start, part.stop - 1)
        )
        return self.key, first, last


def gate(
    files: Sequence[str],
    request: GateOptions,
    progress: bool = False,
    directory: str = ".",
) -> Findings:
    """What files of a repository have in common with others.

    Args:
        files: paths of files, also of some that git does not track, and of directories, which
            stand for the files in them that it does; none for all of these.
        request: which findings count.
        progress: whether a bar shows how the index is brought in step.
        directory: any in the repository.

    Raises:
        InputError: this is no repository, git fails, a file does not exist, or the baseline cannot
            be read.
        UsageError: git does not know the commit.
        StoreError: an index cannot be read or written; it may be deleted.
    """
    accepted = _baseline(request.baseline)
    for path in files:
        if not os.path.exists(path):
            raise InputError(f"{paths.printable_path(path)}: no such file or directory")
    top, index_directory = working_tree.repository(directory)
    patterns = [f"*{ending}" for _, endings in _KINDS.values() for ending in endings]
    changes = None if request.since is None else working_tree.changes(top, request.since, patterns)
    checked_paths = {paths.key_of(path, top): path for path in files}
    job = _GateRun(top, index_directory, request, checked_paths, changes, progress)
    return job.findings(accepted)


@dataclass(eq=False)
class _GateRun:
    """A run of the gate.

    Attributes:
        top: of the working tree.
        index_directory: has the indexes.
        request: what is asked.
        checked_paths: the paths of the files to check, by their keys; empty for all files.
        changes: what changed; None if that does not matter.
        progress: whether a bar is shown.
        failures: what cannot be read; a directory of both kinds once.
        sync_notes: such as lines of ignore files that are no patterns; those of both kinds once.
    """

    top: str
    index_directory: str
    request: GateOptions
    checked_paths: dict[str, str]
    changes: dict[str, working_tree.Changed] | None
    progress: bool
    failures: dict[Failure, None] = field(default_factory=dict, init=False)
    sync_notes: dict[str, None] = field(default_factory=dict, init=False)

    def findings(self, accepted: set[str]) -> Findings:
        """All that is found, without the accepted fingerprints."""
        os.makedirs(self.index_directory, exist_ok=True)
        for name in os.listdir(self.index_directory):
            # Of other rules, or of another version: nobody would look for them.
            if name.startswith(tuple(f"{kind}-" for kind in _KINDS)) and f"-{_TAG}.db" not in name:
                with contextlib.suppress(OSError):  # in use, on Windows
                    os.unlink(os.path.join(self.index_directory, name))
        missing = {key: path for key, path in self.checked_paths.items() if not os.path.isdir(path)}
        tracked = working_tree.tracked(self.top) if missing else set()
        result = Findings()
        for kind, (shingle, endings) in _KINDS.items():
            is_all = self.request.count_all
            name = f"{kind}-{self.request.min_tokens}{'-all' * is_all}-{_TAG}.db"
            opening = OpenOptions(
                path=os.path.join(self.index_directory, name),
                shingle=shingle if is_all else f"{shingle}-boilerplate",
                threshold=_THRESHOLD,
                passages=self.request.min_tokens,
                check_settings=True,
            )
            step = self._step(endings)
            with open_database(opening) as database:
                with errors.limits_noted() as cuts:
                    database.sync([self.top], step)
                self.sync_notes.update(dict.fromkeys(map(str, cuts)))
                others = self._untracked(
                    database, step, endings, [key for key in missing if key not in tracked]
                )
                search = _Search(database, self._keys(database), others, self.changes, self.request)
                result.files += len(database)
                result.found += search.findings()
                result.copied += search.copied()
                search.measure(result)
                missing = {
                    key: path
                    for key, path in missing.items()
                    if key not in database and key not in others
                }
        result.notes += self.sync_notes
        failed = {failure.where for failure in self.failures}
        result.notes += [
            f"{key}: not checked: {_why(path)}"
            for key, path in missing.items()
            if paths.printable_path(key) not in failed
        ]
        result.failures = [*self.failures]
        found = result.found
        result.found = [
            replace(finding, repository_share=result.share)
            for finding in found
            if finding.fingerprint not in accepted
        ]
        result.accepted = len(found) - len(result.found)
        return result

    def _step(self, endings: Sequence[str]) -> SyncOptions:
        """How the files of a kind are read."""
        return SyncOptions(
            exclude=self.request.exclude,
            include=[f"*{ending}" for ending in endings],
            tracked=True,
            root=self.top,
            max_filesize=_LARGEST,
            remove_most=True,
            progress=self.progress,
            on_failure=self._failed,
        )

    def _failed(self, failure: Failure) -> None:
        """Take in what cannot be read, with its path from the top."""
        where = failure.where.removeprefix(paths.printable_path(os.path.join(self.top, "")))
        self.failures[replace(failure, where=where)] = None

    def _keys(self, database: Database) -> list[str] | None:
        """The files of a database that are to be checked; None for all."""
        changes = self.changes
        if not self.checked_paths:
            return None if changes is None else [key for key in changes if key in database]
        keys = {key: None for key in self.checked_paths if key in database}
        for folder, path in self.checked_paths.items():
            if os.path.isdir(path):
                inside = "" if folder in (".", "") else f"{folder}/"
                keys |= {key: None for key in database if key.startswith(inside)}
        return [key for key in keys if changes is None or key in changes]

    def _untracked(
        self,
        database: Database,
        step: SyncOptions,
        endings: tuple[str, ...],
        keys: Sequence[str],
    ) -> dict[str, str]:
        """The texts of files to check that git does not track, by their keys."""
        texts: dict[str, str] = {}
        session = session_of(
            step.texts,
            database.settings.shingling,
            step.files,
            on_failure=step.on_failure,
            format="text",
        )
        for key in keys:
            path = self.checked_paths[key]
            is_read = key not in database and path.endswith(endings)
            if not is_read or os.path.getsize(path) > _LARGEST:
                continue
            for batch in session.file(session.resolved(path, key)):
                texts.update((key, str(content)) for content in batch.contents)
                for _, failure in batch.failures:
                    self._failed(replace(failure, where=paths.printable_path(key)))
            if key in texts and self.changes is not None:
                self.changes[key] = working_tree.Changed(True, [working_tree.ALL_LINES])
        return texts


def _why(path: str) -> str:
    """Why a file was not checked."""
    if os.path.getsize(path) > _LARGEST:
        return f"it has more than {_LARGEST:,} bytes"
    if not any(path.endswith(endings) for _, endings in _KINDS.values()):
        return "its kind is not read"
    return "it is excluded, a link or no text"


class TokenCounts(NamedTuple):
    """How much of a text counts.

    Attributes:
        units: the number of units that count.
        left_out: the number of units that do not count, by reason.
        unmatched: markers of regions without a counterpart.
    """

    units: int
    left_out: dict[boilerplate.Reason, int]
    unmatched: list[boilerplate.Marker]


def units_counted(text: str, shingling: Shingling) -> TokenCounts:
    """How many units of a text count under a database's shingling, and how many do not."""
    if "boilerplate" not in shingling.options:
        return TokenCounts(len(positions.units_of([text], shingling).starts), {}, [])
    if shingling.of_programs:
        blanked = families.blanked(text)
        stretches = boilerplate.in_program(text, blanked)
        starts = tokens.cut_tokens([blanked]).places()[0]
    else:
        blanked, stretches = text, boilerplate.in_text(text)
        starts = positions.cut([text], shingling.kind).starts
    left_out = Counter[boilerplate.Reason]()
    for start, stop, why in stretches:
        low, high = np.searchsorted(starts, (start, stop)).tolist()
        left_out[why] += high - low
    units = len(starts) - sum(left_out.values())
    return TokenCounts(units, left_out, boilerplate.unmatched(text, blanked))


def _counted(shingling: Shingling, item: tuple[str, str]) -> tuple[str, TokenCounts]:
    key, content = item
    (text,) = line_ends.whole_words([content], shingling)
    return key, units_counted(text, shingling)


@dataclass(eq=False)
class _Search:
    """Finds what files have in common with those of a database.

    Attributes:
        database: the files that git tracks.
        keys: the files of it that are checked; None for all.
        others: the texts of more files to check, by their keys.
        changes: which lines of them count; None for all.
        request: what is asked.
    """

    database: Database
    keys: list[str] | None
    others: Mapping[str, str]
    changes: dict[str, working_tree.Changed] | None
    request: GateOptions
    texts: dict[str, _TokenizedFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = set(self.database if self.keys is None else self.keys)
        self.shingling = self.database.settings.shingling
        questions: dict[str, tuple[str | None, str | None]]
        questions = {key: (None, key) for key in self.keys or ()}
        self.questions = questions | {key: (text, None) for key, text in self.others.items()}

    def findings(self) -> Iterator[Finding]:
        """All of them: similar files, then passages of files that are not similar."""
        seen = set[object]()
        for a, b, similarity in self._similar():
            text, other = self._text(a), self._text(b)
            if frozenset((a, b)) not in seen and len(text.starts) >= self.request.min_tokens:
                seen.add(frozenset((a, b)))
                text.is_copied[:] = other.is_copied[:] = True
                location, other_location = (
                    side.location(slice(0, len(side.content))) for side in (text, other)
                )
                mark = _fingerprint((a, ""), (b, ""))
                yield Finding(
                    "similar", *location, *other_location, len(text.starts), similarity, mark
                )
        for a, b, passage in self._passages():
            ends = frozenset(((a, passage.start), (b, passage.stored_start)))
            if frozenset((a, b)) not in seen and ends not in seen:
                seen.add(ends)
                yield from self._copied(a, b, passage)

    def measure(self, result: Findings) -> None:
        """Count which tokens of the checked files count, and which do not."""
        count = partial(_counted, self.shingling)
        checked = [*sorted(self.known), *self.others]
        result.checked += len(checked)
        result.files += len(self.others)
        for key, counts in in_processes(count, ((key, self._content(key)) for key in checked)):
            result.tokens += counts.units
            result.left_out.update(counts.left_out)
            for line, kind in counts.unmatched:
                why = "no ignore-end follows" if kind == "start" else "no ignore-start is before it"
                result.notes.append(f"{key}:{line}: lshdb: ignore-{kind}: {why}")

    def copied(self) -> int:
        """How many tokens of the checked files are in findings; each counts once."""
        checked = self.known.union(self.others).intersection(self.texts)
        return sum(int(self.texts[key].is_copied.sum()) for key in checked)

    def _content(self, key: str) -> str:
        if key in self.others:
            return self.others[key]
        return str(self.database.get(key).content)

    def _text(self, key: str) -> _TokenizedFile:
        if key not in self.texts:
            self.texts[key] = _TokenizedFile(key, self._content(key), self.shingling)
        return self.texts[key]

    def _similar(self) -> Iterator[tuple[str, str, float]]:
        """Pairs of similar files; of changed ones those that are new."""
        threshold = self.request.threshold
        if self.keys is None:
            for pair in self.database.pairs(threshold=threshold):
                yield pair.a, pair.b, pair.similarity
        for key, (text, stored) in self.questions.items():
            if key in self.others or self.changes is None or self.changes[key].is_new:
                for match in self.database.query(text, threshold=threshold, key=stored):
                    yield key, match.key, match.similarity

    def _passages(self) -> Iterator[tuple[str, str, CopiedPassage]]:
        options = PassagePairsOptions(min_words=self.request.min_tokens)
        if self.keys is None:
            for pair in self.database.passage_pairs(options):
                for passage in pair.passages:
                    yield pair.a, pair.b, passage
        for key, (text, stored) in self.questions.items():
            for source in self.database.passages(PassagesOptions(text, key=stored, search=options)):
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
            if high - low < self.request.min_tokens:
                continue
            part, other_part = text.span(low, high), other.span(low + shift, high + shift)
            words = set(_WORD.findall(text.content[part]))
            other_words = set(_WORD.findall(other.content[other_part]))
            if len(words & other_words) >= _SAME_WORDS * len(words | other_words):
                location, other_location = text.location(part), other.location(other_part)
                text.is_copied[low:high] = True
                other.is_copied[low + shift : high + shift] = True
                yield Finding("copied", *location, *other_location, high - low, None, mark)


def _fingerprint(*ends: tuple[str, str]) -> str:
    """What stays the same for two files and a text in them, whichever is checked."""
    parts = [part for key, text in sorted(ends) for part in (key, " ".join(text.split()))]
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _baseline(path: str | None) -> set[str]:
    """The fingerprints of findings in a file of JSON lines."""
    if path is None:
        return set()
    if path == paths.STDIN:
        raise UsageError("--baseline takes a file, not standard input")
    try:
        with paths.opened(path, None) as file:
            data = file.read()
        # PowerShell writes UTF-16, with a mark.
        lines = data.decode(encodings.of_mark(data) or "utf-8").encode().split(b"\n")
        return {loads(line)["fingerprint"] for line in lines if line.strip()}
    except (OSError, InputError) as error:
        why = reason(error)
    except (ValueError, TypeError, KeyError):
        why = "not the findings of lshdb gate --json, one per line"
    raise InputError(f"{paths.printable_path(path)}: {why}")


def sarif(findings: Findings) -> dict[str, Any]:
    """Findings as a log of SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format)."""
    rules = {
        "copied": "A passage is copied from another file.",
        "similar": "A file is a near duplicate of another one.",
    }
    results = [
        {
            "ruleId": finding.kind,
            "level": "warning",
            "message": {"text": finding.message},
            "locations": [_location(finding.file, finding.line, finding.end_line)],
            "relatedLocations": [
                {"id": 1, "message": {"text": "the same text"}}
                | _location(finding.other, finding.other_line, finding.other_end_line)
            ],
            "partialFingerprints": {"lshdb/v1": finding.fingerprint},
        }
        for finding in findings.found
    ]
    about = [{"id": name, "shortDescription": {"text": text}} for name, text in rules.items()]
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
        "sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "lshdb", "version": __version__, "rules": about}},
                "results": results,
                "properties": {
                    "repositoryShare": findings.share,
                    "leftOut": dict(findings.left_out),
                },
            }
        ],
    }


def _location(file: str, line: int, end_line: int) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(file), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line, "endLine": end_line},
        }
    }


def summary(findings: Findings) -> str:
    """What was done, in a line."""
    kinds = [finding.kind for finding in findings.found]
    accepted = f", accepted {findings.accepted:,}" if findings.accepted else ""
    return (
        f"checked {findings.checked:,} of {formatting.counted(findings.files, 'file')}: "
        f"copied passages {kinds.count('copied'):,}, "
        f"similar files {kinds.count('similar'):,}{accepted}"
    )


def left_out(findings: Findings) -> str:
    """How many tokens did not count, by the reason, in a line; empty if all did."""
    parts = [
        f"{name} {findings.left_out[reason]:,}"
        for reason, name in boilerplate.REASONS.items()
        if findings.left_out.get(reason)
    ]
    return f"tokens left out: {', '.join(parts)}" if parts else ""
