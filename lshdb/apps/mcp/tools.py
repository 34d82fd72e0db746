"""The tools: each makes of its arguments a line for people and a result for programs."""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any
from unicodedata import normalize
from urllib.parse import quote, unquote

from pydantic import Field, WithJsonSchema

from lshdb import (
    Admission,
    Change,
    Database,
    KeyNotFound,
    Match,
    Pair,
    Similar,
    StoredDocument,
    UsageError,
    formatting,
)
from lshdb.apps.compare.admission import comparison_at
from lshdb.apps.compare.differences import changed_words
from lshdb.apps.mcp.statements import KEY_OF_NUMBER
from lshdb.keys import key_argument, key_arguments
from lshdb.sketch.settings import settings_record

URI = "lshdb://document/"
NUMBER = "lshdb://number/"
"""The address of a document whose key is too long for an address."""
_LONGEST = 500
"""Maximum characters of a document in a result, and of a key in an address."""
_BEFORE = 100
"""Characters of a text that are shown before a word that was searched for."""
_MAX_WORDS = 20
"""Maximum number of words of a search."""
_SEARCH_SECONDS = 5.0
"""Maximum seconds of a search for words."""
_CHANGES = 5
"""Maximum number of changes of a similar text in the first line of an answer."""
_DOTS = "\N{HORIZONTAL ELLIPSIS}"

ToolResult = tuple[str, dict[str, Any]]
"""A short text, and the result as JSON."""


_KEY = WithJsonSchema({"type": ["string", "integer"]})
"""The type that clients send for a key, of which `lshdb.keys` makes a text."""
_KEYS = WithJsonSchema({"type": ["array", "string", "integer"], "items": _KEY.json_schema})

Key = Annotated[Any, _KEY, Field(description="A stored document: its key or its uri.")]
Text = Annotated[str | None, Field(description="A text to compare; or give a key.")]
Top = Annotated[int, Field(ge=1, le=100, description="Maximum number of results.")]
Threshold = Annotated[
    float | None, Field(gt=0, le=1, description="Minimum similarity; by default the database's.")
]
Words = Annotated[
    str, Field(description="Words or parts of words, with blanks between, all of which a text has.")
]
After = Annotated[
    int, Field(ge=0, lt=1 << 63, description="Where to go on: `next` of the answer before.")
]


