"""Who may request the contents of lshdb files, and rules for browsers.

A web site can make its own name lead to this machine (DNS rebinding): a browser then lets the
site's scripts read our answers. So requests must name this machine, or a host that the owner
allows. Other sites may link to pages, but request nothing. A link to Datasette's own pages must
have no query, which may be SQL.
"""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

RULES = {
    # Only our style sheet; no scripts at all.
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    # Addresses hold keys; our own forms must say where they come from.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of lshdb's pages."""
_LOCAL_NAMES = frozenset(["127.0.0.1", "localhost", "[::1]"])
_WRONG_HOST = (
    "This answers to 127.0.0.1 and localhost only. Other host names are allowed by a plugin "
    'setting of Datasette: "plugins": {"lshdb": {"hosts": ["NAME"]}}\n'
)
_WRONG_SITE = (
    "A page of another site requested this. Other sites may only link to pages, and to Datasette's "
    "own only without a query in the address: open it yourself.\n"
)


def guarded(app: ASGIApp, below: str = "", hosts: Collection[str] = ()) -> ASGIApp:
    """An application that refuses requests to other hosts and requests from other sites.

    Args:
        app: the application that answers the other requests.
        below: what the paths of lshdb's own pages begin with, to which links may have a query.
        hosts: allowed host names besides those of this machine.
    """

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        reason = ""
        if scope["type"] == "http":
            reason = _refusal(scope, Headers(scope=scope), below, hosts)
        if reason and scope["path"].endswith(".json"):
            await JSONResponse({"reason": reason.strip()}, 403)(scope, receive, send)
        else:
            await (PlainTextResponse(reason, 403) if reason else app)(scope, receive, send)

    return guard


def ruled(app: ASGIApp, rules: Mapping[str, str]) -> ASGIApp:
    """An application that adds rules for browsers to answers; an answer's own headers stay."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def with_rules(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in rules.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, with_rules)

    return answer


def _refusal(scope: Scope, headers: Headers, below: str, hosts: Collection[str]) -> str:
    """Why a request is refused; empty if it is not."""
    host = headers.get("host", "")
    if not _is_allowed(host, hosts):
        return _WRONG_HOST
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        # Browsers send these headers to this machine, and over HTTPS.
        clicked = (
            scope["method"] == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        # Datasette chooses pages by the path before it is decoded.
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        if not clicked or (scope["query_string"] and not path.startswith(below)):
            return _WRONG_SITE
    # Older browsers name the site of a form only in this header.
    if scope["method"] not in ("GET", "HEAD") and "origin" in headers:
        try:
            sent_from = urlsplit(headers["origin"]).netloc
        except ValueError:  # such as http://[::1
            return _WRONG_SITE
        if sent_from != host and not (sent_from and _is_allowed(sent_from, hosts)):
            return _WRONG_SITE
    return ""


def _is_allowed(host: str, hosts: Collection[str]) -> bool:
    """Whether requests may name this host, with any port."""
    name = host.lower() if host.endswith("]") else host.lower().rpartition(":")[0] or host.lower()
    return name in _LOCAL_NAMES or name in hosts
