"""Five hundred short facts in a database, and clients of the SDK that add to them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from facts import facts
from helpers import environment, installed

import lshdb

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import Client, StdioServerParameters

ADD = "add_unless_similar"
NEW = "Zoë Quist collects \x1b[31mred\x07 stamps of 1897."


FACTS = [*facts(500)]


async def call(client: Client, name: str, **given: Any) -> tuple[str, dict[str, Any]]:
    """The first line and the structure of an answer, whose text says the same."""
    done = await client.call_tool(name, given)
    (block,) = done.content
    assert block.type == "text"
    assert not done.is_error, block.text
    structure: dict[str, Any] = done.structured_content
    assert all(f"{name}:" in block.text for name in structure)
    return block.text.split("\n")[0], structure


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
            _, answer = await call(clients[0], ADD, key="new", text=FACTS[1].near)
            assert answer["result"] == "similar"
            (change,) = answer["similar"][0]["changes"]
            assert change["given"] in FACTS[1].near
            assert change["stored"] in FACTS[1].text
            await two_at_once(clients)
            fact = FACTS[0]
            line, answer = await call(clients[1], ADD, key=1.0, text=fact.near, replace=1)
            assert line.startswith("replaced: 1 by 1")
            assert answer["replaced"] == {"key": "1", "text": fact.text}
            keys: list[str] = []
            after: int | None = 0
            while after is not None:
                _, answer = await call(
                    clients[1], "find_words", words="OSLO ann", after=after, top=2
                )
                keys += [document["key"] for document in answer["documents"]]
                after = answer["next"]
            assert keys == [
                fact.key for fact in FACTS if "Oslo" in fact.text and "Ann" in fact.text
            ]

    asyncio.run(run())
    assert lshdb.check(path, deep=True).ok