@dataclass(frozen=True)
class Tools:
    """The tools of a database: their names are the methods', their descriptions the docstrings."""

    database: Database

    def listed(self) -> list[tuple[Callable[..., ToolResult], bool]]:
        """The tools, and whether each changes the database and may remove documents."""
        reading = (
            self.describe_database,
            self.find_similar,
            self.find_words,
            self.find_passages,
            self.compare_documents,
            self.list_clusters,
            self.list_pairs,
        )
        writing = (self.add_unless_similar, self.remove_documents)
        return [*((tool, False) for tool in reading), *((tool, True) for tool in writing)]

    def find_similar(
        self, text: Text = None, key: Key = None, top: Top = 5, threshold: Threshold = None
    ) -> ToolResult:
        """Find stored documents that are near duplicates of a text or of a stored document.

        For a text that shares only words or a name with them, use find_words.
        """
        threshold, compares_all, recall = comparison_at(self.database.settings, threshold)
        key = self._named("key", key)
        nearest = self.database.query(
            text,
            key=key,
            top=top + 1,
            threshold=threshold,
            exhaustive=compares_all,
        )
        text = text if key is None else _text(self.database.get(key).content)
        matches: list[dict[str, Any]] = []
        for match in nearest[:top]:
            stored = self.database.get(match.key)
            matches.append(
                {"key": match.key, **_scores(match), "changes": _changes(text, stored)}
                | _excerpt(stored)
            )
        names = [f"{match['key']} ({formatting.number(match['similarity'])})" for match in matches]
        result = {"matches": matches, "more": len(nearest) > top}
        return _listed("similar document", names), result | _compared(
            threshold, compares_all, recall
        )

    def find_passages(self, text: Text = None, key: Key = None, top: Top = 5) -> ToolResult:
        """Find which passages of a text are copied from stored documents, and where they are."""
        passages = self.database.passages(text, key=self._named("key", key), top=top)
        names = [
            f"{source.key} ({formatting.counted(source.words, passages.unit)})"
            for source in passages
        ]
        sources = [
            asdict(source) | {"uri": uri_of(self.database.get(source.key))} for source in passages
        ]
        line = _listed("source", names)
        return line, {"words": passages.words, "unit": passages.unit, "sources": sources}

    def find_words(self, words: Words, top: Top = 5, after: After = 0) -> ToolResult:
        """Find stored texts that have all of some words, whatever their case, in order of addition.

        Of a text, the first million characters are searched.
        """
        searched = words.split()
        if not searched or len(searched) > _MAX_WORDS:
            raise UsageError(
                f"words has {formatting.counted(len(searched), 'word')}: give 1 to {_MAX_WORDS}"
            )
        if not self.database.settings.content:
            raise UsageError(
                "find_words searches contents, and this database keeps signatures only"
            )
        matches = self.database.find_words(searched, after=after, top=top, seconds=_SEARCH_SECONDS)
        keys = [key for key, _ in matches.documents]
        documents = [{"key": key, **_excerpt(self.database.get(key), searched)} for key in keys]
        line, following = _listed("document", keys), matches.following
        if following is not None:
            line += f"; not all documents were searched: call again with after {following} to go on"
        return line, {"documents": documents, "next": following}

    def compare_documents(self, a: Key, b: Key) -> ToolResult:
        """Compare two stored documents: similarity, what both have, and the words that differ."""
        a, b = self._named("a", a), self._named("b", b)
        compared = self.database.compare(a, b).record()
        del compared["shared_buckets"]
        compared["changes"] = _changes(_text(self.database.get(a).content), self.database.get(b))
        return f"similarity {formatting.number(compared['similarity'])}", compared

    def list_clusters(self, top: Top = 10) -> ToolResult:
        """List groups of near duplicates, the most similar first, with the one of each to keep."""
        clusters = [asdict(cluster) for cluster in self.database.clusters(top=top)]
        names = [f"{cluster['keep']} ({len(cluster['members'])})" for cluster in clusters]
        return _listed("cluster", names), {"clusters": clusters}

    def list_pairs(
        self,
        top: Top = 10,
        threshold: Threshold = None,
        max_similarity: Annotated[
            float | None, Field(gt=0, le=1, description="Maximum similarity.")
        ] = None,
        sample: Annotated[bool, Field(description="Draw them at random from all pairs.")] = False,
    ) -> ToolResult:
        """List pairs of near duplicates, the most similar first, or some drawn at random.

        To choose a threshold, read a sample of the pairs between two similarities.
        """
        result = self.database.pairs(
            threshold=threshold,
            max_similarity=max_similarity,
            top=None if sample else top,
            sample=top if sample else None,
        )
        stored_pairs = [*result]
        pairs = [
            {
                **_scores(pair),
                "a": {"key": pair.a, **_excerpt(self.database.get(pair.a))},
                "b": {"key": pair.b, **_excerpt(self.database.get(pair.b))},
            }
            for pair in stored_pairs
        ]
        names = [
            f"{pair.a} and {pair.b} ({formatting.number(pair.similarity)})" for pair in stored_pairs
        ]
        return _listed("pair", names), {"pairs": pairs, "drawn_from": result.drawn_from}

    def describe_database(self) -> ToolResult:
        """Describe the database: how many documents it has, and what counts as similar."""
        info = self.database.info()
        settings = settings_record(info.settings)
        line = (
            f"{formatting.counted(info.documents, 'document')}; similar from "
            f"{settings['threshold']} on, by {settings['shingle']}"
        )
        counts = {"documents": info.documents, "empty": info.empty, "bytes": info.bytes}
        return line, counts | settings | {"read_only": self.database.read_only}

    def add_unless_similar(
        self,
        key: Annotated[Any, _KEY, Field(description="A new name for the text.")],
        text: Annotated[str, Field(description="The text to store.")],
        threshold: Threshold = None,
        top: Top = 5,
        replace: Annotated[
            Any,
            _KEY,
            Field(description="A stored document whose place the text takes: its key or its uri."),
        ] = None,
        force: Annotated[
            bool, Field(description="Whether to store it beside similar ones.")
        ] = False,
    ) -> ToolResult:
        """Store a text under a new key, unless similar ones are stored; the answer names these.

        The answer has the similar texts, their similarity and the words that differ (given,
        stored). Read them: "lives in Berlin" and "lives in Munich" are similar and not the same.
        Then leave it, or call again with `replace` (the text takes the place of that document) or
        with `force` (it is stored beside them). A key that is in use is an error, unless it is the
        one to replace.
        """
        admission = self.database.add_unless_similar(
            self._named("key", key),
            text,
            threshold=threshold,
            top=top,
            replace=self._named("replace", replace),
            force=force,
        )
        similar = [
            {
                "key": match.key,
                **_scores(match),
                "changes": [asdict(change) for change in match.changes],
                "excerpt": formatting.shortened(_text(match.content), _LONGEST),
                "uri": _uri_if_stored(self.database, match.key),
            }
            for match in admission.similar
        ]
        replaced = admission.replaced
        result = {
            "result": admission.outcome,
            "key": admission.key,
            "similar": similar,
            "more": admission.more,
            "replaced": replaced and {"key": replaced.key, "text": _text(replaced.content)},
            "empty": admission.empty,
        }
        return _admitted(admission), result | _compared(
            admission.threshold, admission.compared_all, admission.recall
        )

    def remove_documents(
        self, keys: Annotated[Any, _KEYS, Field(description="Stored documents: keys or uris.")]
    ) -> ToolResult:
        """Remove stored documents; all of them, or none if one is not stored."""
        keys = [named(self.database, key) for key in key_arguments("keys", keys)]
        removed = [
            {"key": key, "excerpt": _excerpt(self.database.get(key))["excerpt"]} for key in keys
        ]
        count = self.database.remove(keys)
        return f"removed {formatting.counted(count, 'document')}: {', '.join(keys)}", {
            "removed": removed
        }

    def _named(self, name: str, key: Any) -> Any:
        """The key of a document, from what an argument of this name gives; None for None."""
        return None if key is None else named(self.database, key_argument(name, key))


