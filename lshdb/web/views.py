"""The values that each page shows, as plain objects: a template makes HTML of them, `.json` JSON.

The database is open for reading, and all work is bounded.
"""

from __future__ import annotations

import math
import shlex
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode

import numpy as np

import lshdb
from lshdb.database import Database
from lshdb.errors import limits_noted, warn_of_limit
from lshdb.formatting import shortened
from lshdb.json_text import dumps
from lshdb.limits import DEFAULTS
from lshdb.model import Cluster, Comparison, Content, Decision, Document, Element, Pair
from lshdb.options import ClustersOptions
from lshdb.progress import Progress
from lshdb.search.decisions import Verdicts
from lshdb.search.differences import sets_beside, shown_rows
from lshdb.search.documents import count_distinct
from lshdb.search.limits import text_cut
from lshdb.settings import settings_record
from lshdb.sketching.constructions import candidate_probability
from lshdb.sources.csv_rows import csv_lines
from lshdb.sources.json_rows import json_lines
from lshdb.store.store import Store
from lshdb.web import beside, listing, pasted
from lshdb.web.beside import Beside
from lshdb.web.drawing import columns, s_curve
from lshdb.web.listing import Filters, Neighbours
from lshdb.web.rendering import Page, snippet
from lshdb.web.results import Results, Stage, state_of
from lshdb.web.reviewing import MAX_MEMBERS, Review, documents_of
from lshdb.web.surveys import Survey, keys_of, survey_clusters, survey_pairs

TIMEOUT: Final = 5.0
"""Seconds that a page waits for a locked file."""
LONGEST_QUERY: Final = 200_000
"""Maximum characters of a pasted text."""
_MATCHES: Final = 50
"""Matches on a page."""
_MAX_PAGES: Final = 200
_SOURCES: Final = 20
"""Documents that share passages with one, on its page."""
_ASKED: Final = ("threshold", "containment", "exhaustive")
"""The options for a pasted text."""
_LONGEST_FIELD: Final = 500
"""Characters shown of a field of metadata."""
_PAIRS: Final = 50
"""Pairs on a page."""
_FOUND: Final = 30
"""Keys, and documents by their contents, that a search shows."""
_LOOKING: Final = 0.07
"""Seconds for each of these searches: nobody waits longer."""
_MAX_WORDS: Final = 10
_DROPPED: Final = 500
"""Documents to drop that a page lists."""
_DECISIONS: Final = 100
"""Decisions on a page."""
_ROWS_AT_ONCE: Final = 500
"""Rows of a file to download that are sent at once: some 10 ms of work."""
_LARGEST: Final = 6
"""Clusters on the overview."""
_CLUSTERS: Final = 20
"""Clusters on a page."""
_MEMBERS: Final = 100
"""Members of a cluster on a page."""
_PREVIEW: Final = 4
_AROUND: Final = 2
"""Equal lines shown beside those that differ."""
_TEXT: Final = 50_000
"""Characters shown of a text."""
_ELEMENTS: Final = 1_000
"""Elements shown of a set."""
_COMPARED: Final = 2
"""Comparisons kept in memory: one of the longest texts takes some 60 MB."""
_COUNTED: Final = 4_000_000
"""Maximum characters of a text whose distinct shingles are counted for a page."""
_SQL_SECONDS: Final = 2.0
"""Seconds for a visitor's statement."""
_SQL_ROWS: Final = 1_000
_SQL_CHARACTERS: Final = 2_000_000
"""Characters of all values that a page of SQL has; the value that goes beyond is the last."""

_T = TypeVar("_T")
Rows: TypeAlias = tuple[Sequence[str], Iterator[Sequence[object]]]
"""The names of columns, and rows."""
_Sets: TypeAlias = list[tuple[str, int, list[Element]]]
"""Parts of two sets: their names, sizes, and first elements."""
_results: Final = Results()
_comparisons: Final = Results(_COMPARED)


class Waiting(Exception):
    """A result is being computed for the first time; `Visit.waiting` says which."""


