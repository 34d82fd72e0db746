"""Datasette's hooks: our pages below an address of its own, and the guard of lshdb's files.

The pages are below /-/lshdb, those of each file below its name. The SQL functions and limits are
for lshdb files, the guard is for all addresses. Only documented hooks are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from datasette import hookimpl
from datasette.utils import tilde_decode
from datasette.utils.asgi import Forbidden, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lshdb.errors import LshdbError, NotADatabase
from lshdb.store.connection import is_lshdb
from lshdb.store.functions import register_functions
from lshdb.store.readonly_sql import LARGEST_VALUE, restrict
from lshdb.web.app import STATIC, pages
from lshdb.web.guarding import RULES, guarded, ruled
from lshdb.web.rendering import Links, Page, html
from lshdb.web.views import opened

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database as Attached
    from datasette.utils.asgi import Request

_OWN_RULES: Final = {
    # Its pages have scripts within them.
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; object-src 'none'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""Rules for browsers on Datasette's own pages: nothing comes from other sites."""
_REFUSED: Final = {
    23: "of an lshdb file only reading is allowed",
    18: f"of an lshdb file Datasette shows values of up to {LARGEST_VALUE >> 20} MiB; lshdb's own "
    "pages have larger documents",
}
"""What SQLite's codes SQLITE_AUTH and SQLITE_TOOBIG mean here."""
_pages: Final = cache(lambda path, name: ruled(pages(path, name), RULES))


@hookimpl
def register_routes() -> list[tuple[str, object]]:
    """All addresses below /-/lshdb."""
    return [(r"/-/lshdb(?:/(?P<route>[^/]*))?(?:/(?P<rest>.*))?$", _show)]


@hookimpl
def asgi_wrapper(datasette: Datasette) -> Callable[[ASGIApp], ASGIApp]:
    """The guard of all addresses, as soon as one of the attached files is lshdb's."""
    given = (datasette.plugin_config("lshdb") or {}).get("hosts", [])
    hosts = {name.lower() for name in ([given] if isinstance(given, str) else given)}

    def wrap(app: ASGIApp) -> ASGIApp:
        ours = guarded(ruled(app, _OWN_RULES), hosts)

        async def choose(scope: Scope, receive: Receive, send: Send) -> None:
            shown = scope["type"] == "http" and any(map(_is_ours, datasette.databases.values()))
            await (ours if shown else app)(scope, receive, send)

        return choose

    return wrap


@hookimpl(trylast=True)  # other plugins may need what is then no longer allowed
def prepare_connection(conn: Any, database: str, datasette: Datasette) -> None:
    """Register the SQL functions on connections to lshdb files, and let SQL there only read."""
    path = getattr(datasette.databases.get(database), "path", None)
    if path is None:
        several = database == "_memory" and datasette.crossdb
        if several and any(map(_is_ours, datasette.databases.values())):
            restrict(conn, attaching=True)  # Datasette attaches the files to it next
        return
    # Datasette reports damaged files and those of other programs.
    with suppress(LshdbError, conn.Error):
        if is_lshdb(conn):
            restrict(conn)
            register_functions(conn)


@hookimpl
def handle_exception(datasette: Datasette, request: Request, exception: Exception) -> Any:
    """Say what lshdb's rules for SQL refused; Datasette shows it as an error of its own."""
    code = getattr(exception, "sqlite_errorcode", 0) & 0xFF
    if code not in _REFUSED:
        return None
    reason = f"{exception}: {_REFUSED[code]}"
    if request.path.endswith(".json"):
        return Response.json({"ok": False, "error": reason, "status": 400}, status=400)
    return _problem(datasette, reason, 400)


@hookimpl
def skip_csrf(datasette: Datasette, scope: Mapping[str, Any]) -> bool:
    """Our forms need no token: they change nothing, and forms of other sites are refused."""
    return scope["type"] == "http" and f"{scope.get('path')}/".startswith(f"{_root(datasette)}/")


@hookimpl
def menu_links(datasette: Datasette) -> list[dict[str, str]]:
    """Our first page in Datasette's menu."""
    return [{"href": f"{_root(datasette)}/", "label": "Near duplicates"}]


async def _show(
    datasette: Datasette, request: Request, scope: Scope, receive: Receive, send: Send
) -> Response | None:
    """Answer a request for one of our pages."""
    route, rest = request.url_vars["route"], request.url_vars["rest"]
    if not route:
        return await _index(datasette, request)
    if route == "lshdb.css":
        text = (STATIC / route).read_text("utf-8")
        return Response(text, headers=RULES, content_type="text/css; charset=utf-8")
    try:
        attached = datasette.get_database(route=tilde_decode(route))
    except KeyError:
        return _problem(datasette, f"there is no database {route}")
    name = attached.name
    await datasette.ensure_permissions(request.actor, _permissions(name))
    if attached.path is None:
        return _problem(datasette, f"{name} is not an lshdb database: these pages are for lshdb's")
    if (rest or "").partition(".")[0] == "sql" and not await datasette.permission_allowed(
        request.actor, "execute-sql", name, default=True
    ):
        raise Forbidden("SQL is not allowed")
    links = _links(datasette, name)
    inner = {**scope, "root_path": "", "path": f"/{rest or ''}", "lshdb.links": links}
    await _pages(Path(attached.path), name)(inner, receive, send)
    return None


async def _index(datasette: Datasette, request: Request) -> Response:
    """The databases that are lshdb's."""
    found = []
    for name, attached in datasette.databases.items():
        if _is_ours(attached):
            needed = _permissions(name)
            if (await datasette.check_visibility(request.actor, permissions=needed))[0]:
                found.append({"name": name, "address": _links(datasette, name).page()})
    return _answer(datasette, Page("index", "Databases of near duplicates", {"databases": found}))


def _permissions(name: str) -> list[Any]:
    """The permissions that a visitor needs for our pages of a database."""
    return [("view-table", (name, "documents")), ("view-database", name), "view-instance"]


def _problem(datasette: Datasette, reason: str, status: int = 404) -> Response:
    title = "Not found" if status == 404 else "Bad request"
    return _answer(datasette, Page("problem", title, {"reason": reason}, status=status))


def _answer(datasette: Datasette, page: Page) -> Response:
    """A page of no database."""
    root = _root(datasette)
    text = html(page, Links(root, f"{root}/"), database=None, review=None)
    return Response.html(text, status=page.status, headers=RULES)


def _root(datasette: Datasette) -> str:
    return str(datasette.urls.path("/-/lshdb"))


def _links(datasette: Datasette, name: str) -> Links:
    tables = str(datasette.urls.database(name))
    return Links(f"{_root(datasette)}/{tables.rpartition('/')[2]}", f"{_root(datasette)}/", tables)


def _is_ours(attached: Attached) -> bool:
    """Whether a file is lshdb's; one that cannot be read counts as such."""
    if attached.path is None:
        return False
    if attached.path not in _ours:
        try:
            with opened(Path(attached.path), 0.0):  # all requests wait here
                _ours[attached.path] = True
        except NotADatabase:
            _ours[attached.path] = False
        except LshdbError:
            return True
    return _ours[attached.path]


_ours: Final[dict[str, bool]] = {}
"""Whether the files at some paths are lshdb's."""
