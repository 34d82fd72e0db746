"""Messages of JSON-RPC over standard input and output, a line each.

The SDK's own transport drops a line that it cannot read, and with it a request: one with half a
surrogate pair in an argument was never answered. Here each line that is no message is answered by
an error with the request's id, or with null where there is none. Lone surrogates stay in the
values, for the tools to decide on.
"""

import json
import re
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from mcp_types.jsonrpc import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from lshdb import json_text

_IDLE_TURNS = 40
"""At the end of the input, after this many turns without an answer the requests that wait are given
up, such as those that the client has cancelled."""
_TURN_SECONDS = 0.05
_ID = re.compile(
    r'^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*){0,2}'
    r'"id"\s*:\s*(-?[0-9]{1,15}|"[^"\\]*")\s*[,}]'
    r'|,\s*"id"\s*:\s*(-?[0-9]{1,15}|"[^"\\]*")\s*\}\s*$'
)
"""The id of a request, at the start or the end of a line that is no JSON."""

_Received = SessionMessage | Exception
_Sent = SessionMessage | dict[str, Any]


class _Refused(Exception):
    """A line that is no message; what to answer."""

    def __init__(self, code: int, reason: str, number: object = None) -> None:
        super().__init__(reason)
        is_id = isinstance(number, int | float | str) and not isinstance(number, bool)
        error = {"code": code, "message": reason}
        self.answer = {"jsonrpc": "2.0", "id": number if is_id else None, "error": error}


def speak(server: Server[Any]) -> None:
    """Answer the messages on standard input until its end; OSError if nobody can be answered."""
    conversation = _Conversation(sys.stdin.buffer, sys.stdout.buffer)
    anyio.run(conversation.hold, server)
    if conversation.failure is not None:
        raise conversation.failure


def message_of(line: bytes) -> JSONRPCMessage:
    """The message of a line; _Refused if it is none."""
    text = line.decode("utf-8", "surrogateescape")
    try:
        value = json.loads(text, parse_constant=_no_number)
        json_text.check_depth(value)
    except (ValueError, RecursionError) as error:
        match = _ID.search(text)
        number = json.loads(match[1] or match[2]) if match else None
        reason = str(error) if isinstance(error, ValueError) else "nested too deep"
        raise _Refused(
            PARSE_ERROR, f"the line is not JSON that can be read: {reason}", number
        ) from error
    if not isinstance(value, dict):
        raise _Refused(INVALID_REQUEST, "a message is one JSON object")
    number = value.get("id")
    if "method" in value and "id" in value and type(number) not in (int, str):
        raise _Refused(INVALID_REQUEST, "the id of a request is an integer or a string", number)
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as error:
        reason = 'a message has "jsonrpc": "2.0", a "method" and, if any, an object as "params"'
        raise _Refused(INVALID_REQUEST, reason, number) from error


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


@dataclass(eq=False)
class _Conversation:
    """One client's messages and the answers to them.

    Attributes:
        source: where lines come from.
        target: where lines go.
        waiting: requests without an answer.
        failure: why lines cannot be read or written any more.
    """

    source: BinaryIO
    target: BinaryIO
    waiting: int = 0
    failure: OSError | None = None

    async def hold(self, server: Server[Any]) -> None:
        """Hand messages to the server, and its answers to the client."""
        into, read = anyio.create_memory_object_stream[_Received](0)
        write, out_of = anyio.create_memory_object_stream[_Sent](0)
        async with anyio.create_task_group() as tasks:
            scope = tasks.cancel_scope
            tasks.start_soon(self._until_failure, scope, self._read(into, write.clone()))
            tasks.start_soon(self._until_failure, scope, self._write(out_of))
            await server.run(read, write, server.create_initialization_options())

    async def _until_failure(
        self, scope: anyio.CancelScope, work: Coroutine[Any, Any, None]
    ) -> None:
        """Read or write lines; what else is done ends if that fails."""
        try:
            await work
        except OSError as error:
            self.failure = error
            scope.cancel()

    async def _read(
        self,
        into: MemoryObjectSendStream[_Received],
        refuse: MemoryObjectSendStream[_Sent],
    ) -> None:
        async with into, refuse:
            while line := await anyio.to_thread.run_sync(
                self.source.readline, abandon_on_cancel=True
            ):
                if not line.strip():
                    continue
                try:
                    message = message_of(line)
                except _Refused as refused:
                    await refuse.send(refused.answer)
                    continue
                self.waiting += isinstance(message, JSONRPCRequest)
                await into.send(SessionMessage(message))
            # The server gives up what it works on when its input ends. Turns are counted, not time:
            # a tool that takes long takes one turn.
            turns = 0
            while self.waiting and turns < _IDLE_TURNS:
                before = self.waiting
                await anyio.sleep(_TURN_SECONDS)
                turns = turns + 1 if self.waiting == before else 0

    async def _write(self, out_of: MemoryObjectReceiveStream[_Sent]) -> None:
        async with out_of:
            async for item in out_of:
                if isinstance(item, SessionMessage):
                    message = item.message
                    line = json_text.encode(message.model_dump(by_alias=True, exclude_unset=True))
                    if isinstance(message, JSONRPCResponse | JSONRPCError):
                        self.waiting -= 1
                else:
                    line = json_text.encode(item)
                await anyio.to_thread.run_sync(self._send, line + b"\n")

    def _send(self, line: bytes) -> None:
        self.target.write(line)
        self.target.flush()
