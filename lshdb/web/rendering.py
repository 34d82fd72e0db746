"""From a page's values to HTML: templates, escaping, addresses, headers."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup

from lshdb.formatting import counted, percent, share, shortened
from lshdb.sources.paths import escaped
from lshdb.web.listing import common_path

if TYPE_CHECKING:
    from datasette.app import Datasette

    from lshdb.web.beside import Shown
    from lshdb.web.reviewing import Review

HEADERS: Final = {
    # Only our style sheet and Datasette's icon; no scripts at all.
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

_LONGEST_KEY: Final = 120
"""Characters shown of a key, except in the heading of its own page."""
_BEFORE: Final = 60
"""Characters shown before a found word."""
_EXCERPT: Final = 300
"""Characters shown of a passage."""
_DOTS: Final = "\N{HORIZONTAL ELLIPSIS}"
_INVISIBLE: Final = re.compile(
    # Controls except tab and line ends, and characters that change the direction of text.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page before it is HTML.

    Attributes:
        template: its name in pages/, without suffix.
        title: for the window and the heading; user text is not escaped yet.
        context: values for the template.
        status: of the response.
        redirect: the name of another page and its query, to show instead.
        download: the type of a file and its text in parts, to send instead.
    """

    template: str
    title: str
    context: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    redirect: tuple[str, Mapping[str, str]] | None = None
    download: tuple[str, Iterator[str]] | None = None


class Links:
    """The addresses of the pages of one database; keys are in their queries, escaped."""

    def __init__(self, datasette: Datasette, name: str | None) -> None:
        self._urls = datasette.urls
        self._name = name
        self.root = str(self._urls.path("/-/lshdb"))
        self.style = str(self._urls.path("/-/lshdb.css"))
        self.datasette = str(self._urls.instance())
        self.tables = self.datasette if name is None else str(self._urls.database(name))

    def page(self, page: str = "", /, **query: object) -> str:
        """The address of one of our pages; arguments that are None are left out."""
        route = self.tables.rpartition("/")[2]
        return _with_query("/".join(filter(None, (self.root, route, page))), query)

    def document(self, key: str) -> str:
        """The page of a document."""
        return self.page("document", key=key)

    def compare(self, a: str, b: str, /, **query: object) -> str:
        """Two documents side by side."""
        return self.page("compare", a=a, b=b, **query)

    def table(self, table: str, **query: object) -> str:
        """Datasette's own page of a table or view, filtered by values of columns."""
        exact = {f"{column}__exact": value for column, value in query.items()}
        return _with_query(str(self._urls.table(self._name, table)), exact)


def _with_query(path: str, query: dict[str, object]) -> str:
    given = {name: str(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def headers(review: Review | None) -> dict[str, str]:
    """The rules for browsers: in a review, the script of its pages may run, and no other."""
    if review is None:
        return HEADERS
    name = "content-security-policy"
    return HEADERS | {name: f"{HEADERS[name]}; script-src '{review.script_hash}'"}


def html(page: Page, links: Links, database: str | None, review: Review | None = None) -> str:
    """The HTML of a page."""
    common = {
        "review": review,
        "title": page.title,
        "window": _short(page.title),
        "links": links,
        "database": database,
        "page": page.template,
    }
    return rendered(page.template, **common | page.context)


def rendered(template: str, **context: object) -> str:
    """The HTML of a template."""
    return _environment().get_template(f"{template}.html").render(context)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lshdb.web", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "key": escaped,
        "short": _short,
        "quoted": quote,
        "visible": visible,
        "number": "{:,}".format,
        "share": share,
        "script": Markup,  # our own file
        "sentence": sentence,
        "behind": behind,
        "common_path": common_path,
        "excerpt": lambda text: shortened(text, _EXCERPT),
        "bar": lambda value: round(100 * value, 1),
        "pieces": pieces_html,
        "percent": percent,
        "counted": counted,
    }
    return environment


def visible(text: str) -> str:
    r"""The text with invisible and direction-changing characters as backslash escapes.

    >>> visible("red \x1b[31m line\n")
    'red \\x1b[31m line\n'
    """
    return _INVISIBLE.sub(lambda found: ascii(found[0])[1:-1], text)


def pieces_html(pieces: Shown, tag: str) -> Markup:
    """One side of a row; changed pieces are in elements of this tag.

    Made here, as a page has tens of thousands of words.

    >>> pieces_html([("same", [("keyword", "if"), ("", " 1 < ")]), ("changed", [("", "x")])], "del")
    Markup('<span class="keyword">if</span> 1 &lt; <del>x</del>')
    """
    found = []
    for kind, words in pieces:
        inner = ""
        for name, text in words:
            safe = escape(visible(text), quote=False)
            inner += f'<span class="{name}">{safe}</span>' if name else safe
        if kind == "changed":
            inner = f"<{tag}>{inner}</{tag}>"
        elif kind == "moved":
            inner = f'<span class="moved">{inner}</span>'
        found.append(inner)
    return Markup("".join(found))  # its parts are escaped


def sentence(text: str) -> str:
    """A message as a sentence.

    >>> sentence("no document has the key 'a'")
    "No document has the key 'a'."
    """
    text = escaped(text)
    end = "" if text.endswith((".", "?", "!")) else "."
    return f"{text[:1].upper()}{text[1:]}{end}"


def behind(key: str, prefix: str) -> str:
    """A key without its first directories, which are already shown."""
    rest = key.removeprefix(prefix)
    return _short(key) if rest == key else f"{_DOTS}/{_short(rest)}"


def snippet(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """The part of a text around the first of some words, in pieces with whether each is a word.

    >>> snippet("The fox and the grapes", ["FOX", "grape"])
    [('The ', False), ('fox', True), (' and the ', False), ('grape', True), ('s', False)]
    """
    found = re.compile(f"({'|'.join(map(re.escape, words))})", re.IGNORECASE)
    first = found.search(text)
    start = max(first.start() - _BEFORE, 0) if first else 0
    end = start + _EXCERPT
    before, behind = (_DOTS if start else "", _DOTS if end < len(text) else "")
    # Each second piece is a word.
    cut = [(piece, at % 2 == 1) for at, piece in enumerate(found.split(text[start:end]))]
    return [piece for piece in [(before, False), *cut, (behind, False)] if piece[0]]


def _short(key: str) -> str:
    return shortened(escaped(key), _LONGEST_KEY)
