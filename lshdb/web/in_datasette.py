"""Datasette's hooks: lshdb's pages within Datasette, and the guard of lshdb files.

The pages of a file are below /-/lshdb and its name; the menu of its database leads to them. The SQL
functions and limits are for lshdb files, the guard is for all addresses. Only documented hooks are
used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasette import hookimpl
from datasette.utils import tilde_decode
from datasette.utils.asgi import Forbidden, NotFound, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from lshdb import LshdbError, NotADatabase
from lshdb.review import page_file
from lshdb.store import readonly_sql
from lshdb.web import guarding, rendering
from lshdb.web.app import pages, runs_no_sql

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database as Attached
    from datasette.utils.asgi import Request

_DATASETTE_RULES = {
    # Datasette's pages have inline scripts.
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; object-src 'none'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""Rules for browsers on Datasette's own pages: they load nothing from other sites."""
_REFUSED = {
    23: "of an lshdb file only reading is allowed",
    18: f"of an lshdb file Datasette shows values of up to {readonly_sql.LARGEST_VALUE >> 20} MiB; "
    "lshdb's own pages have larger documents",
}
"""What SQLite's codes SQLITE_AUTH and SQLITE_TOOBIG mean here."""
_pages = cache(pages)


@hookimpl
def register_routes() -> list[tuple[str, object]]:
    """All addresses below /-/lshdb."""
    return [(r"/-/lshdb/(?P<route>[^/]+)(?:/(?P<rest>.*))?$", _show)]


@hookimpl
def asgi_wrapper(datasette: Datasette) -> Callable[[ASGIApp], ASGIApp]:
    """Guard all addresses as soon as an attached file is an lshdb file."""
    names = (datasette.plugin_config("lshdb") or {}).get("hosts", [])
    hosts = {name.lower() for name in ([names] if isinstance(names, str) else names)}

    def is_ours_without_sql(scope: Scope) -> bool:
        # Datasette chooses pages by the path before it is decoded.
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        ours, _, page_path = path.removeprefix(f"{_root(datasette)}/").partition("/")
        return path.startswith(f"{_root(datasette)}/{ours}/") and runs_no_sql(page_path)

    def wrap(app: ASGIApp) -> ASGIApp:
        ours = guarding.guarded(guarding.ruled(app, _DATASETTE_RULES), is_ours_without_sql, hosts)

        async def choose(scope: Scope, receive: Receive, send: Send) -> None:
            shown = scope["type"] == "http" and any(map(_is_ours, datasette.databases.values()))
            await (ours if shown else app)(scope, receive, send)

        return choose

    return wrap


@hookimpl(trylast=True)  # other plugins may need what is then no longer allowed
def prepare_connection(conn: Any, database: str, datasette: Datasette) -> None:
    """Register the SQL functions on connections to lshdb files, and let SQL there only read."""
    path = getattr(datasette.databases.get(database), "path", None)
    seconds = datasette.setting("sql_time_limit_ms") / 1000
    if path is None:
        several = database == "_memory" and datasette.crossdb
        if several and any(map(_is_ours, datasette.databases.values())):
            readonly_sql.protect_attaching(conn, seconds)  # Datasette attaches the files to it next
        return
    # Datasette reports damaged files and those of other programs.
    with suppress(LshdbError, conn.Error):
        readonly_sql.protect(conn, seconds)


@hookimpl
def handle_exception(request: Request, exception: Exception) -> Any:
    """Explain an error of SQL that lshdb's rules refused; None for other errors."""
    code = getattr(exception, "sqlite_errorcode", 0) & 0xFF
    if code not in _REFUSED:
        return None
    reason = f"{exception}: {_REFUSED[code]}"
    if request.path.endswith(".json"):
        return Response.json({"ok": False, "error": reason, "status": 400}, status=400)
    return Response.text(reason, 400)


@hookimpl
def skip_csrf(datasette: Datasette, scope: Mapping[str, Any]) -> bool:
    """Our forms need no token: they change nothing, and forms of other sites are refused."""
    return scope["type"] == "http" and f"{scope.get('path')}/".startswith(f"{_root(datasette)}/")


@hookimpl
def database_actions(datasette: Datasette, database: str) -> list[dict[str, str]]:
    """Add lshdb's pages to the menu of an lshdb file."""
    if not _is_ours(datasette.databases[database]):
        return []
    return [{"href": _links(datasette, database).page(), "label": "Near duplicates"}]


async def _show(
    datasette: Datasette, request: Request, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request for one of lshdb's pages."""
    route, page_path = request.url_vars["route"], request.url_vars["rest"]
    try:
        attached = datasette.get_database(route=tilde_decode(route))
    except KeyError:
        raise NotFound(f"There is no database {route}") from None
    name = attached.name
    needed = [("view-table", (name, "documents")), ("view-database", name), "view-instance"]
    await datasette.ensure_permissions(request.actor, needed)
    if attached.path is None:
        raise NotFound(f"{name} is not an lshdb database: these pages are for lshdb's")
    if (page_path or "").partition(".")[0] == "sql" and not await datasette.permission_allowed(
        request.actor, "execute-sql", name, default=True
    ):
        raise Forbidden("SQL is not allowed")
    links = _links(datasette, name)
    inner = {**scope, "root_path": "", "path": f"/{page_path or ''}", "lshdb.links": links}
    await _pages(Path(attached.path), name)(inner, receive, send)


def _root(datasette: Datasette) -> str:
    return str(datasette.urls.path("/-/lshdb"))


def _links(datasette: Datasette, name: str) -> rendering.Links:
    tables = str(datasette.urls.database(name))
    return rendering.Links(f"{_root(datasette)}/{tables.rpartition('/')[2]}", tables)


def _is_ours(attached: Attached) -> bool:
    """Whether a file is an lshdb file; a file that cannot be read counts as one."""
    if attached.path is None:
        return False
    if attached.path not in _ours:
        try:
            with page_file.opened(Path(attached.path), 0.0):  # all requests wait here
                _ours[attached.path] = True
        except NotADatabase:
            _ours[attached.path] = False
        except LshdbError:
            return True
    return _ours[attached.path]


_ours: dict[str, bool] = {}
"""By path: whether the file is an lshdb file."""