@dataclass(slots=True)
class Visit:
    """One request: the open database, the arguments, and what all pages say.

    Attributes:
        notes: warnings about limits.
        outdated: whether the file has changed since a result was computed.
        waiting: the progress of results that are being computed, by name.
        results: where these are kept.
    """

    database: Database
    store: Store
    name: str
    arguments: Mapping[str, str]
    posted: Mapping[str, str] | None = None
    review: Review | None = None
    notes: list[str] = field(default_factory=list)
    outdated: bool = False
    waiting: dict[str, Stage | None] = field(default_factory=dict)
    results: Results = _results

    def verdicts(self) -> Verdicts:
        """The decisions that hold now."""
        return Verdicts(self.database.decisions())

    def required(self, name: str) -> str:
        """A required argument; forms quote keys, as browsers change line ends."""
        found = _argument(self.arguments, name)
        if found is None:
            raise lshdb.UsageError(f"the address lacks {name}=")
        return found

    def wait_for(
        self,
        what: tuple[Any, ...],
        make: Callable[[Database, Store, Progress], _T],
        results: Results | None = None,
    ) -> _T:
        """A slow result, computed with its own handle.

        The first part of its name, `what`, says what is waited for.

        Raises:
            Waiting: it is computed for the first time.
        """
        path = self.database.path

        def run(progress: Progress) -> _T:
            with opened(path) as (database, store):
                return make(database, store, progress)

        state = state_of(path) if self.review is None else self.review.state()
        results = results or self.results
        # A page waits once, however many results it needs.
        seconds = 0.0 if self.waiting else self.store.limits.page_seconds
        found = results.get((path, what), state, run, seconds)
        if found is None:
            self.waiting[what[0]] = results.progress((path, what))
            raise Waiting
        self.notes += map(str, found.notes)
        self.outdated |= found.state != state
        return found.value

    def page(self, name: str) -> Page:
        """A page with what all pages say; in a review, with what was decided last."""
        with limits_noted() as notes:
            try:
                page = PAGES[name](self)
            except Waiting:
                page = Page("waiting", self.name)
        if self.review is not None and page.template in _FORMS:
            page.view.update(self.review.form(self.database), back=_back(self.arguments))
        said = [*self.notes, *map(str, notes)]
        own = {"notes": said, "outdated": self.outdated, "waiting": self.waiting}
        return replace(page, data=page.data | own)


def _argument(given: Mapping[str, str], name: str) -> str | None:
    quoted = given.get(f"{name}_quoted")
    return given.get(name, None if quoted is None else unquote(quoted))


@contextmanager
def opened(path: Path, timeout: float = TIMEOUT) -> Iterator[tuple[Database, Store]]:
    """A file opened read-only for the system too: pages cannot change it."""
    store = Store.open(path, "read", timeout, sealed=True)
    with Database(store) as database:
        yield database, store


# overview


def overview(visit: Visit) -> Page:
    """The near duplicates of a database, and below them its settings."""
    info = visit.database.info()
    settings = info.settings
    data: dict[str, Any] = {
        "name": visit.name,
        "documents": info.documents,
        "empty": info.empty,
        "bytes": info.bytes,
        "settings": settings_record(settings),
        "curve": s_curve(settings.construction, settings.threshold),
    }
    for name, part in (("clusters", _all_clusters), ("pairs", _all_pairs)):
        try:
            data[name] = part(visit)
        except Waiting:
            data[name] = None
    return Page("overview", visit.name, data)


def _all_clusters(visit: Visit) -> dict[str, Any]:
    survey, verdicts = _survey(visit, "clusters", Filters()), visit.verdicts()
    largest = listing.chosen(survey, Filters(), ())[:_LARGEST]
    return _counts(survey, listing.decided(survey, verdicts)) | {
        "largest": [listing.described(survey.items[at], verdicts, _PREVIEW) for at in largest]
    }


def _all_pairs(visit: Visit) -> dict[str, Any]:
    survey = _survey(visit, "pairs", Filters())
    return _counts(survey, set()) | {"similarities": columns(survey.histogram)}


def _counts(survey: Survey[Any], done: set[int]) -> dict[str, Any]:
    """How many clusters or pairs there are, how many are decided, and how many documents can go."""
    return {
        "count": len(survey.items),
        "members": survey.members,
        "decided": len(done),
        "found": survey.found,
        "cut": survey.cut,
        "redundant": survey.redundant,
        "redundant_bytes": survey.redundant_bytes,
    }


# documents


