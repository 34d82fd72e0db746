"""What a language model reads of a tool: short, without escapes; whole documents on request.

QwenLM/qwen-code#2439: results of MCP tools had any length, and filled the model's context.
DeusData/codebase-memory-mcp#1375: a client gave up at an answer of 10 MiB.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from helpers import database_of, environment, installed

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import Client, StdioServerParameters

TEXT = "The museum opens at nine on weekdays and at ten on Sundays, but never on Mondays."
RED = "\x1b[31mred\x07\u202e"
LONG = "k" * 100_000
WORDS = " ".join(f"word{n}" for n in range(5_000))


def test_answers_are_short_and_free_of_control_characters(tmp_path: Path) -> None:
    path = tmp_path / "lsh.db"
    documents = {RED: f"{TEXT}\n{RED}\tend", LONG: f"{TEXT} {RED}"}
    documents |= {f"copy {n}": TEXT for n in range(120)}
    documents |= {"long": WORDS, "long 2": f"{WORDS} more"}
    database_of(path, documents, passages=5, threshold=0.5).close()
    sizes: list[int] = []

    async def ask() -> None:
        server = StdioServerParameters(
            command=installed(),
            args=["mcp", "-d", str(path), "--read-only"],
            env=environment(tmp_path),
        )
        async with Client(server, read_timeout_seconds=60) as client:

            async def call(name: str, **given: Any) -> tuple[str, Any]:
                done = await client.call_tool(name, given)
                (block,) = done.content
                assert block.type == "text"
                said = json.dumps(done.structured_content, ensure_ascii=False) + block.text
                sizes.append(len(said))
                for strange in ("\\u001b", "\x1b", "\x07", "\u202e"):
                    assert strange not in said
                return block.text, done.structured_content

            async def read(uri: str) -> str:
                (content,) = (await client.read_resource(uri)).contents
                return content.text  # type: ignore[union-attr]

            _, found = await call("find_similar", text=f"{TEXT} {RED}", top=100)
            by_key = {match["key"][:4]: match for match in found["matches"]}
            assert by_key["\\x1b"]["key"] == r"\x1b[31mred\x07\u202e"
            assert by_key["\\x1b"]["excerpt"] == TEXT + "\n" + r"\x1b[31mred\x07\u202e" + "\tend"
            assert await read(by_key["\\x1b"]["uri"]) == documents[RED]
            # A long key is named by its number, in an answer and in a question.
            assert by_key["kkkk"]["uri"] == "lshdb://number/2"
            assert await read("lshdb://number/2") == documents[LONG]

            # Many documents, and a long passage.
            said, found = await call("list_clusters")
            assert max(len(one["members"]) for one in found["clusters"]) == 100
            assert said.endswith(f"note: {found['note']}")
            _, found = await call("find_passages", key="long")
            assert "\N{HORIZONTAL ELLIPSIS}" in found["sources"][0]["passages"][0]["text"]

    asyncio.run(ask())
    assert max(sizes) < 120_000
