"""Who may request the contents of lshdb files, and rules for browsers.

A web site can have its own name lead to this machine (DNS rebinding): a browser then lets the
site's scripts read our answers. So requests must name this machine, or a host that the owner
allows. Answers allow only Datasette's own scripts, and nothing from other sites.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from datasette import __file__ as _datasette_file
from datasette.utils import tilde_decode

from lshdb.store.functions import is_lshdb

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database as Attached

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_OWN_NAMES: Final = frozenset(["127.0.0.1", "localhost", "[::1]"])
_SCRIPT: Final = re.compile("<script>(.*?)</script>", re.DOTALL)

ours: Final[set[str]] = set()
"""The paths of files known to be lshdb's, and of others."""
_others: Final[set[str]] = set()


def guarded(app: App, datasette: Datasette) -> App:
    """Datasette's application, with a guard for the contents of lshdb files.

    If all attached files are lshdb's, it guards all addresses; else lshdb's own pages, and
    Datasette's pages of lshdb's files.
    """

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not await _shows_lshdb_file(scope, datasette):
            await app(scope, receive, send)
        elif is_allowed(_header(scope, b"host"), datasette):
            await app(scope, receive, _with_rules(send))
        else:
            await _refuse(send)

    return guard


def is_allowed(host: str, datasette: Datasette) -> bool:
    """Whether requests may name this host; a port does not matter."""
    name = host.lower() if host.endswith("]") else host.lower().rpartition(":")[0] or host.lower()
    allowed = (datasette.plugin_config("lshdb") or {}).get("hosts", [])
    if isinstance(allowed, str):
        allowed = [allowed]
    return name in _OWN_NAMES or name in (each.lower() for each in allowed)


def is_own_origin(origin: str, host: str, datasette: Datasette) -> bool:
    """Whether a form comes from our pages, as far as its Origin says."""
    sent_from = urlsplit(origin).netloc
    return sent_from == host or (sent_from != "" and is_allowed(sent_from, datasette))


async def _shows_lshdb_file(scope: Scope, datasette: Datasette) -> bool:
    """Whether an address shows contents of an lshdb file."""
    path = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
    prefix = datasette.setting("base_url")
    path = "/" + path.removeprefix(prefix).lstrip("/")
    if path == "/-/lshdb" or path.startswith("/-/lshdb/"):
        return True
    files = [one for one in datasette.databases.values() if one.path is not None]
    found = [one for one in files if await is_ours(one)]
    if len(found) == len(files):
        return bool(found)
    name = tilde_decode(path.split("/")[1].partition(".")[0])
    # With --crossdb SQL for _memory reads all files.
    return name in [one.route for one in found] or (name == "_memory" and datasette.crossdb)


async def is_ours(attached: Attached) -> bool:
    """Whether a file is lshdb's; one that cannot be read counts as such."""
    if attached.path not in ours | _others:
        try:
            found = await attached.execute_fn(is_lshdb)
        except Exception:
            return True
        (ours if found else _others).add(attached.path)
    return attached.path in ours


def _with_rules(send: Send) -> Send:
    """Add rules for browsers to answers without any."""

    async def ruled(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            rules = {
                b"content-security-policy": _policy().encode(),
                b"referrer-policy": b"same-origin",
                b"x-content-type-options": b"nosniff",
            }
            have = {name.lower() for name, _ in given}
            given += [(name, value) for name, value in rules.items() if name not in have]
            message = {**message, "headers": given}
        await send(message)

    return ruled


@functools.cache
def _policy() -> str:
    """The content security policy of Datasette's own pages: its scripts, and no others."""
    templates = (Path(_datasette_file).parent / "templates").glob("*.html")
    found = {each for path in templates for each in _SCRIPT.findall(path.read_text("utf-8"))}
    # The only one with a variable value; others with values are on no page of a database.
    found |= {f"DATASETTE_ALLOW_FACET = {value};" for value in ("true", "false")}
    digests = (hashlib.sha256(each.encode()).digest() for each in found if "{{" not in each)
    hashes = " ".join(sorted(f"'sha256-{base64.b64encode(each).decode()}'" for each in digests))
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )


def _header(scope: Scope, name: bytes) -> str:
    """A header that occurs exactly once, else empty."""
    values = [value for each, value in scope["headers"] if each == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""


async def _refuse(send: Send) -> None:
    from datasette.utils.asgi import Response

    text = (
        "This answers to 127.0.0.1 and localhost only. Other host names are allowed by a plugin "
        'setting of Datasette: "plugins": {"lshdb": {"hosts": ["NAME"]}}\n'
    )
    await Response.text(text, status=403).asgi_send(send)