def document(visit: Visit) -> Page:
    """One document with its near duplicates."""
    database, key = visit.database, visit.required("key")
    stored = database.get(key)
    content = stored.content
    distinct = passages = None
    if content is not None and len(content) <= _COUNTED:
        distinct = count_distinct(database.store, stored)
    if database.settings.passages:
        passages = database.passages(key=key, top=_SOURCES)
    verdicts = visit.verdicts()
    data = {
        "key": key,
        "number": stored.doc_id,
        "metadata": stored.metadata,
        "decided": verdicts.of_key.get(key),
        "length": None if content is None else len(content),
        "content": None if content is None else content[: _limit(content)],
        "shingles": stored.shingles,
        "distinct_shingles": distinct,
        "query": _matches(visit, key=key),
        "passages": passages,
        "buckets": database.buckets(key),
    }
    view: dict[str, Any] = {
        "fields": {name: _field(value) for name, value in (stored.metadata or {}).items()},
        "verdicts": verdicts.of_key,
    }
    return Page("document", key, data, view | _form(visit, [key]))


def _limit(content: str | tuple[Any, ...]) -> int:
    return _TEXT if isinstance(content, str) else _ELEMENTS


def _field(value: object) -> str:
    """A value of metadata, as text."""
    text = value if isinstance(value, str) else dumps(value)
    return shortened(text, _LONGEST_FIELD)


def _matches(
    visit: Visit, content: Content | None = None, key: str | None = None
) -> dict[str, Any]:
    """The documents similar to one, some on each page, and how they were found."""
    settings = visit.database.settings
    least = _threshold(visit, visit.arguments)
    contained, exhaustive = ("containment" in visit.arguments), ("exhaustive" in visit.arguments)
    page = min(listing.natural(visit.arguments.get("page", "1"), "page"), _MAX_PAGES)
    found = visit.database.query(
        content,
        key=key,
        top=page * _MATCHES + 1,
        threshold=least,
        containment=contained,
        exhaustive=exhaustive,
    )
    return {
        "matches": found[(page - 1) * _MATCHES : page * _MATCHES],
        "page": page,
        "first": (page - 1) * _MATCHES + 1,
        "more": len(found) > page * _MATCHES and page < _MAX_PAGES,
        "threshold": least,
        "own_threshold": settings.threshold,
        "exhaustive": exhaustive,
        "containment": contained,
        "recall": candidate_probability(least, settings.construction) or 0.0,
    }


def _threshold(visit: Visit, given: Mapping[str, str]) -> float:
    least = listing.similarity(given.get("threshold", "").strip(), "threshold")
    return visit.database.settings.threshold if least is None else least


def find(visit: Visit) -> Page:
    """Documents whose keys or contents match the search."""
    asked = visit.arguments.get("q", "").strip()
    words = asked.split()[:_MAX_WORDS]
    if asked in visit.database:
        return Page("find", "", redirect=("document", {"key": asked}))
    given = visit.arguments.get("after")
    after = 0 if given is None or not words else listing.natural(given, "after")
    keys: list[str] = []
    if words and given is None:
        keys = visit.store.keys_containing(asked, _FOUND, _LOOKING)
    hits: list[tuple[str, str]] = []
    further: int | None = None
    contents = visit.database.settings.content
    if words and contents:
        hits, further = visit.store.documents_with(words, after, _FOUND, _LOOKING)
    data = {
        "q": asked,
        "keys": keys,
        "hits": [{"key": key, "pieces": snippet(content, words)} for key, content in hits],
        "further": further,
        "after": after,
        "contents": contents,
        "most": _FOUND,
    }
    return Page("find", f"Find in {visit.name}", data)


# two documents