def named(database: Database, key: str) -> str:
    """The key of a document, from its key or its address."""
    if key in database:
        return key
    if key.startswith(NUMBER):
        digits = key.removeprefix(NUMBER)
        number = int(digits) if digits.isdecimal() and len(digits) < 19 else 0
        for (stored_key,) in database.sql(KEY_OF_NUMBER, [number]):
            return str(stored_key)
        raise KeyNotFound(f"no document has the number {digits:.20}")
    return unquote(key.removeprefix(URI)) if key.startswith(URI) else key


def uri_of(document: StoredDocument) -> str:
    """The address of a document."""
    if len(document.key) <= _LONGEST:
        return URI + quote(document.key, safe="")
    return f"{NUMBER}{document.doc_id}"


def _uri_if_stored(database: Database, key: str) -> str | None:
    """The address of a document; None if its key is long and another client has removed it."""
    if len(key) <= _LONGEST:
        return URI + quote(key, safe="")
    with suppress(KeyNotFound):
        return uri_of(database.get(key))
    return None


def text_of(database: Database, key: str) -> str:
    """The content of a document as a text; of a set an element on each line."""
    return _text(database.get(named(database, key)).content)


def _text(content: object) -> str:
    if isinstance(content, tuple | list):
        return "\n".join(map(str, content))
    return "" if content is None else str(content)


def _excerpt(document: StoredDocument, words: Iterable[str] = ()) -> dict[str, str]:
    """The ends of a document, or the text around some words, and the address of the document."""
    text = _text(document.content)
    if len(text) > _LONGEST and words:
        text = normalize("NFC", text)
        composed = (re.escape(normalize("NFC", word)) for word in words)
        match = re.search("|".join(composed), text, re.IGNORECASE)
        start = max(0, match.start() - _BEFORE) if match else 0
        end = start + _LONGEST - 2
        text = _DOTS * (start > 0) + text[start:end] + _DOTS * (end < len(text))
    return {"excerpt": formatting.shortened(text, _LONGEST), "uri": uri_of(document)}


def _scores(result: Match | Pair | Similar) -> dict[str, Any]:
    """How similar two documents are."""
    return {
        name: getattr(result, name) for name in ("similarity", "exact", "identical", "same_text")
    }


def _changes(text: str | None, stored: StoredDocument) -> list[dict[str, str]]:
    """The words that differ between the caller's text and a stored one."""
    changes: list[Change] = []
    if text is not None and isinstance(stored.content, str):
        changes = changed_words(text, stored.content)
    return [asdict(change) for change in changes]


def _compared(threshold: float, compares_all: bool, recall: float) -> dict[str, Any]:
    """The values that say how similar documents were searched for."""
    return {"threshold": threshold, "compared_all": compares_all, "recall": round(recall, 6)}


def _admitted(admission: Admission) -> str:
    """A line about the outcome of adding a text."""
    near = "; ".join(map(_near, admission.similar))
    if admission.outcome == "similar":
        return (
            f"not added: similar to {near}; to store it all the same, call again with replace (a "
            "key) or force (true)"
        )
    line = f"{admission.outcome}: {admission.key}"
    if admission.replaced is not None:
        line = f"replaced: {admission.replaced.key} by {admission.key}"
    if near:
        line += f"; similar to {near}"
    if admission.empty:
        line += "; it has no words, so that nothing is similar to it"
    return line


def _near(similar: Similar) -> str:
    """A line about a similar document: its key, the similarity, and the words that differ."""
    changes = [f"{change.given or '-'} / {change.stored or '-'}" for change in similar.changes]
    if similar.same_text:
        changes = ["the same text"]
    elif not changes and isinstance(similar.content, str):
        changes = ["the same words"]
    words = f", {formatting.listed(changes, _CHANGES)}" if changes else ""
    return f"{similar.key} ({formatting.number(similar.similarity)}{words})"


def _listed(noun: str, names: list[str]) -> str:
    return f"{formatting.counted(len(names), noun)}: {', '.join(names)}" if names else f"no {noun}"
