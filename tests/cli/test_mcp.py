"""The server of the Model Context Protocol, asked by the SDK's own client over a real process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from helpers import Command, database_of, environment, installed
from mcp import Client, StdioServerParameters

TEXT = (
    "The museum opens at nine on weekdays and at ten on Sundays and holidays, but never on Mondays."
)
COPY = TEXT.replace(",", ";").upper()
KEY = "/notes/../a b?\x1b"
SHOWN = "/notes/../a b?\\x1b"
READING = {
    "find_similar",
    "find_words",
    "find_passages",
    "compare_documents",
    "list_clusters",
    "list_pairs",
    "describe_database",
}
Asked = Callable[[Client], Awaitable[None]]


def ask(path: Path, asked: Asked, *options: str) -> None:
    """Start the command, have a client ask it, and end it."""

    async def run() -> None:
        server = StdioServerParameters(
            command=installed(),
            args=["mcp", "-d", str(path), *options],
            env=environment(path.parent),
        )
        async with Client(server, read_timeout_seconds=60) as client:
            await asked(client)

    asyncio.run(run())


async def call(client: Client, name: str, **given: Any) -> tuple[str, Any]:
    """The text and the structured content of a call that succeeds."""
    done = await client.call_tool(name, given)
    (block,) = done.content
    assert not done.is_error, block
    assert block.type == "text"
    return block.text, done.structured_content


def test_results_are_those_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "lsh.db"
    long = " ".join(f"word{n}" for n in range(400))
    documents = {KEY: TEXT, "b": COPY, "c": "Tickets are sold at the gate.", "long": long}
    database_of(path, documents, passages=5).close()

    async def asked(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == READING
        said, result = await call(client, "describe_database")
        assert said.startswith("4 documents; similar from 0.8 on")
        assert (result["documents"], result["read_only"]) == (4, True)
        said, result = await call(client, "find_similar", text=TEXT.lower())
        assert said.startswith(f"2 similar documents: {SHOWN} (1.000000), b (1.000000)\n")
        first = result["matches"][0]
        assert (first["key"], first["similarity"], first["identical"]) == (SHOWN, 1.0, False)
        read = await client.read_resource(first["uri"])
        assert [content.text for content in read.contents] == [TEXT]  # type: ignore[union-attr]
        _, result = await call(client, "find_similar", key="long", threshold=0.1, top=1)
        assert (result["matches"], result["compared_all"], result["recall"]) == ([], True, 1.0)
        _, result = await call(client, "find_similar", text=long)
        assert len(result["matches"][0]["excerpt"]) < 501
        said, result = await call(client, "find_passages", text=f"He said: {TEXT[:40]}, he said.")
        assert said.startswith(f"2 sources: {SHOWN} (8 words), b (8 words)\n")
        assert result["sources"][0]["passages"][0]["text"] == TEXT[:40]
        compared = await call(client, "compare_documents", a=KEY, b="b")
        assert await call(client, "compare_documents", a=first["uri"], b="b") == compared
        assert compared[0].startswith("similarity 1.000000\n")
        said, result = await call(client, "list_clusters")
        assert said.startswith(f"1 cluster: {SHOWN} (2)\n")
        said, result = await call(client, "list_pairs")
        assert said.startswith(f"1 pair: {SHOWN} and b (1.000000)\n")
        _, drawn = await call(client, "list_pairs", sample=True, max_similarity=1)
        assert drawn == result | {"drawn_from": 1}

    ask(path, asked, "--read-only")


def test_what_keeps_the_server_from_starting(tmp_path: Path) -> None:
    reason = Command(tmp_path).fails("mcp", "-d", "none.db", "--read-only")
    assert "none.db" in reason
    assert "pip install 'lshdb[mcp]'" in Command(tmp_path).without("mcp", "mcp", "-d", "lsh.db")