def compare(visit: Visit) -> Page:
    """Two documents side by side."""
    b = visit.required("b")
    names = ("a", "b", "pasted", "listed", "blanks", "only", *Filters.names())
    arguments = {name: visit.arguments.get(name) for name in names} | {"b": b}
    name = visit.arguments.get("pasted")
    if name is None:
        one: str | Document = visit.required("a")
        title = arguments["a"] = visit.required("a")
        visit.database.get(title)  # an unknown one fails at once
    elif (text := pasted.kept(name)) is None:
        raise lshdb.KeyNotFound("the text of this address is not kept any more: paste it again")
    else:
        title = "the text given"
        one = Document(title, _content_of(visit, text))
    visit.database.get(b)
    blanks = visit.arguments.get("blanks") != "ignored"

    def make(database: Database, *_: object) -> tuple[Comparison, Beside | None, _Sets | None]:
        made = database.compare(one, b)
        left, right = made.a_content, made.b_content
        texts = sets = None
        if isinstance(left, str) and isinstance(right, str):
            texts = beside.texts_beside(left, right, passages=made.passages or (), blanks=blanks)
            if texts.cut:
                warn_of_limit(text_cut(texts.cut, DEFAULTS.text_characters))
        elif isinstance(left, tuple) and isinstance(right, tuple):
            parts = zip(
                ("Only in A", "Only in B", "In both"), sets_beside(left, right), strict=True
            )
            sets = [(name, len(some), some[:_ELEMENTS]) for name, some in parts]
        return replace(made, a_content=None, b_content=None), texts, sets

    verdicts = visit.verdicts()
    decided = {
        "a": None if name else verdicts.of_key.get(title),
        "b": verdicts.of_key.get(b),
        "different": verdicts.apart(title, b),
    }
    what = ("compare", name or title, name is None, b, blanks)
    comparison, texts, sets = visit.wait_for(what, make, _comparisons)
    data = {"a": title, "b": b, "decided": decided, "comparison": comparison, "sets": sets}
    view: dict[str, Any] = {
        "given": name is not None,
        "arguments": arguments,
        "whole": arguments | {"only": None},
        "near": None,
    }
    if texts is not None:
        own, shown = _side_by_side(visit, texts)
        data |= own
        view |= shown
    if "listed" in visit.arguments:
        asked = view["asked"] = Filters.of(visit.arguments)
        data["list"] = view["near"] = _near(visit, "pairs", asked, (title, b))[1]
    view |= {} if name else _form(visit, [title, b])
    return Page("compare", f"{title} and {b}", data, view)


