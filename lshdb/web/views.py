"""What each page tells of a database. The database is open for reading, and all work is bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import lshdb
from lshdb.database import Database
from lshdb.errors import limits_noted
from lshdb.model import Bucket, Cluster, Comparison, Content, Document, Element
from lshdb.sketching.constructions import candidate_probability
from lshdb.store.store import Store
from lshdb.web.drawing import bars, s_curve
from lshdb.web.rendering import Page, pieces, shortened
from lshdb.web.results import Results, state_of

TIMEOUT: Final = 5.0
"""Seconds that a page waits for a file that is locked."""
LONGEST_QUERY: Final = 200_000
"""Characters of a text that is pasted."""
_MATCHES: Final = 50
_BUCKETS: Final = 10
_CLUSTERS: Final = 20
"""Clusters on a page."""
_MEMBERS: Final = 100
"""Members of a cluster on a page."""
_PREVIEW: Final = 3
_TEXT: Final = 50_000
"""Characters shown of a text."""
_ELEMENTS: Final = 1_000
"""Elements shown of a set."""
_PASSAGES: Final = 10
"""Passages listed, the longest."""
_EXCERPT: Final = 160
_COUNTED: Final = 4_000_000
"""Characters up to which distinct shingles are counted for a page."""
_WAIT: Final = 1.5
"""Seconds that a page waits for what takes long."""

_T = TypeVar("_T")
_results: Final = Results()


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: the open database, and what is asked of it."""

    database: Database
    name: str
    arguments: Mapping[str, str]
    posted: Mapping[str, str] | None

    def required(self, name: str) -> str:
        """An argument that must be there; forms quote keys, for browsers change line ends."""
        quoted = f"{name}_quoted"
        if name not in self.arguments and quoted in self.arguments:
            return unquote(self.arguments[quoted])
        if name not in self.arguments:
            raise lshdb.UsageError(f"the address lacks {name}=")
        return self.arguments[name]


def opened(path: Path) -> Database:
    """A file opened read-only for the system as well: pages cannot change it, whatever they do."""
    return Database(Store.open(path, "read", TIMEOUT, sealed=True))


def _lasting(
    visit: Visit, what: str, make: Callable[[Database], _T], told: dict[str, Any]
) -> _T | None:
    """What takes long, made with a handle of its own; None while it is made for the first time.

    Adds to `told` what every page with such a result shows, and whether the browser asks again.
    """
    path = visit.database.path

    def run() -> _T:
        with opened(path) as database:
            return make(database)

    state = state_of(path)
    found = _results.get((path, what), state, run, _WAIT)
    told["refresh"] = found is None
    told["notes"] = () if found is None else found.notes
    told["outdated"] = found is not None and found.state != state
    return None if found is None else found.value


# overview


def overview(visit: Visit) -> Page:
    """Documents, settings, the S-curve, sizes of buckets."""
    database = visit.database
    info = database.info()
    told: dict[str, Any] = {
        "info": info,
        "settings": info.settings,
        "curve": s_curve(info.settings.construction, info.settings.threshold),
    }
    found = _lasting(visit, "buckets", _bucket_sizes, told)
    told["bars"] = None if found is None else bars(found[0])
    told["largest"] = None if found is None else found[1]
    return Page("overview", visit.name, told)


def _bucket_sizes(database: Database) -> tuple[dict[int, int], list[Bucket]]:
    return database.buckets_of_size(), database.buckets(_BUCKETS)


# documents


def document(visit: Visit) -> Page:
    """One document with its near duplicates."""
    database, key = visit.database, visit.required("key")
    stored = database.get(key)
    least = _threshold(visit, visit.arguments)
    with limits_noted() as notes:
        matches = database.query(key=key, top=_MATCHES, threshold=least)
    content = stored.content
    distinct = None
    if content is not None and len(content) <= _COUNTED:
        distinct = database.count_distinct(stored)
    told = {
        "stored": stored,
        "distinct": distinct,
        "buckets": database.buckets_of(key),
        "matches": matches,
        "least": least,
        "recall": _recall_below(database, least),
        "most": _MATCHES,
        "notes": notes,
        **_shown(content),
    }
    return Page("document", key, told)


def _threshold(visit: Visit, given: Mapping[str, str]) -> float:
    text = given.get("threshold", "").strip()
    if not text:
        return visit.database.settings.threshold
    try:
        return float(text)
    except ValueError as error:
        raise lshdb.UsageError(f"the least similarity {text!r} is not a number") from error


def _recall_below(database: Database, least: float) -> float | None:
    """The share of documents at this similarity that the index finds, if it is made for more."""
    if least >= database.settings.threshold:
        return None
    return candidate_probability(least, database.settings.construction)


def _shown(content: str | tuple[Element, ...] | None) -> dict[str, Any]:
    """A document's content, cut if it is long."""
    text = content[:_TEXT] if isinstance(content, str) else None
    elements = content[:_ELEMENTS] if isinstance(content, tuple) else None
    return {
        "text": text,
        "elements": elements,
        "length": 0 if content is None else len(content),
        "cut": content is not None and len(content) > len(text or elements or ()),
    }


# two documents


