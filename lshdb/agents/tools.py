"""The tools: each makes of its arguments a line for people and a result for programs."""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any
from urllib.parse import quote, unquote

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
from lshdb.agents.arguments import ComparedText, Key, ToolThreshold, ToolTop
from lshdb.groups import Option, Options, argument
from lshdb.keys import key_argument, key_arguments
from lshdb.search.differences import changed_words
from lshdb.search.query import comparison_at
from lshdb.sketching.settings import settings_record

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


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a client may call.

    Attributes:
        run: the function that does it; its docstring is the description for the model, and its
            name is the tool's.
        arguments: the class of its arguments.
        writes: whether it changes the database, and may remove stored documents.
    """

    run: Callable[[Database, Any], ToolResult]
    arguments: type[Options]
    writes: bool = False

    @property
    def name(self) -> str:
        """The name by which clients call the tool."""
        return self.run.__name__


class SimilarArguments(Options):
    """Arguments of find_similar."""

    text: ComparedText = None
    key: Key = None
    top: ToolTop = 5
    threshold: ToolThreshold = None


class PassageArguments(Options):
    """Arguments of find_passages."""

    text: ComparedText = None
    key: Key = None
    top: ToolTop = 5


class PairArguments(Options):
    """Arguments of compare_documents."""

    a: Annotated[Any, argument("A stored document: its key or its uri.", convert=key_argument)]
    b: Annotated[Any, argument("Another one.", convert=key_argument)]


class WordsArguments(Options):
    """Arguments of find_words."""

    words: Annotated[
        str, argument("Words or parts of words, with blanks between, all of which a text has.")
    ]
    top: ToolTop = 5
    after: Annotated[
        int, Option("Where to go on: `next` of the answer before.", min=0, max=(1 << 63) - 1)
    ] = 0


class ClustersArguments(Options):
    """Arguments of list_clusters."""

    top: ToolTop = 10


class PairsArguments(Options):
    """Arguments of list_pairs."""

    top: ToolTop = 10
    threshold: ToolThreshold = None
    max_similarity: Annotated[float | None, Option("Maximum similarity.", above=0, max=1)] = None
    sample: Annotated[bool, argument("Draw them at random from all pairs.")] = False


class NoArguments(Options):
    """Arguments of a tool that has none."""


class AdditionArguments(Options):
    """Arguments of add_unless_similar."""

    key: Annotated[Any, argument("A new name for the text.", convert=key_argument)]
    text: Annotated[str, argument("The text to store.")]
    threshold: ToolThreshold = None
    top: Annotated[int, Option("Maximum number of similar documents named.", min=1, max=100)] = 5
    replace: Annotated[
        Any,
        argument(
            "A stored document whose place the text takes: its key or its uri.",
            convert=key_argument,
        ),
    ] = None
    force: Annotated[bool, argument("Whether to store it beside similar ones.")] = False


class RemovalArguments(Options):
    """Arguments of remove_documents."""

    keys: Annotated[Any, argument("Stored documents: keys or uris.", convert=key_arguments)]


def find_similar(database: Database, arguments: SimilarArguments) -> ToolResult:
    """Find stored documents that are near duplicates of a text or of a stored document.

    For a text that shares only words or a name with them, use find_words.
    """
    threshold, compares_all, recall = comparison_at(database.settings, arguments.threshold)
    key = named(database, arguments.key)
    nearest = database.query(
        arguments.text,
        key=key,
        top=arguments.top + 1,
        threshold=threshold,
        exhaustive=compares_all,
    )
    text = arguments.text if key is None else _text(database.get(key).content)
    matches: list[dict[str, Any]] = []
    for match in nearest[: arguments.top]:
        stored = database.get(match.key)
        matches.append(
            {"key": match.key, **_scores(match), "changes": _changes(text, stored)}
            | _excerpt(stored)
        )
    names = [f"{match['key']} ({formatting.number(match['similarity'])})" for match in matches]
    result = {"matches": matches, "more": len(nearest) > arguments.top}
    return _listed("similar document", names), result | _compared(threshold, compares_all, recall)


def find_passages(database: Database, arguments: PassageArguments) -> ToolResult:
    """Find which passages of a text are copied from stored documents, and where they are."""
    passages = database.passages(
        arguments.text, key=named(database, arguments.key), top=arguments.top
    )
    names = [
        f"{source.key} ({formatting.counted(source.words, passages.unit)})" for source in passages
    ]
    sources = [asdict(source) | {"uri": uri_of(database.get(source.key))} for source in passages]
    line = _listed("source", names)
    return line, {"words": passages.words, "unit": passages.unit, "sources": sources}


def find_words(database: Database, arguments: WordsArguments) -> ToolResult:
    """Find stored texts that have all of some words, whatever their case, in order of addition.

    Of a text, the first million characters are searched.
    """
    words = arguments.words.split()
    if not words or len(words) > _MAX_WORDS:
        raise UsageError(
            f"words has {formatting.counted(len(words), 'word')}: give 1 to {_MAX_WORDS}"
        )
    if not database.settings.content:
        raise UsageError("find_words searches contents, and this database keeps signatures only")
    matches = database.find_words(
        words, after=arguments.after, top=arguments.top, seconds=_SEARCH_SECONDS
    )
    keys = [key for key, _ in matches.documents]
    documents = [{"key": key, **_excerpt(database.get(key), words)} for key in keys]
    line, following = _listed("document", keys), matches.following
    if following is not None:
        line += f"; not all documents were searched: call again with after {following} to go on"
    return line, {"documents": documents, "next": following}


def compare_documents(database: Database, arguments: PairArguments) -> ToolResult:
    """Compare two stored documents: similarity, what both have, and the words that differ."""
    a, b = (named(database, key) or "" for key in (arguments.a, arguments.b))
    compared = database.compare(a, b).record()
    del compared["shared_buckets"]
    compared["changes"] = _changes(_text(database.get(a).content), database.get(b))
    return f"similarity {formatting.number(compared['similarity'])}", compared


def list_clusters(database: Database, arguments: ClustersArguments) -> ToolResult:
    """List groups of near duplicates, the most similar first, with the one of each to keep."""
    clusters = [asdict(cluster) for cluster in database.clusters(top=arguments.top)]
    names = [f"{cluster['keep']} ({len(cluster['members'])})" for cluster in clusters]
    return _listed("cluster", names), {"clusters": clusters}


def list_pairs(database: Database, arguments: PairsArguments) -> ToolResult:
    """List pairs of near duplicates, the most similar first, or some drawn at random.

    To choose a threshold, read a sample of the pairs between two similarities.
    """
    result = database.pairs(
        threshold=arguments.threshold,
        max_similarity=arguments.max_similarity,
        top=None if arguments.sample else arguments.top,
        sample=arguments.top if arguments.sample else None,
    )
    stored_pairs = [*result]
    pairs = [
        {
            **_scores(pair),
            "a": {"key": pair.a, **_excerpt(database.get(pair.a))},
            "b": {"key": pair.b, **_excerpt(database.get(pair.b))},
        }
        for pair in stored_pairs
    ]
    names = [
        f"{pair.a} and {pair.b} ({formatting.number(pair.similarity)})" for pair in stored_pairs
    ]
    return _listed("pair", names), {"pairs": pairs, "drawn_from": result.drawn_from}


def describe_database(database: Database, _: NoArguments) -> ToolResult:
    """Describe the database: how many documents it has, and what counts as similar."""
    info = database.info()
    settings = settings_record(info.settings)
    line = (
        f"{formatting.counted(info.documents, 'document')}; similar from "
        f"{settings['threshold']} on, by {settings['shingle']}"
    )
    counts = {"documents": info.documents, "empty": info.empty, "bytes": info.bytes}
    return line, counts | settings | {"read_only": database.read_only}


def add_unless_similar(database: Database, arguments: AdditionArguments) -> ToolResult:
    """Store a text under a new key, unless similar ones are stored; the answer names these.

    The answer has the similar texts, their similarity and the words that differ (given, stored).
    Read them: "lives in Berlin" and "lives in Munich" are similar and not the same. Then leave it,
    or call again with `replace` (the text takes the place of that document) or with `force` (it is
    stored beside them). A key that is in use is an error, unless it is the one to replace.
    """
    admission = database.add_unless_similar(
        named(database, arguments.key),
        arguments.text,
        threshold=arguments.threshold,
        top=arguments.top,
        replace=named(database, arguments.replace),
        force=arguments.force,
    )
    similar = [
        {
            "key": match.key,
            **_scores(match),
            "changes": [asdict(change) for change in match.changes],
            "excerpt": formatting.shortened(_text(match.content), _LONGEST),
            "uri": _uri_if_stored(database, match.key),
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


def remove_documents(database: Database, arguments: RemovalArguments) -> ToolResult:
    """Remove stored documents; all of them, or none if one is not stored."""
    keys = [named(database, key) or "" for key in arguments.keys]
    removed = [{"key": key, "excerpt": _excerpt(database.get(key))["excerpt"]} for key in keys]
    count = database.remove(keys)
    return f"removed {formatting.counted(count, 'document')}: {', '.join(keys)}", {
        "removed": removed
    }


TOOLS = (
    Tool(describe_database, NoArguments),
    Tool(find_similar, SimilarArguments),
    Tool(find_words, WordsArguments),
    Tool(find_passages, PassageArguments),
    Tool(compare_documents, PairArguments),
    Tool(list_clusters, ClustersArguments),
    Tool(list_pairs, PairsArguments),
    Tool(add_unless_similar, AdditionArguments, writes=True),
    Tool(remove_documents, RemovalArguments, writes=True),
)


def named(database: Database, key: str | None) -> str | None:
    """The key of a document, from its key or its address."""
    if key is None or key in database:
        return key
    if key.startswith(NUMBER):
        digits = key.removeprefix(NUMBER)
        if digits.isdecimal() and len(digits) < 19:
            return database.key_of(int(digits))
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
        match = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE)
        start = max(0, match.start() - _BEFORE) if match else 0
        end = start + _LONGEST - 2
        text = _DOTS * (start > 0) + text[start:end] + _DOTS * (end < len(text))
    return {"excerpt": formatting.shortened(text, _LONGEST), "uri": uri_of(document)}


def _scores(result: Match | Pair | Similar) -> dict[str, Any]:
    """How similar two documents are."""
    return {name: getattr(result, name) for name in ("similarity", "exact", "identical")}


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
    if similar.identical:
        changes = ["the same text"]
    elif not changes and isinstance(similar.content, str):
        changes = ["the same words"]
    words = f", {formatting.listed(changes, _CHANGES)}" if changes else ""
    return f"{similar.key} ({formatting.number(similar.similarity)}{words})"


def _listed(noun: str, names: list[str]) -> str:
    return f"{formatting.counted(len(names), noun)}: {', '.join(names)}" if names else f"no {noun}"