def _side_by_side(visit: Visit, found: Beside) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows of one page of two texts, and where the others are."""
    only = visit.arguments.get("only")
    around = (
        _AROUND if only == "differences" else None if not only else listing.natural(only, "only")
    )
    near = shown_rows(found.rows, around)
    some, paging = _some(visit, near, beside.PART_ROWS)
    begins = [0, *near[beside.PART_ROWS :: beside.PART_ROWS], len(found.rows)]
    data = {
        "says": found.says,
        "differences": len(found.starts),
        "rows": list(beside.lines_of(found, some, *begins[paging.page - 1 : paging.page + 1])),
        "paging": paging,
        "longest_passages": beside.longest_passages(found),
    }
    return data, {
        "code": found.code,
        "starts": found.starts,
        "page_of": lambda place: bisect_right(begins[:-1], place),
        "around": around,
        # Of all rows, not only of those that this page may show.
        "row_page": lambda place: place // beside.PART_ROWS + 1,
    }


# clusters and pairs


def clusters(visit: Visit) -> Page:
    """The groups of similar documents, filtered and sorted, some on each page."""
    shown = partial(listing.described, most=_PREVIEW)
    return _list(visit, "clusters", _CLUSTERS, shown, _cluster_rows)


def pairs(visit: Visit) -> Page:
    """The pairs of similar documents, filtered and sorted, some on each page."""
    return _list(visit, "pairs", _PAIRS, _pair, _pair_rows)


def _list(
    visit: Visit,
    kind: str,
    most: int,
    shown: Callable[[Any, Verdicts], dict[str, Any]],
    rows: Callable[[Sequence[Any], Verdicts], Rows],
) -> Page:
    """One of the two lists: `shown` makes an item of a page, `rows` those of a download."""
    asked = Filters.of(visit.arguments)
    survey, verdicts = _survey(visit, kind, asked), visit.verdicts()
    done = listing.decided(survey, verdicts)
    chosen = [survey.items[place] for place in listing.chosen(survey, asked, done)]
    if visit.arguments.get("format"):
        return _download(visit, rows(chosen, verdicts))
    some, paging = _some(visit, list(enumerate(chosen, 1)), most)
    data = _counts(survey, done) | {
        "facets": listing.facets(survey),
        "paging": paging,
        kind: [{"number": number, **shown(one, verdicts)} for number, one in some],
    }
    view = {
        "asked": asked,
        "sorts": listing.SORTS[kind],
        "settings": visit.database.settings,
    }
    return Page(kind, f"{kind.capitalize()} of {visit.name}", data, view)


def _pair(one: Pair, verdicts: Verdicts) -> dict[str, Any]:
    return {
        "a": one.a,
        "b": one.b,
        "similarity": one.similarity,
        "exact": one.exact,
        "identical": one.identical,
        "a_decided": verdicts.of_key.get(one.a),
        "b_decided": verdicts.of_key.get(one.b),
        "different": verdicts.apart(one.a, one.b),
    }


def _survey(visit: Visit, kind: str, asked: Filters) -> Survey[Any]:
    """All clusters or pairs; without decisions, so that they keep their places in a review."""
    keep: Any = asked.keep or "first"
    threshold, star = asked.number("threshold"), bool(asked.star)
    request = ClustersOptions(threshold=threshold, keep=keep, star=star, ignore_decisions=True)

    def make(_: Database, store: Store, progress: Progress) -> Survey[Any]:
        survey = survey_clusters if kind == "clusters" else survey_pairs
        return survey(store, request, progress)

    return visit.wait_for((kind, threshold, keep, star), make)


def _near(
    visit: Visit, kind: str, asked: Filters, keys: tuple[str, ...]
) -> tuple[Cluster | Pair | None, Neighbours]:
    """The cluster of a key, or a pair, and its neighbours in the list; None if there is none."""
    survey = _survey(visit, kind, asked)
    done = listing.decided(survey, visit.verdicts())
    places = listing.chosen(survey, replace(asked, decided=""), done)
    found = (
        place for place, one in enumerate(survey.items) if all(key in keys_of(one) for key in keys)
    )
    at = next(found, None)

    def name(place: int) -> dict[str, str]:
        one = survey.items[place]
        if isinstance(one, Cluster):
            return {"key": one.keep}
        return {"a": one.a, "b": one.b, "listed": "yes"}

    near = listing.neighbours(places, at, done, asked.decided, name)
    return None if at is None else survey.items[at], near


def cluster(visit: Visit) -> Page:
    """The members of one cluster, some on each page; any of them names it."""
    asked, key = Filters.of(visit.arguments), visit.required("key")
    visit.database.get(key)
    found, near = _near(visit, "clusters", asked, (key,))
    if not isinstance(found, Cluster):
        raise lshdb.KeyNotFound(
            f"{key!r:.100} is in no cluster: no document is similar enough to it"
        )
    verdicts = visit.verdicts()
    one = listing.described(found, verdicts)
    members = one["members"]
    one["members"], paging = _some(visit, members, _MEMBERS)
    known = visit.store.known([member["key"] for member in one["members"]])
    sizes = visit.store.byte_lengths(np.array([one.doc_id for one in known.values()], np.int64))
    size_of = dict(zip(known, sizes.tolist(), strict=True))
    for member in one["members"]:
        member["bytes"] = size_of.get(member["key"], 0)
    one["threshold"] = asked.number("threshold") or visit.database.settings.threshold
    view: dict[str, Any] = {"asked": asked, "near": near}
    if visit.review is not None:
        view |= _form(visit, [member["key"] for member in members[:MAX_MEMBERS]])
        view["left"] = [
            view["places"][member["key"]]
            for member in one["members"]
            if member["key"] in view["places"] and listing.is_left(member, one, verdicts)
        ]
    data = {"cluster": one, "list": near, "paging": paging}
    return Page("cluster", f"A cluster of {visit.name}", data, view)


def _cluster_rows(some: Sequence[Cluster], verdicts: Verdicts) -> Rows:
    """The members of clusters as rows; clusters are numbered from 1 in the order shown."""

    def rows() -> Iterator[tuple[object, ...]]:
        for number, one in enumerate(some, 1):
            for key, score, same in zip(one.members, one.similarities, one.identical, strict=True):
                decided = listing.verdict_on(key, one.keep, verdicts)
                yield number, key, one.keep, score, one.exact, same, decided

    return ("cluster", "key", "keep", "similarity", "exact", "identical", "decided"), rows()


def _pair_rows(some: Sequence[Pair], verdicts: Verdicts) -> Rows:
    names = ("a", "b", "similarity", "exact", "identical", "different")
    described = (_pair(one, verdicts) for one in some)
    return names, ([one[name] for name in names] for one in described)


def _download(visit: Visit, found: Rows) -> Page:
    """A file of JSON lines or CSV, some hundred rows at a time."""
    form = visit.arguments["format"]
    names, rows = found
    if form == "jsonl":
        kind, lines = "application/x-ndjson", json_lines(names, rows)
    elif form == "csv":
        kind, lines = "text/csv", csv_lines(chain([names], rows))
    else:
        raise lshdb.UsageError(f"format {form!r:.50} is not csv or jsonl")
    texts = iter(lambda: b"".join(islice(lines, _ROWS_AT_ONCE)), b"")
    return Page("", "", download=(f"{kind}; charset=utf-8", texts))


@dataclass(frozen=True, slots=True)
class Paging:
    """The number of a page, of all pages, and of all items."""

    page: int
    pages: int
    things: int


def _some(visit: Visit, things: list[_T], most: int) -> tuple[list[_T], Paging]:
    page = listing.natural(visit.arguments.get("page", "1"), "page")
    pages = max(math.ceil(len(things) / most), 1)
    if page > pages:
        raise lshdb.KeyNotFound(f"there is no page {page:,}: the last is page {pages:,}")
    return things[(page - 1) * most : page * most], Paging(page, pages, len(things))


# deciding


def _form(visit: Visit, keys: Sequence[str]) -> dict[str, Any]:
    """In a review, the documents of a page's form as they are now."""
    if visit.review is None:
        return {}
    known = visit.store.known(keys)
    documents = [(each, known[each].digest.hex()) for each in keys if each in known]
    return {
        "documents": dumps(documents),
        "places": {each: place for place, (each, _) in enumerate(documents)},
    }


