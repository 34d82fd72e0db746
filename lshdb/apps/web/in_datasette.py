"""Datasette's hooks: lshdb's pages within Datasette, and the guard of lshdb files.

The pages of a file are below /-/lshdb and its name; the menu of its database leads to them. The SQL
functions are for lshdb files, the guard is for all addresses. SQL is Datasette's, with its limits.
Only documented hooks are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from datasette import hookimpl
from datasette.utils import tilde_decode
from datasette.utils.asgi import NotFound
from starlette.types import ASGIApp, Receive, Scope, Send

from lshdb import LshdbError, NotADatabase, register_functions
from lshdb.apps.web import guarding, page_file, rendering
from lshdb.apps.web.app import pages

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

    def wrap(app: ASGIApp) -> ASGIApp:
        ruled = guarding.ruled(app, _DATASETTE_RULES)
        ours = guarding.guarded(ruled, f"{_root(datasette)}/", hosts)

        async def choose(scope: Scope, receive: Receive, send: Send) -> None:
            shown = scope["type"] == "http" and any(map(_is_ours, datasette.databases.values()))
            await (ours if shown else app)(scope, receive, send)

        return choose

    return wrap


@hookimpl
def prepare_connection(conn: Any, database: str, datasette: Datasette) -> None:
    """Register the SQL functions on connections to lshdb files."""
    if getattr(datasette.databases.get(database), "path", None) is not None:
        # Datasette reports damaged files and those of other programs.
        with suppress(LshdbError):
            register_functions(conn)


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
    route, page_path = request.url_vars["route"], request.url_vars["rest"] or ""
    try:
        attached = datasette.get_database(route=tilde_decode(route))
    except KeyError:
        raise NotFound(f"There is no database {route}") from None
    name = attached.name
    needed = [("view-table", (name, "documents")), ("view-database", name), "view-instance"]
    await datasette.ensure_permissions(request.actor, needed)
    if attached.path is None:
        raise NotFound(f"{name} is not an lshdb database: these pages are for lshdb's")
    links = _links(datasette, name)
    inner = {**scope, "root_path": "", "path": f"/{page_path}", "lshdb.links": links}
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
