"""From a page's values to HTML: the templates, their filters for texts, and addresses."""

import dataclasses
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, urlencode

import jinja2

from lshdb import formatting
from lshdb.apps.review.drawing import compact, log_ticks
from lshdb.apps.review.listing import common_path
from lshdb.json_text import dumps
from lshdb.read.paths import escaped, is_copy_name
from lshdb.text.shingling import Shingling

_LONGEST_KEY = 120
"""Characters shown of a key, except in the heading of its own page."""
_BEFORE = 60
"""Characters of an excerpt before the first word that was searched for."""
_EXCERPT = 300
"""Characters shown of a passage."""
PAGES = Path(__file__).parent / "pages"
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(PAGES),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
STATIC = Path(__file__).parent / "static"
"""The files that pages load."""
_VERSIONS = {
    file.name: hashlib.blake2b(file.read_bytes(), digest_size=6).hexdigest()
    for file in STATIC.iterdir()
}
_INVISIBLE = re.compile(
    # Controls except tab and line ends, and characters that change the direction of text.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_DOTS = "\N{HORIZONTAL ELLIPSIS}"


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A page, before it becomes HTML or JSON.

    Attributes:
        template: the name of its file in pages/, without suffix.
        title: the title of the window and the heading; user text is not escaped yet.
        data: the values of the page, which are also its JSON.
        view: the values that only the template needs.
        status: the status of the response.
        redirect: the name of another page and its query, to show instead.
        download: JSON lines in parts, to send instead.
    """

    template: str
    title: str
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    view: dict[str, Any] = dataclasses.field(default_factory=dict)
    status: int = 200
    redirect: tuple[str, Mapping[str, str]] | None = None
    download: Iterator[bytes] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Links:
    """The addresses of the pages of one database; keys are in their queries, escaped.

    Attributes:
        root: the address of the overview, without a slash at its end.
        tables: the address of Datasette's own page of the database; empty outside Datasette.
    """

    root: str
    tables: str = ""

    def page(self, page: str = "", /, **query: object) -> str:
        """The address of a page, without the arguments that are None."""
        arguments = {name: str(value) for name, value in query.items() if value is not None}
        return f"{self.root}/{page}" + (f"?{urlencode(arguments)}" if arguments else "")

    def file(self, name: str) -> str:
        """The address of a file that pages load, which changes with it."""
        return self.page(name, v=_VERSIONS[name])


def html(page: Page, links: Links, **common: object) -> str:
    """The HTML of a page; `common` are values that all pages show."""
    return TEMPLATES.get_template(f"{page.template}.html").render(
        {
            "title": page.title,
            "window": _short(page.title),
            "links": links,
            "page": page.template,
            **common,
            **page.view,
            **page.data,
        }
    )


def similarity_scale(threshold: float, shingling: Shingling) -> dict[str, Any]:
    """How pages show similarities: where meters begin, and what two documents of similarity 1 are.

    Their contents may differ, as case, blanks, or names in programs do. Of programs, pages say what
    is copied, not what is dropped.
    """
    kind = "elements" if shingling.of_sets else "tokens" if shingling.of_programs else "words"
    return {
        "low": min(threshold, 0.99),
        "same": f"same {kind}",
        "programs": shingling.of_programs,
    }


def sentence(text: str) -> str:
    """A message as a sentence.

    >>> sentence("no document has the key 'a'")
    "No document has the key 'a'."
    """
    text = escaped(text)
    end = "" if text.endswith((".", "?", "!")) else "."
    return f"{text[:1].upper()}{text[1:]}{end}"


def behind(key: str, prefix: str) -> str:
    """A key without its first directories, which the page shows already."""
    shown = key.removeprefix(prefix)
    return _short(key) if shown == key else f"{_DOTS}/{_short(shown)}"


def snippet(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """The part of a text around the first of the words, in pieces; True marks the words.

    >>> snippet("The fox and the grapes", ["FOX", "grape"])
    [('The ', False), ('fox', True), (' and the ', False), ('grape', True), ('s', False)]
    """
    text = normalize("NFC", text)
    composed = [re.escape(normalize("NFC", word)) for word in words]
    pattern = re.compile(f"({'|'.join(composed)})", re.IGNORECASE)
    first = pattern.search(text)
    start = max(first.start() - _BEFORE, 0) if first else 0
    end = start + _EXCERPT
    before, behind = (_DOTS if start else "", _DOTS if end < len(text) else "")
    # Each second piece is a word.
    cut = [(piece, index % 2 == 1) for index, piece in enumerate(pattern.split(text[start:end]))]
    return [piece for piece in [(before, False), *cut, (behind, False)] if piece[0]]


def last_similarity(column: Mapping[str, Any]) -> float:
    """The maximum similarity of the pairs of a histogram's column, which ends before the next one.

    Similarities are fractions; those of documents with fewer than a million shingles are no nearer
    to the next column than this.

    >>> last_similarity({"high": 0.85}), last_similarity({"high": 1.0})
    (0.849999, 1.0)
    """
    high: float = column["high"]
    return high if high == 1 else round(high - 1e-6, 6)


def visible(text: str) -> str:
    r"""The text with invisible and direction-changing characters as backslash escapes.

    >>> visible("red \x1b[31m line\n")
    'red \\x1b[31m line\n'
    """
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)


def _plain(value: object) -> str | None:
    if isinstance(value, float):
        return formatting.number(value, True)
    return formatting.worded(value)


def _short(key: str) -> str:
    return formatting.shortened(escaped(key), _LONGEST_KEY)


TEMPLATES.filters.update(
    {
        "key": escaped,
        "short": _short,
        "quoted": quote,
        "sentence": sentence,
        "behind": behind,
        "common_path": common_path,
        "is_copy": is_copy_name,
        "compact": compact,
        "log_ticks": log_ticks,
        "last_similarity": last_similarity,
        "excerpt": lambda text: formatting.shortened(text, _EXCERPT),
        "visible": visible,
        "number": "{:,}".format,
        "digits": lambda value: formatting.share(value, 2),
        "percent": formatting.percent,
        "counted": formatting.counted,
        "plain": _plain,
        # A value of metadata, as text.
        "field": lambda value: value if isinstance(value, str) else dumps(value),
    }
)
