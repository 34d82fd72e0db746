"""Lines to `lshdb mcp` that the SDK's own transport drops, with the request in them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers import environment, installed

import lshdb

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

PROTOCOL = {"protocolVersion": "2025-06-18", "capabilities": {}}
HELLO = PROTOCOL | {"clientInfo": {"name": "test", "version": "1"}}
ADD, WORDS = "add_unless_similar", "find_words"
DEEP = "[" * 100_000 + "]" * 100_000
CALL = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"find_similar",%s}}'

READ = '{"jsonrpc":"2.0","id":%s,"method":"resources/read","params":{"uri":"%s"}}'

CALLS: list[tuple[str, dict[str, Any], str]] = [
    (ADD, {"key": "half", "text": "half \ud800 a pair"}, "added: half\n"),
    ("find_similar", {"key": "half\udc00"}, r"no document has the key 'half\udc00'; did"),
    (WORDS, {"words": "\ud83d"}, "1 document: half\n"),
    ("remove_documents", {"keys": ["\ud800"]}, r"no document has the key '\ud800'"),
    ("tool\ud800", {}, r"no tool has the name 'tool\ud800': use describe_database, find_similar"),
    (ADD, {"key": "a"}, "add_unless_similar needs text: the text to store"),
    (ADD, {"key": "a\0", "text": "a"}, r"key 'a\x00' has a NUL character"),
    (ADD, {"key": "nul \x1b[1m", "text": "a\0b \x1b[31m c"}, "added: nul \\x1b[1m\n"),
    (ADD, {"key": 1.5, "text": "a"}, "key 1.5 is 1.5, a float that is not whole"),
    (ADD, {"key": "a", "text": 12}, "text 12 is not a text"),
    (ADD, {"key": "a", "text": "b", "treshold": 1}, "did you mean threshold?"),
    (ADD, {"key": "a", "text": "b", "threshold": 0}, "threshold 0 is not above 0 and at most 1"),
    (ADD, {"key": "a", "text": "b", "force": "maybe"}, "force 'maybe' is not true or false"),
    (ADD, {"key": "large", "text": "word " * 400_000}, "added: large\n"),
    (ADD, {"key": "k" * 100_000, "text": "a long key"}, "added: kkk"),
    ("find_similar", {"text": '["a text"]', "key": None, "top": 3.0}, "no similar document\n"),
    ("find_similar", {"text": "a", "top": "x"}, "top 'x' is not an integer"),
    ("find_similar", {}, "a query takes either a document or a key"),
    ("find_passages", {"text": "a text"}, "lshdb reindex --passages 8"),
    (WORDS, {"words": " "}, "words has 0 words: give 1 to 20"),
]
"""What is called, with which arguments, and how the answer begins or what it holds."""

LINES: list[tuple[str | bytes, object, int]] = [
    ("no JSON", None, -32700),
    ("[]", None, -32600),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
    ('{"jsonrpc":"2.0","id":0.5,"method":"ping"}', 0.5, -32600),
    ('{"id":1001,"method":"ping"}', 1001, -32600),
    ('{"jsonrpc":"2.0","id":1003,"method":"no/method"}', 1003, -32601),
    ('{"jsonrpc":"2.0","id":1004,"method":"tools/call","params":[1]}', 1004, -32600),
    (CALL % (1006, '"arguments":[1]'), 1006, -32602),
    (CALL % (1007, '"arguments":{"top":NaN}'), 1007, -32700),
    (CALL % (1008, '"arguments":{"key":' + "9" * 5_000 + "}"), 1008, -32700),
    (CALL % (1009, '"arguments":{"key":' + DEEP + "}"), 1009, -32700),
    (CALL % ('"cut off"', '"arguments":{"key":') + "", "cut off", -32700),
    ('{"method":"ping" "jsonrpc":"2.0","id":1010}', 1010, -32700),
    (READ % (1013, "lshdb://document/none"), 1013, -32602),
    (READ % (1014, "lshdb://answer/9"), 1014, -32602),
    (b'{"jsonrpc":"2.0","id":1012,"method":"ping \xff"}', 1012, -32601),
]
"""A line, the id of its answer, and the code of its error."""


def test_every_request_is_answered(tmp_path: Path) -> None:
    def line(number: int, method: str, params: object) -> bytes:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        return json.dumps(message).encode()

    lines = [line(0, "initialize", HELLO), b"", b'{"jsonrpc":"2.0","method":"no/notification"}']
    lines += [
        line(number, "tools/call", {"name": name, "arguments": given})
        for number, (name, given, _) in enumerate(CALLS, 1)
    ]
    lines += [text if isinstance(text, bytes) else text.encode() for text, *_ in LINES]
    done = subprocess.run(
        [installed(), "mcp", "-d", "lsh.db"],
        cwd=tmp_path,
        env=environment(tmp_path),
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    answers: dict[object, list[dict[str, Any]]] = {}
    for text in done.stdout.splitlines():
        answer = json.loads(text)
        assert answer["jsonrpc"] == "2.0"
        answers.setdefault(answer["id"], []).append(answer)
    for number, (*_, said) in enumerate(CALLS, 1):
        (answer,) = answers.pop(number)
        text = answer["result"]["content"][0]["text"]
        assert text.startswith(said) or (answer["result"]["isError"] and said in text), text
        assert answer["result"]["isError"] == ("structuredContent" not in answer["result"])
        assert not {"\x1b", "\0", "\x07"} & {*text}
    assert len(answers.pop(0)) == 1
    errors = [(number, one["error"]["code"]) for number, some in answers.items() for one in some]
    assert sorted(errors, key=str) == sorted([(number, code) for _, number, code in LINES], key=str)
    with lshdb.open(tmp_path / "lsh.db", mode="read") as db:
        assert db["half"].content == "half \ufffd a pair"