def _back(arguments: Mapping[str, str]) -> str:
    return urlencode({name: text for name, text in arguments.items() if name != "finished"})


def decide(visit: Visit) -> Page:
    """Store the decision of a form, or undo one; then show the next page."""
    posted, review = visit.posted, visit.review
    if posted is None or review is None:
        raise lshdb.KeyNotFound("there is no such page")
    review.check(posted)
    came_from = posted.get("page", "")
    if came_from not in _FORMS:
        raise lshdb.UsageError("the form lacks its page: load the page again")
    back = dict(parse_qsl(posted.get("back", ""), keep_blank_values=True))

    def act() -> tuple[str, dict[str, str]]:
        if undone := posted.get("undo"):
            return _undone(came_from, back, review.undo(undone))
        documents = documents_of(posted.get("documents", ""))
        review.decide(posted.get("action", ""), documents, posted.get("note", ""))
        if came_from == "cluster" or (came_from == "compare" and "listed" in back):
            with suppress(Waiting):
                return _next(visit, came_from, back)
        return came_from, back

    return Page("decide", "", redirect=review.once(posted.get("form", ""), act))


def _undone(
    page: str, back: dict[str, str], made: Sequence[Decision]
) -> tuple[str, dict[str, str]]:
    """Back to the documents whose decision was undone."""
    keys = [key for one in made for key in one.keys]
    back.pop("page", None)
    if page in ("cluster", "document"):
        back["key"] = keys[0]
    elif page == "compare" and len(keys) == 2:
        back["a"], back["b"] = keys
    return page, back


