"""A database as tools of a language model: a server of the Model Context Protocol.

Tools run one after the other, in the thread that opened the database. Needs the extra `mcp`.
"""

import inspect
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import Annotated, Any
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.resources.templates import ResourceSecurity
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from lshdb.database import Database
from lshdb.errors import LshdbError
from lshdb.exchange.results import comparison_record
from lshdb.formatting import counted, number, shortened
from lshdb.model import Document, DroppedRow
from lshdb.sketching.settings import settings_record

_URI = "lshdb://document/"
_LONGEST = 500
"""Characters of a document that come with a result."""

Result = tuple[str, dict[str, Any]]
"""A short text, and the result as JSON."""
Text = Annotated[str | None, Field(description="A text to compare, or give a key.")]
Key = Annotated[str | None, Field(description="A stored document, instead of a text.")]
Top = Annotated[int, Field(description="Maximum number of results.", ge=1, le=100)]
Threshold = Annotated[
    float | None, Field(description="Minimum similarity; by default the database's.", gt=0, le=1)
]

_ABOUT = (
    "A database of documents that finds near duplicates (Jaccard similarity of shingles, not of "
    "meaning) and copied passages. describe_database first; add_unless_similar remembers a text "
    "unless a similar one is stored."
)


def server(database: Database, version: str, read_only: bool) -> MCPServer:
    """A server with the tools for a database; its method `run` speaks over standard input."""
    made: MCPServer = MCPServer("lshdb", version=version, instructions=_ABOUT, log_level="WARNING")

    def tool(writes: bool = False) -> Callable[[Callable[..., Result]], object]:
        def add(function: Callable[..., Result]) -> object:
            @wraps(function)
            async def run(**given: Any) -> CallToolResult:
                try:
                    text, result = function(**given)
                except LshdbError as error:
                    raise ToolError(str(error)) from None
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
        found = database.query(text, key=key, top=top, threshold=threshold)
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
        found = database.passages(text, key=key, top=top)
        named = [f"{one.key} ({counted(one.words, found.unit)})" for one in found]
        sources = [asdict(one) | {"uri": _URI + quote(one.key, safe="")} for one in found]
        text = _listed("source", named)
        return text, {"words": found.words, "unit": found.unit, "sources": sources}

    @tool()
    def compare_documents(a: str, b: str) -> Result:
        """Compare two stored documents, by their keys: similarity, and what both have."""
        compared = comparison_record(database.compare(a, b))
        del compared["shared_buckets"]
        return f"similarity {number(compared['similarity'])}", compared

    @tool()
    def list_clusters(top: Top = 10) -> Result:
        """List groups of near duplicates, the most similar first, with the one of each to keep."""
        found = [asdict(one) for one in database.clusters(top=top)]
        named = [f"{one['keep']} ({len(one['members'])})" for one in found]
        return _listed("cluster", named), {"clusters": found}

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
            raise ResourceError(str(error)) from None

    return made


def _text(content: object) -> str:
    if isinstance(content, tuple | list):
        return "\n".join(map(str, content))
    return "" if content is None else str(content)


def _excerpt(database: Database, key: str) -> dict[str, str]:
    """How a document begins and ends, and where all of it is."""
    text = shortened(_text(database.get(key).content), _LONGEST)
    return {"excerpt": text, "uri": _URI + quote(key, safe="")}


def _listed(noun: str, named: list[str]) -> str:
    return f"{counted(len(named), noun)}: {', '.join(named)}" if named else f"no {noun}"
