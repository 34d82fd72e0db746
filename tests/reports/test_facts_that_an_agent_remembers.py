"""Five hundred short facts in a database, and clients of the SDK that add to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from facts import Fact, facts
from helpers import environment, installed

import lshdb

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import Client, StdioServerParameters

ADD = "add_unless_similar"
NEW = "Zoë Quist collects \x1b[31mred\x07 stamps of 1897."
READING = {"describe_database", "find_similar", "find_words", "find_passages"}
READING |= {"compare_documents", "list_clusters", "list_pairs"}
WRITING = {ADD, "remove_documents"}


def grams(text: str) -> set[str]:
    folded = text.casefold()
    return {folded[i : i + 3] for i in range(len(folded) - 2)}


FACTS = [*facts(500)]
GRAMS = {fact.key: grams(fact.text) for fact in FACTS}


def alike(text: str, threshold: float) -> dict[str, float]:
    """The facts that are similar to a text, by brute force."""
    given = grams(text)
    similarities = {key: len(given & other) / len(given | other) for key, other in GRAMS.items()}
    return {key: value for key, value in similarities.items() if value >= threshold}


def leaves(value: Any) -> Iterator[str]:
    """All values of a structure, as a text says them."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


async def call(client: Client, name: str, **given: Any) -> tuple[str, dict[str, Any]]:
    """The first line and the structure of an answer, whose text says the same."""
    done = await client.call_tool(name, given)
    (block,) = done.content
    assert block.type == "text"
    assert not done.is_error, block.text
    structure: dict[str, Any] = done.structured_content
    line, *lines = block.text.split("\n")
    text = "\n".join(lines)
    for leaf in leaves(structure):
        assert leaf in text
    assert all(f"{name}:" in text for name in structure)
    return line, structure


async def refused(client: Client, name: str, **given: Any) -> str:
    done = await client.call_tool(name, given)
    assert done.is_error
    (block,) = done.content
    assert block.type == "text"
    assert "\n" not in block.text
    return block.text


async def what_it_says_of_itself(client: Client) -> None:
    tools = (await client.list_tools()).tools
    hints = {tool.name: tool.annotations for tool in tools}
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == READING
    assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == WRITING
    assert hints.keys() == READING | WRITING
    assert all(name in (client.instructions or "") for name in hints)
    (add,) = [tool for tool in tools if tool.name == ADD]
    assert add.input_schema["required"] == ["key", "text"]
    assert add.input_schema["properties"]["threshold"]["maximum"] == 1


async def paraphrases_and_near_facts(client: Client, some: list[Fact]) -> None:
    for fact in some:
        _, answer = await call(client, ADD, key="new", text=fact.near, top=100)
        assert {one["key"]: one["similarity"] for one in answer["similar"]} == alike(
            fact.near, 0.55
        )
        for one in answer["similar"]:
            if one["key"] == fact.key:
                (change,) = one["changes"]
                assert change["given"] in fact.near
                assert change["stored"] in fact.text
        if answer["result"] == "added":
            await call(client, "remove_documents", keys="new")
        _, answer = await call(client, ADD, key="new", text=fact.paraphrase, threshold=0.3, top=100)
        expected = alike(fact.paraphrase, 0.3)
        assert answer["compared_all"]
        assert answer["more"] == (len(expected) > 100)
        assert {one["key"] for one in answer["similar"]} <= expected.keys()
        assert len(answer["similar"]) == min(100, len(expected))
        if answer["result"] == "added":
            await call(client, "remove_documents", keys=["new"])


async def two_at_once(clients: list[Client]) -> None:
    asked = [call(one, ADD, key=f"client {n}", text=NEW) for n, one in enumerate(clients)]
    answers = [answer for _, answer in await asyncio.gather(*asked)]
    added, left_out = sorted(answers, key=lambda answer: answer["result"])
    assert (added["result"], left_out["result"]) == ("added", "similar")
    (similar,) = left_out["similar"]
    assert (similar["key"], similar["identical"]) == (added["key"], True)
    assert similar["excerpt"] == r"Zoë Quist collects \x1b[31mred\x07 stamps of 1897."
    _, answer = await call(clients[0], "remove_documents", keys=[similar["uri"]])
    assert answer["removed"][0]["key"] == added["key"]


async def in_their_places(client: Client) -> None:
    fact = FACTS[0]
    line = await refused(client, ADD, key=1, text="Something else.")
    assert line.startswith(f"the key '1' is in use by another document, {fact.text!r}")
    line, answer = await call(client, ADD, key=1, text=fact.text)
    assert (line.split(";")[0], answer["result"]) == ("unchanged: 1", "unchanged")
    line, answer = await call(client, ADD, key=1.0, text=fact.near, replace=1, force=None)
    assert (line.split(";")[0], answer["replaced"]) == (
        "replaced: 1 by 1",
        {"key": "1", "text": fact.text},
    )
    line, answer = await call(client, ADD, key="beside", text=fact.text, force="true")
    assert line.startswith("added: beside; similar to ")
    assert "1" in [one["key"] for one in answer["similar"]]
    assert "did you mean" in await refused(client, ADD, key="x", text="y", replace="besides")


async def words_and_removal(client: Client) -> None:
    expected = [fact.key for fact in FACTS[1:] if "Oslo" in fact.text and "Ann" in fact.text]
    keys: list[str] = []
    after: int | None = 0
    while after is not None:
        _, answer = await call(client, "find_words", words="OSLO ann", after=after, top="2")
        keys += [one["key"] for one in answer["documents"]]
        after = answer["next"]
    assert keys == expected
    assert "no document has the key 'none'" in await refused(
        client, "remove_documents", keys=[*keys, "none"]
    )
    line, _ = await call(client, "remove_documents", keys=[int(key) for key in keys])
    assert line == f"removed {len(keys)} documents: {', '.join(keys)}"
    assert (await call(client, "find_words", words="oslo ann"))[1]["documents"] == []


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
            await what_it_says_of_itself(clients[0])
            await paraphrases_and_near_facts(clients[0], FACTS[1:8])
            await two_at_once(clients)
            await in_their_places(clients[0])
            await words_and_removal(clients[1])

    asyncio.run(run())
    assert lshdb.check(path, deep=True).ok