def _next(visit: Visit, page: str, back: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The next pair of the list, or if this cluster is now decided the next undecided one."""
    asked = Filters.of(back)
    if page == "cluster":
        key = _argument(back, "key") or ""
        found, near = _near(visit, "clusters", replace(asked, decided="no"), (key,))
        verdicts = visit.verdicts()
        if not isinstance(found, Cluster) or not verdicts.of_cluster(found):
            return page, back
    else:
        pair = _argument(back, "a") or "", _argument(back, "b") or ""
        _, near = _near(visit, "pairs", asked, pair)
    if near.following is None:
        return "decisions", {"finished": page}
    for name in ("page", "a_quoted", "b_quoted", "key_quoted"):
        back.pop(name, None)
    return page, back | near.following


def decisions(visit: Visit) -> Page:
    """All decisions, and the documents that would be removed."""
    made = visit.database.decisions()[::-1]
    dropped = sorted(one.keys[0] for one in made if one.verdict == "drop" and one.state == "holds")
    some, paging = _some(visit, made, _DECISIONS)
    data = {
        "decisions": some,
        "paging": paging,
        "drop": len(dropped),
        "dropped": dropped[:_DROPPED],
        "command": f"lshdb remove -d {shlex.quote(str(visit.database.path))} --decided",
    }
    view = {"finished": visit.arguments.get("finished")}
    return Page("decisions", f"Decisions about {visit.name}", data, view)


# a text that is pasted, and SQL


def query(visit: Visit) -> Page:
    """A box for a text, and the documents similar to it, under their own address."""
    given = visit.arguments if visit.posted is None else visit.posted
    name = visit.arguments.get("pasted")
    text = pasted.kept(name or "") if visit.posted is None else visit.posted.get("text", "")
    asked = {name: given[name] for name in _ASKED if given.get(name, "").strip()}
    data: dict[str, Any] = {
        "text": text or "",
        "query": None,
        "passages": None,
        "problem": None,
    }
    view = {
        "settings": visit.database.settings,
        "pasted": name,
        "given": asked,
        "longest": LONGEST_QUERY,
    }
    page = Page("query", f"Query {visit.name}", data, view)
    try:
        if text is None and name is not None:
            raise lshdb.InputError("the text of this address is not kept any more: paste it")
        if text is None:
            return page
        content = _content_of(visit, text)
        if visit.posted is not None:
            _threshold(visit, given)
            return replace(page, redirect=("query", {"pasted": pasted.keep(text), **asked}))
        data["query"] = _matches(visit, content)
        if visit.database.settings.passages and isinstance(content, str):
            data["passages"] = visit.database.passages(content, top=_SOURCES)
    except (lshdb.UsageError, lshdb.ContentError, lshdb.InputError) as error:
        data["problem"] = str(error)
        return replace(page, status=400)
    return page


def _content_of(visit: Visit, text: str) -> Content:
    from lshdb.sources.readers import Reader

    if not text.strip():
        raise lshdb.InputError("paste a document into the box first")
    if len(text) > LONGEST_QUERY:
        raise lshdb.InputError(
            f"the text has {len(text):,} characters, and a page takes {LONGEST_QUERY:,}: "
            "use lshdb query"
        )
    return Reader(of_sets=visit.database.settings.shingling.of_sets).content_of(text)


def sql(visit: Visit) -> Page:
    """What `lshdb sql` shows of a statement, for a limited time and number of rows."""
    statement = visit.arguments.get("sql", "").strip()
    data: dict[str, Any] = {"sql": statement, "columns": [], "rows": [], "cut": False}
    page = Page("sql", f"SQL of {visit.name}", data | {"problem": None}, {"tables": _TABLES})
    if not statement:
        return page
    try:
        names, found = visit.store.sql(statement, (), _SQL_SECONDS)
        with closing(found) as rows:  # type: ignore[type-var]  # a generator
            size = 0
            for row in rows:
                if data["cut"]:
                    break
                data["rows"].append(row)
                size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
                data["cut"] = size > _SQL_CHARACTERS or len(data["rows"]) == _SQL_ROWS
            else:
                data["cut"] = False
    except lshdb.QueryError as error:
        return replace(page, data=data | {"problem": str(error)}, status=400)
    return replace(page, data=data | {"columns": names, "problem": None})


_TABLES: Final = (
    *("documents", "settings", "signatures", "bands", "fingerprints", "files", "decisions"),
    *("buckets", "bucket_members", "candidate_pairs"),
)
PAGES: Final[Mapping[str, Callable[[Visit], Page]]] = {
    "": overview,
    "find": find,
    "document": document,
    "compare": compare,
    "pairs": pairs,
    "clusters": clusters,
    "cluster": cluster,
    "decide": decide,
    "decisions": decisions,
    "query": query,
    "sql": sql,
}
POSTED: Final = frozenset(["query"])
"""Pages that accept a form."""
REVIEWED: Final = frozenset(["decide"])
"""Those that accept one in a review, and change the file."""
_FORMS: Final = frozenset(["cluster", "compare", "document", "decisions"])
"""Pages that have forms to decide."""
