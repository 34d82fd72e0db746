"""The server of the Model Context Protocol, asked by the SDK's own client over a real process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from facts import facts
from helpers import Command, database_of, environment, installed
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import INVALID_PARAMS

import lshdb

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


ADD, WORDS = "add_unless_similar", "find_words"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("find_similar", {"text": TEXT, "treshold": 0.3}, "treshold: Extra inputs are not permitted"),
    ("find_similar", {"text": TEXT, "threshold": 0.3, "1": 2}, "1: Extra inputs are not permit"),
    ("describe_database", {"top": 3}, "describe_database: top: Extra inputs are not"),
    ("remove_everything", {}, "remove_everything"),
    (ADD, {"key": "a"}, "add_unless_similar: text: Field required"),
    (ADD, {"key": None, "text": "a", "top": 0}, "key: Field required; top: Input should be gr"),
    (ADD, {"key": "a\0", "text": "a"}, r"key 'a\x00' has a NUL character"),
    (ADD, {"key": 1e16, "text": "a"}, "key 1e+16 is 1e+16, a float that may be rounded"),
    (ADD, {"key": "a", "text": 12}, "text: Input should be a valid string"),
    (ADD, {"key": "a", "text": "b", "threshold": 0}, "threshold: Input should be greater than 0"),
    (ADD, {"key": "a", "text": "b", "force": "maybe"}, "force: Input should be a valid boolean"),
    ("find_similar", {"text": "a", "top": "x"}, "top: Input should be a valid integer"),
    ("find_similar", {}, "a query takes either a document or a key"),
    ("find_passages", {"text": "a text"}, "lshdb reindex --passages 8"),
    (WORDS, {"words": " "}, "words has 0 words: give 1 to 20"),
]
"""What is called, with which arguments, and what the error says."""
TAKEN: list[tuple[str, dict[str, Any], str]] = [
    (ADD, {"key": "nul \x1b[1m", "text": "a\0b \x1b[31m c"}, "added: nul \\x1b[1m\n"),
    (ADD, {"key": "large", "text": "word " * 400_000}, "added: large\n"),
    (ADD, {"key": "k" * 100_000, "text": "a long key"}, "added: kkk"),
    (ADD, {"key": "null", "text": '{"a": ["text", "in JSON"]}'}, "added: null\n"),
    ("find_similar", {"text": '{"a": ["text", "in JSON"]}', "key": None, "top": 3.0}, "1 similar"),
    ("find_similar", {"text": "null", "top": "3"}, "no similar document\n"),
    ("find_similar", {"key": "null"}, "no similar document\n"),
    (ADD, {"key": 7, "text": "seven", "force": "true"}, "added: 7\n"),
    ("remove_documents", {"keys": 7}, "removed 1 document: 7\n"),
    ("remove_documents", {"keys": ["lshdb://document/null", "large"]}, "removed 2 documents: null"),
]
"""What is called, with which arguments, and how the answer begins."""


def test_what_a_tool_cannot_take_is_an_error_that_a_model_can_correct(tmp_path: Path) -> None:
    async def asked(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False
            assert tool.output_schema == {"type": "object"}
        for name, given, reason in REFUSED:
            done = await client.call_tool(name, given)
            (block,) = done.content
            assert block.type == "text"
            assert done.is_error, block.text
            assert reason in block.text
            assert "\n" not in block.text
        for name, given, beginning in TAKEN:
            text, _ = await call(client, name, **given)
            assert text.startswith(beginning), text[:200]
            assert not {"\x1b", "\0", "\x07"} & {*text}
        for uri in ("lshdb://document/none", "lshdb://number/99", "a:b"):
            with pytest.raises(MCPError) as error:
                await client.read_resource(uri)
            assert error.value.error.code == INVALID_PARAMS

    ask(tmp_path / "lsh.db", asked)


def test_a_line_that_is_no_message_does_not_end_the_server(tmp_path: Path) -> None:
    lines = b"no JSON\n[]\n\n\xff\n" + b"[" * 100_000 + b"\n"
    lines += b'{"jsonrpc":"2.0","id":7,"method":"ping"}\n'
    done = Command(tmp_path).done("mcp", "-d", "lsh.db", stdin=lines)
    assert json.loads(done.out)["id"] == 7


def test_what_keeps_the_server_from_starting(tmp_path: Path) -> None:
    reason = Command(tmp_path).fails("mcp", "-d", "none.db", "--read-only")
    assert "none.db" in reason
    assert "pip install '.[mcp]'" in Command(tmp_path).without("mcp", "mcp", "-d", "lsh.db")


# facts


OF_ZOE = "Zoë Quist collects \x1b[31mred\x07 stamps of 1897."
FACTS = [*facts(500)]


async def told(client: Client, name: str, **given: Any) -> tuple[str, dict[str, Any]]:
    """The first line and the structure of an answer, whose text says the same."""
    done = await client.call_tool(name, given)
    (block,) = done.content
    assert block.type == "text"
    assert not done.is_error, block.text
    structure: dict[str, Any] = done.structured_content
    assert all(f"{name}:" in block.text for name in structure)
    return block.text.split("\n")[0], structure


async def two_at_once(clients: list[Client]) -> None:
    asked = [told(one, ADD, key=f"client {n}", text=OF_ZOE) for n, one in enumerate(clients)]
    answers = [answer for _, answer in await asyncio.gather(*asked)]
    added, left_out = sorted(answers, key=lambda answer: answer["result"])
    assert (added["result"], left_out["result"]) == ("added", "similar")
    (similar,) = left_out["similar"]
    assert (similar["key"], similar["identical"]) == (added["key"], True)
    assert similar["excerpt"] == r"Zoë Quist collects \x1b[31mred\x07 stamps of 1897."
    _, answer = await told(clients[0], "remove_documents", keys=[similar["uri"]])
    assert answer["removed"][0]["key"] == added["key"]


def test_facts_are_never_left_out_or_replaced_silently(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with lshdb.open(path, purpose="short-text") as db:
        db.add_many([(fact.key, fact.text) for fact in FACTS])
    server = StdioServerParameters(
        command=installed(),
        args=["mcp", "-d", str(path), "--for", "short-text"],
        env=environment(tmp_path),
    )

    async def run() -> None:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(Client(server, read_timeout_seconds=60))
                for _ in range(2)
            ]
            hints = {tool.name: tool.annotations for tool in (await clients[0].list_tools()).tools}
            assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {
                *(ADD, "remove_documents")
            }
            _, answer = await told(clients[0], ADD, key="new", text=FACTS[1].near)
            assert answer["result"] == "similar"
            (change,) = answer["similar"][0]["changes"]
            assert change["given"] in FACTS[1].near
            assert change["stored"] in FACTS[1].text
            await two_at_once(clients)
            fact = FACTS[0]
            line, answer = await told(clients[1], ADD, key=1.0, text=fact.near, replace=1)
            assert line.startswith("replaced: 1 by 1")
            assert answer["replaced"] == {"key": "1", "text": fact.text}
            keys: list[str] = []
            after: int | None = 0
            while after is not None:
                _, answer = await told(
                    clients[1], "find_words", words="OSLO ann", after=after, top=2
                )
                keys += [document["key"] for document in answer["documents"]]
                after = answer["next"]
            assert keys == [
                fact.key for fact in FACTS if "Oslo" in fact.text and "Ann" in fact.text
            ]

    asyncio.run(run())
    assert lshdb.check(path, deep=True).ok
