"""Pages about near duplicates in Datasette, which finds this module by its entry point.

Other files attached to Datasette are not affected: the SQL functions and limits are for connections
to lshdb files, and the pages, all below /-/lshdb, and the guard are for these only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from datasette import hookimpl
from markupsafe import Markup

from lshdb.errors import LshdbError
from lshdb.sources.paths import escaped
from lshdb.store.functions import is_lshdb, register_functions
from lshdb.store.readonly_sql import restrict
from lshdb.web import guarding
from lshdb.web.answering import answer, style_sheet
from lshdb.web.rendering import Links

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.utils.asgi import AsgiStream, Request, Response

_KEYED: Final = frozenset(["documents", "bucket_members"])
"""The table and the view with a column `key`."""
_LONGEST_CELL: Final = 160
"""Characters that Datasette's pages show of a content; the document's own page has all of it."""


@hookimpl
def register_routes() -> list[tuple[str, object]]:
    """All addresses below /-/lshdb, and the style sheet of their pages."""

    async def lshdb_pages(request: Request, datasette: Datasette) -> Response | AsgiStream:
        return await answer(request, datasette)

    return [(r"/-/lshdb(?:/(?P<rest>.*))?$", lshdb_pages), (r"/-/lshdb\.css$", style_sheet)]


@hookimpl
def asgi_wrapper(datasette: Datasette) -> Callable[[guarding.App], guarding.App]:
    """The guard of what lshdb files hold, and threads for SQL that do not delay our pages."""
    if datasette.executor is not None:
        datasette.executor.shutdown(wait=False)
        datasette.executor = guarding.Threads(datasette.setting("num_sql_threads"))
    return lambda app: guarding.guarded(app, datasette)


@hookimpl(trylast=True)  # other plugins may need what is then no longer allowed
def prepare_connection(conn: Any, database: str, datasette: Datasette) -> None:
    """Register the SQL functions on connections to lshdb files, and let SQL there only read."""
    path = getattr(datasette.databases.get(database), "path", None)
    if path is None:
        several = database == "_memory" and datasette.crossdb
        if several and any(_is_ours(datasette, name) for name in datasette.databases):
            restrict(conn, attaching=True)  # Datasette attaches the files to it next
        return
    # Datasette reports damaged files and those of other programs.
    with suppress(LshdbError, conn.Error):
        if is_lshdb(conn):
            guarding.ours.add(path)
            restrict(conn)
            register_functions(conn)


@hookimpl
def skip_csrf(datasette: Datasette, scope: Mapping[str, Any]) -> bool:
    """Our forms need no token: they change nothing, and forms of other sites are refused."""
    path = str(scope.get("path", ""))
    return scope["type"] == "http" and path.startswith(f"{Links(datasette, None).root}/")


@hookimpl
def menu_links(datasette: Datasette) -> list[dict[str, str]]:
    """Our first page in Datasette's menu."""
    return [{"href": Links(datasette, None).root, "label": "Near duplicates"}]


@hookimpl
def database_actions(datasette: Datasette, database: str) -> list[dict[str, str]]:
    """Our pages in the menu of an lshdb database."""
    if not _is_ours(datasette, database):
        return []
    return [{"href": Links(datasette, database).page(), "label": "Near duplicates"}]


@hookimpl
def render_cell(
    value: object, column: str, table: str | None, database: str, datasette: Datasette
) -> Markup | None:
    """Make a document's key in Datasette's tables a link to its page, and show long texts cut."""
    if table not in _KEYED or not isinstance(value, str) or not _is_ours(datasette, database):
        return None
    if column in ("content", "metadata") and len(value) > _LONGEST_CELL:
        return Markup("{}\N{HORIZONTAL ELLIPSIS}").format(escaped(value[:_LONGEST_CELL]))
    if column != "key":
        return None
    link = Links(datasette, database).document(value)
    return Markup('<a href="{}"><bdi>{}</bdi></a>').format(link, escaped(value))


def _is_ours(datasette: Datasette, database: str) -> bool:
    return getattr(datasette.databases.get(database), "path", None) in guarding.ours
