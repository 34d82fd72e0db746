"""Who may request the contents of lshdb files, and rules for browsers.

A web site can have its own name lead to this machine (DNS rebinding): a browser then lets the
site's scripts read our answers. So requests must name this machine, or a host that the owner
allows. Answers allow only Datasette's own scripts, and nothing from other sites. Other sites may
link to pages, and request nothing: an image's address would run SQL.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

from datasette import __file__ as _datasette_file
from datasette.utils import tilde_decode
from datasette.utils.sqlite import sqlite3

from lshdb.store.functions import is_lshdb
from lshdb.store.readonly_sql import LARGEST_VALUE

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database as Attached

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_OWN_NAMES: Final = frozenset(["127.0.0.1", "localhost", "[::1]"])
_SQL: Final = frozenset(["sql", "_where"])
"""The fields of addresses that Datasette runs as SQL."""
_WRONG_HOST: Final = (
    "This answers to 127.0.0.1 and localhost only. Other host names are allowed by a plugin "
    'setting of Datasette: "plugins": {"lshdb": {"hosts": ["NAME"]}}\n'
)
_WRONG_SITE: Final = (
    "A page of another site requested this. Other sites may only link to pages, without SQL in the "
    "address: open it yourself.\n"
)
_SCRIPT: Final = re.compile("<script>(.*?)</script>", re.DOTALL)

ours: Final[set[str]] = set()
"""The paths of files known to be lshdb's, and of others."""
_others: Final[set[str]] = set()
_for_own_pages: Final = ContextVar("_for_own_pages", default=False)
"""Whether a request is for one of our pages."""


def guarded(app: App, datasette: Datasette) -> App:
    """Datasette's application, with a guard for the contents of lshdb files.

    If all attached files are lshdb's, it guards all addresses; else lshdb's own pages, and
    Datasette's pages of lshdb's files.
    """

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        path = _path(scope, datasette)
        own = path == "/-/lshdb" or path.startswith("/-/lshdb/")
        before = _for_own_pages.set(own)
        try:
            if scope["type"] != "http" or not (own or await _shows_lshdb_file(path, datasette)):
                await app(scope, receive, send)
            elif not is_allowed(_header(scope, b"host"), datasette):
                await _refuse(send, _WRONG_HOST)
            elif _is_of_another_site(scope):
                await _refuse(send, _WRONG_SITE)
            else:
                await app(scope, receive, _with_rules(send))
        finally:
            _for_own_pages.reset(before)

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


def _is_of_another_site(scope: Scope) -> bool:
    """Whether a page of another site made a browser send this, other than by a person's click.

    Browsers say so to this machine and over HTTPS.
    """
    if _header(scope, b"sec-fetch-site") not in ("cross-site", "same-site"):
        return False
    fields = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    clicked = (
        scope["method"] == "GET"
        and _header(scope, b"sec-fetch-mode") == "navigate"
        and _header(scope, b"sec-fetch-dest") == "document"
    )
    return not clicked or not _SQL.isdisjoint(fields)


class Threads(ThreadPoolExecutor):
    """Datasette's threads for SQL, and another one for what it looks up for our pages.

    Our pages so do not wait for the statements of others. What failed is cleaned up in its thread:
    otherwise the cursor of an interrupted statement is freed in the thread that answers all
    requests, and SQLite makes that wait until the connection's next statement ends. With 60 endless
    statements a page of ours took 17 s, with either of these alone; with both 0.2 s.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._own = ThreadPoolExecutor(1)

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Run a function in one of the threads."""

        def run() -> Any:
            try:
                return function(*args, **options)
            except Exception as error:
                clear_frames(error.__traceback__)
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if code not in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_TOOBIG):
                    raise
                # Datasette's tables report this class, and a traceback for others.
                reason = (
                    "of an lshdb file only reading is allowed"
                    if code == sqlite3.SQLITE_AUTH
                    else f"of an lshdb file Datasette shows values of up to {LARGEST_VALUE >> 20} "
                    "MiB; lshdb's own pages have larger documents"
                )
                raise sqlite3.OperationalError(f"{error}: {reason}") from None

        return self._own.submit(run) if _for_own_pages.get() else super().submit(run)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads."""
        self._own.shutdown(wait, cancel_futures=cancel_futures)
        super().shutdown(wait, cancel_futures=cancel_futures)


def _path(scope: Scope, datasette: Datasette) -> str:
    """The path of an address as it was sent, below Datasette's own address."""
    if scope["type"] != "http":
        return ""
    raw: bytes = scope.get("raw_path", scope["path"].encode())
    path = raw.decode("latin-1").partition("?")[0]
    return "/" + path.removeprefix(datasette.setting("base_url")).lstrip("/")


async def _shows_lshdb_file(path: str, datasette: Datasette) -> bool:
    """Whether one of Datasette's own pages shows contents of an lshdb file."""
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


async def _refuse(send: Send, reason: str) -> None:
    from datasette.utils.asgi import Response

    await Response.text(reason, status=403).asgi_send(send)
