"""A database as tools of a language model: a server of the Model Context Protocol.

Tools run one after the other, in the thread that opened the database. What a tool answers is
short, and has control characters as escapes, whatever documents and keys hold; all of an answer
that was shortened is a resource. Needs the extra `mcp`.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Annotated, Any
from urllib.parse import quote, unquote

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.resources.templates import ResourceSecurity
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from lshdb.database import Database
from lshdb.errors import KeyNotFound, LshdbError
from lshdb.exchange.results import comparison_record
from lshdb.formatting import counted, number, shortened
from lshdb.model import Document, DroppedRow
from lshdb.shingling.arrays import int_array
from lshdb.sketching.settings import settings_record
from lshdb.sources.paths import escaped

_URI = "lshdb://document/"
_NUMBER = "lshdb://number/"
"""For a document whose key is longer than an address should be."""
_ANSWER = "lshdb://answer/"
_LONGEST = 500
"""Characters of a document that come with a result, and of a key in an address."""
_MAX_TEXT = 2_000
"""Characters of a text in an answer."""
_MAX_ITEMS = 100
"""Items of a list in an answer."""
_MAX_ANSWER = 50_000
"""Characters of an answer, about: it ends with the item that goes beyond."""
_KEPT = 4
"""Shortened answers that are kept whole, the last ones."""

Result = tuple[str, dict[str, Any]]
"""A short text, and the result as JSON."""
Text = Annotated[str | None, Field(description="A text to compare, or give a key.")]
Key = Annotated[
    str | None, Field(description="A stored document, instead of a text: its key or its uri.")
]
Top = Annotated[int, Field(description="Maximum number of results.", ge=1, le=100)]
Threshold = Annotated[
    float | None, Field(description="Minimum similarity; by default the database's.", gt=0, le=1)
]
MaxSimilarity = Annotated[float | None, Field(description="Maximum similarity.", gt=0, le=1)]
Sample = Annotated[bool, Field(description="Draw them at random from all pairs.")]

_ABOUT = (
    "A database of documents that finds near duplicates (Jaccard similarity of shingles, not of "
    "meaning) and copied passages. describe_database first; add_unless_similar remembers a text "
    "unless a similar one is stored. Control characters are shown as escapes; where a key has "
    "some, or is shortened, give the uri in its place."
)


def server(database: Database, version: str, read_only: bool) -> MCPServer:
    """A server with the tools for a database; its method `run` speaks over standard input."""
    answers: dict[int, str] = {}
    count = 0

    def bounded(text: str, result: dict[str, Any]) -> Result:
        nonlocal count
        answer = _Answer()
        shown = answer.of(result)
        line = _clean(text)
        if answer.is_cut or len(line) > _MAX_TEXT:
            count += 1
            answers[count] = json.dumps(result)
            answers.pop(count - _KEPT, None)
            shown["note"] = f"shortened; all of this answer is the resource {_ANSWER}{count}"
            line = f"{shortened(line, _MAX_TEXT)} ({shown['note']})"
        return line, shown

    made: MCPServer = MCPServer("lshdb", version=version, instructions=_ABOUT, log_level="WARNING")

    def tool(writes: bool = False) -> Callable[[Callable[..., Result]], object]:
        def add(function: Callable[..., Result]) -> object:
            @wraps(function)
            async def run(**given: Any) -> CallToolResult:
                try:
                    text, result = bounded(*function(**given))
                except LshdbError as error:
                    raise ToolError(_reason(error)) from None
                return CallToolResult(
                    content=[TextContent(type="text", text=text)], structured_content=result
                )

            annotation = Annotated[CallToolResult, dict[str, Any]]
            run.__signature__ = inspect.signature(function).replace(  # type: ignore[attr-defined]
                return_annotation=annotation
            )
            hints = ToolAnnotations(read_only_hint=not writes, open_world_hint=False)
            return made.tool(annotations=hints)(run)

        return add

    @tool()
    def find_similar(
        text: Text = None, key: Key = None, top: Top = 5, threshold: Threshold = None
    ) -> Result:
        """Find stored documents that are near duplicates of a text or of a stored document."""
        found = database.query(text, key=_named(database, key), top=top, threshold=threshold)
        matches = [
            {
                "key": one.key,
                "similarity": one.similarity,
                "exact": one.exact,
                "identical": one.identical,
                **_excerpt(database, one.key),
            }
            for one in found
        ]
        named = [f"{one.key} ({number(one.similarity)})" for one in found]
        return _listed("similar document", named), {"matches": matches}

    @tool()
    def find_passages(text: Text = None, key: Key = None, top: Top = 5) -> Result:
        """Find which passages of a text are copied from stored documents, and where they are."""
        found = database.passages(text, key=_named(database, key), top=top)
        named = [f"{one.key} ({counted(one.words, found.unit)})" for one in found]
        sources = [asdict(one) | {"uri": _uri(database, one.key)} for one in found]
        text = _listed("source", named)
        return text, {"words": found.words, "unit": found.unit, "sources": sources}

    @tool()
    def compare_documents(a: str, b: str) -> Result:
        """Compare two stored documents, by keys or uris: similarity, and what both have."""
        one, other = (_named(database, key) or "" for key in (a, b))
        compared = comparison_record(database.compare(one, other))
        del compared["shared_buckets"]
        return f"similarity {number(compared['similarity'])}", compared

    @tool()
    def list_clusters(top: Top = 10) -> Result:
        """List groups of near duplicates, the most similar first, with the one of each to keep."""
        found = [asdict(one) for one in database.clusters(top=top)]
        named = [f"{one['keep']} ({len(one['members'])})" for one in found]
        return _listed("cluster", named), {"clusters": found}

    @tool()
    def list_pairs(
        top: Top = 10,
        threshold: Threshold = None,
        max_similarity: MaxSimilarity = None,
        sample: Sample = False,
    ) -> Result:
        """List pairs of near duplicates, the most similar first, or some drawn at random.

        To choose a threshold, read a sample of the pairs between two similarities.
        """
        found = database.pairs(
            threshold=threshold,
            max_similarity=max_similarity,
            top=None if sample else top,
            sample=top if sample else None,
        )
        every = [*found]
        pairs = [
            {
                "similarity": one.similarity,
                "exact": one.exact,
                "identical": one.identical,
                "a": {"key": one.a, **_excerpt(database, one.a)},
                "b": {"key": one.b, **_excerpt(database, one.b)},
            }
            for one in every
        ]
        named = [f"{one.a} and {one.b} ({number(one.similarity)})" for one in every]
        return _listed("pair", named), {"pairs": pairs, "drawn_from": found.drawn_from}

    @tool()
    def describe_database() -> Result:
        """Describe the database: how many documents it has, and what counts as similar."""
        info = database.info()
        settings = settings_record(info.settings)
        text = (
            f"{counted(info.documents, 'document')}; similar from {settings['threshold']} on, by "
            f"{settings['shingle']}"
        )
        counts = {"documents": info.documents, "empty": info.empty, "bytes": info.bytes}
        return text, counts | settings | {"read_only": read_only}

    if not read_only:

        @tool(writes=True)
        def add_unless_similar(key: str, text: str) -> Result:
            """Store a text under a key, unless a stored document is similar to it.

            A text under a key that is in use replaces the document.
            """
            left_out: list[DroppedRow] = []
            done = database.add_many(
                [Document(key, text)], on_similar="skip", on_skip=left_out.append, workers=0
            )
            names = ("added", "updated", "unchanged", "skipped")
            result = next(name for name in names if getattr(done, name))
            for one in left_out:
                said = f"not added: similar to {one.kept} ({number(one.similarity)})"
                similar = {"key": one.kept, "similarity": one.similarity}
                return said, {
                    "result": "skipped",
                    "similar_to": similar | _excerpt(database, one.kept),
                }
            return f"{result}: {key}", {"result": result, "similar_to": None}

    @made.resource(
        _URI + "{key}", name="document", security=ResourceSecurity(exempt_params={"key"})
    )
    async def document(key: str) -> str:
        """The content of a document, by its key; of a set, its elements, one on a line."""
        try:
            return _text(database.get(key).content)
        except LshdbError as error:
            raise ResourceError(_reason(error)) from None

    @made.resource(_NUMBER + "{number}", name="document by its number")
    async def document_of_number(number: str) -> str:
        """The content of a document whose key is too long for an address."""
        try:
            return _text(database.get(_named(database, _NUMBER + number) or "").content)
        except LshdbError as error:
            raise ResourceError(_reason(error)) from None

    @made.resource(_ANSWER + "{number}", name="answer", mime_type="application/json")
    async def whole_answer(number: str) -> str:
        """All of an answer that was shortened, as JSON; the last ones are kept."""
        if not number.isdecimal() or int(number) not in answers:
            raise ResourceError("this answer is not kept any more: ask again")
        return answers[int(number)]

    return made


@dataclass
class _Answer:
    """Makes what a tool answers short, and free of control characters.

    Attributes:
        left: characters that it may still have.
        is_cut: whether something was shortened or left out.
    """

    left: int = _MAX_ANSWER
    is_cut: bool = False

    def of(self, value: Any) -> Any:
        """A value as it is shown."""
        if isinstance(value, dict):
            return {self.of(name): self.of(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            shown: list[Any] = []
            for one in value:
                if self.left <= 0 or len(shown) == _MAX_ITEMS:
                    self.is_cut = True
                    break
                shown.append(self.of(one))
            return shown
        text = _clean(value) if isinstance(value, str) else value
        if isinstance(text, str) and len(text) > _MAX_TEXT:
            self.is_cut = True
            text = shortened(text, _MAX_TEXT)
        self.left -= len(str(text))
        return text


def _clean(text: str) -> str:
    """A text with its lines and tabs, but all other control characters as escapes."""
    return "\n".join("\t".join(map(escaped, line.split("\t"))) for line in text.split("\n"))


def _reason(error: LshdbError) -> str:
    return shortened(_clean(str(error)), _MAX_TEXT)


def _named(database: Database, key: str | None) -> str | None:
    """The key of a document that is named by its key, or by its address."""
    if key is None or key in database:
        return key
    if key.startswith(_NUMBER):
        number = key.removeprefix(_NUMBER)
        if number.isdecimal() and len(number) < 19:
            for found in database.store.keys_of(int_array([int(number)])):
                return found
        raise KeyNotFound(f"no document has the number {number:.20}")
    return unquote(key.removeprefix(_URI)) if key.startswith(_URI) else key


def _uri(database: Database, key: str) -> str:
    """The address of a document."""
    if len(key) <= _LONGEST:
        return _URI + quote(key, safe="")
    return f"{_NUMBER}{database.get(key).doc_id}"


def _text(content: object) -> str:
    if isinstance(content, tuple | list):
        return "\n".join(map(str, content))
    return "" if content is None else str(content)


def _excerpt(database: Database, key: str) -> dict[str, str]:
    """How a document begins and ends, and where all of it is."""
    text = shortened(_text(database.get(key).content), _LONGEST)
    return {"excerpt": text, "uri": _uri(database, key)}


def _listed(noun: str, named: list[str]) -> str:
    return f"{counted(len(named), noun)}: {', '.join(named)}" if named else f"no {noun}"
