"""The server of the Model Context Protocol, asked by the SDK's own client over a real process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from helpers import Command, database_of, environment, installed
from mcp import Client, MCPError, StdioServerParameters

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
    "describe_database",
}
WRITING = {"add_unless_similar", "remove_documents"}
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


async def failed(client: Client, name: str, **given: Any) -> str:
    done = await client.call_tool(name, given)
    (block,) = done.content
    assert done.is_error
    assert block.type == "text"
    return block.text


def test_tools_say_what_they_do(tmp_path: Path) -> None:
    async def asked(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {one.name for one in tools} == READING | WRITING
        hints = {one.name: one.annotations for one in tools}
        assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == READING
        assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == WRITING
        assert all(name in (client.instructions or "") for name in READING | WRITING)
        (add,) = [one for one in tools if one.name == "add_unless_similar"]
        assert add.input_schema["required"] == ["key", "text"]
        assert add.input_schema["properties"]["threshold"]["maximum"] == 1
        said, _ = await call(client, "add_unless_similar", key=KEY, text=TEXT)
        assert said.startswith(f"added: {SHOWN}\n")
        said, _ = await call(client, "add_unless_similar", key="b", text=COPY)
        assert said.startswith(f"not added: similar to {SHOWN} (1.000000, the same words); to ")

    ask(tmp_path / "memory.db", asked)


def test_results_are_those_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "lsh.db"
    long = " ".join(f"word{n}" for n in range(400))
    documents = {KEY: TEXT, "b": COPY, "c": "Tickets are sold at the gate.", "long": long}
    database_of(path, documents, passages=5).close()

    async def asked(client: Client) -> None:
        assert {one.name for one in (await client.list_tools()).tools} == READING
        said, result = await call(client, "describe_database")
        assert said.startswith("4 documents; similar from 0.8 on")
        assert (result["documents"], result["shingle"]) == (4, "word:3")
        assert result["read_only"] is True
        said, result = await call(client, "find_similar", text=TEXT.lower())
        assert said.startswith(f"2 similar documents: {SHOWN} (1.000000), b (1.000000)\n")
        first = result["matches"][0]
        assert (first["key"], first["similarity"], first["identical"]) == (SHOWN, 1.0, False)
        read = await client.read_resource(first["uri"])
        assert [one.text for one in read.contents] == [TEXT]  # type: ignore[union-attr]
        _, result = await call(client, "find_similar", key="long", threshold=0.1, top=1)
        assert (result["matches"], result["compared_all"], result["recall"]) == ([], True, 1.0)
        _, result = await call(client, "find_similar", text=long)
        assert len(result["matches"][0]["excerpt"]) < 501
        said, result = await call(client, "find_passages", text=f"He said: {TEXT[:40]}, he said.")
        assert said.startswith(f"2 sources: {SHOWN} (8 words), b (8 words)\n")
        assert result["sources"][0]["passages"][0]["text"] == TEXT[:40]
        said, result = await call(client, "compare_documents", a=KEY, b="b")
        assert await call(client, "compare_documents", a=first["uri"], b="b") == (said, result)
        assert said.startswith("similarity 1.000000\n")
        assert (result["a_in_b"], result["changes"]) == (1.0, [])
        said, result = await call(client, "list_clusters")
        assert said.startswith(f"1 cluster: {SHOWN} (2)\n")
        assert result["clusters"][0]["members"] == [SHOWN, "b"]

    ask(path, asked, "--read-only")


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "lsh.db"
    database_of(path, {"a": TEXT}).close()

    async def asked(client: Client) -> None:
        said = await failed(client, "find_passages", text=TEXT)
        assert "lshdb reindex --passages 8" in said
        said = await failed(client, "compare_documents", a="a", b="aa")
        assert "no document has the key 'aa'; did you mean 'a'?" in said
        said = await failed(client, "find_similar")
        assert "either a document or a key" in said
        assert "threshold" in await failed(client, "find_similar", text="a", threshold=2)
        with pytest.raises(MCPError, match="no document has the key"):
            await client.read_resource("lshdb://document/" + quote("none"))

    ask(path, asked, "--read-only")
    reason = Command(tmp_path).fails("mcp", "-d", "none.db", "--read-only")
    assert "none.db" in reason
    assert "pip install 'lshdb[mcp]'" in Command(tmp_path).without("mcp", "mcp", "-d", "lsh.db")