def compare(visit: Visit) -> Page:
    """Two documents side by side."""
    b = visit.required("b")
    if visit.posted is None:
        a: str | Document = visit.required("a")
        name = visit.required("a")
    else:
        name = "the text given"
        a = Document(name, _pasted(visit, visit.posted))
    with limits_noted() as notes:
        compared = visit.database.compare(a, b)
    told: dict[str, Any] = {
        "compared": compared,
        "given": visit.posted is not None,
        "notes": notes,
        "most": _TEXT,
        "most_elements": _ELEMENTS,
    }
    if isinstance(compared.a_content, str) and isinstance(compared.b_content, str):
        told |= _side_by_side(compared, compared.a_content, compared.b_content)
    elif isinstance(compared.a_content, tuple) and isinstance(compared.b_content, tuple):
        shared = set(compared.shared_elements or ())
        told["shared"] = compared.shared_elements
        told["only_a"] = [each for each in compared.a_content if each not in shared]
        told["only_b"] = [each for each in compared.b_content if each not in shared]
    return Page("compare", f"{name} and {b}", told)


def _side_by_side(compared: Comparison, a: str, b: str) -> dict[str, Any]:
    passages = compared.passages or ()
    one = pieces(a, [(each.a_start, each.a_end) for each in passages], _TEXT)
    other = pieces(b, [(each.b_start, each.b_end) for each in passages], _TEXT)
    numbered = sorted(enumerate(passages, 1), key=lambda each: (-each[1].shingles, each[0]))
    longest = [
        (number, each, shortened(a[each.a_start : each.a_end], _EXCERPT))
        for number, each in numbered[:_PASSAGES]
    ]
    return {
        "a_pieces": one,
        "b_pieces": other,
        "in_a": {piece.passage for piece in one},
        "in_b": {piece.passage for piece in other},
        "longest": longest,
        "passages": len(passages),
    }


# clusters


def _all_clusters(database: Database) -> list[Cluster]:
    """All clusters, those of the most documents first."""
    return sorted(database.clusters(), key=lambda cluster: -len(cluster.members))


def clusters(visit: Visit) -> Page:
    """The groups of similar documents, some on each page."""
    told: dict[str, Any] = {"clusters": None, "preview": _PREVIEW}
    found = _lasting(visit, "clusters", _all_clusters, told)
    if found is not None:
        told["clusters"], told["paging"] = _some(visit, found, _CLUSTERS)
        told["documents"] = sum(len(cluster.members) for cluster in found)
        told["settings"] = visit.database.settings
    return Page("clusters", f"Clusters of {visit.name}", told)


def cluster(visit: Visit) -> Page:
    """The members of one cluster, some on each page."""
    number = _natural(visit.required("number"), "number")
    told: dict[str, Any] = {"cluster": None}
    found = _lasting(visit, "clusters", _all_clusters, told)
    if found is not None:
        one = next((each for each in found if each.cluster == number), None)
        if one is None:
            raise lshdb.KeyNotFound(f"there is no cluster {number:,}")
        told["cluster"] = one
        members = list(zip(one.members, one.similarities, one.identical, strict=True))
        told["members"], told["paging"] = _some(visit, members, _MEMBERS)
        told["threshold"] = visit.database.settings.threshold
    return Page("cluster", f"Cluster {number:,} of {visit.name}", told)


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page of how many, of how many things."""

    page: int
    pages: int
    things: int


def _some(visit: Visit, things: list[_T], most: int) -> tuple[list[_T], Paging]:
    page = _natural(visit.arguments.get("page", "1"), "page")
    pages = max(math.ceil(len(things) / most), 1)
    if page > pages:
        raise lshdb.KeyNotFound(f"there is no page {page:,}: the last is page {pages:,}")
    return things[(page - 1) * most : page * most], Paging(page, pages, len(things))


def _natural(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
        raise lshdb.UsageError(f"{name} {text!r} is not a number from 1 on")
    return int(text)


# a text that is pasted


def query(visit: Visit) -> Page:
    """A box for a text, and the documents similar to it."""
    database = visit.database
    told: dict[str, Any] = {
        "settings": database.settings,
        "text": "",
        "threshold": "",
        "containment": False,
        "matches": None,
        "notes": (),
        "longest": LONGEST_QUERY,
        "most": _MATCHES,
        "problem": None,
    }
    page = Page("query", f"Query {visit.name}", told)
    if visit.posted is None:
        return page
    told["text"] = visit.posted.get("text", "")
    told["threshold"] = visit.posted.get("threshold", "")
    told["containment"] = contained = "containment" in visit.posted
    try:
        least = _threshold(visit, visit.posted)
        content = _pasted(visit, visit.posted)
        with limits_noted() as notes:
            told["matches"] = database.query(
                content, top=_MATCHES, threshold=least, containment=contained
            )
    except (lshdb.UsageError, lshdb.ContentError, lshdb.InputError) as error:
        told["problem"] = str(error)
        return Page(page.template, page.title, told, status=400)
    told["notes"] = notes
    told["least"] = least
    told["recall"] = None if contained else _recall_below(database, least)
    return page


def _pasted(visit: Visit, posted: Mapping[str, str]) -> Content:
    from lshdb.sources.readers import Reader

    text = posted.get("text", "")
    if not text.strip():
        raise lshdb.InputError("paste a document into the box first")
    if len(text) > LONGEST_QUERY:
        raise lshdb.InputError(
            f"the text has {len(text):,} characters, and a page takes {LONGEST_QUERY:,}: "
            "use lshdb query"
        )
    return Reader(of_sets=visit.database.settings.shingling.of_sets).content_of(text)


PAGES: Final[Mapping[str, Callable[[Visit], Page]]] = {
    "": overview,
    "document": document,
    "compare": compare,
    "clusters": clusters,
    "cluster": cluster,
    "query": query,
}
POSTED: Final = frozenset(["query", "compare"])
"""Pages that may be sent a document."""
