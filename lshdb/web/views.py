"""The values that each page shows. The database is open for reading, and all work is bounded."""

from __future__ import annotations

import math
import shlex
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode

import lshdb
from lshdb.database import Database
from lshdb.errors import limits_noted, warn_of_limit
from lshdb.formatting import shortened
from lshdb.json_text import dumps
from lshdb.limits import DEFAULTS
from lshdb.model import Bucket, Cluster, Comparison, Content, Decision, Document, Passage
from lshdb.progress import Progress
from lshdb.search.decisions import Verdicts
from lshdb.search.limits import text_cut
from lshdb.search.pairs import Request
from lshdb.sketching.constructions import candidate_probability
from lshdb.sources.sinks import csv_lines, json_lines
from lshdb.store.store import Store
from lshdb.web import beside, listing, pasted, surveys
from lshdb.web.beside import Beside
from lshdb.web.drawing import Bar, bars, columns, s_curve
from lshdb.web.listing import Filters
from lshdb.web.rendering import Page, snippet
from lshdb.web.results import Results, state_of
from lshdb.web.reviewing import MAX_MEMBERS, Review
from lshdb.web.surveys import ClusterSurvey, PairSurvey

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
_INDEX_SECONDS: Final = 1.0
"""Seconds for a full-text index, which takes a hundredth of that, except on a slow disk."""
_MAX_WORDS: Final = 10
_DROPPED: Final = 500
"""Documents to drop that a page lists."""
_DECISIONS: Final = 100
"""Decisions on a page."""
_ROWS_AT_ONCE: Final = 500
"""Rows of a file to download that are sent at once: some 10 ms of work."""
_BUCKETS: Final = 10
_LARGEST: Final = 6
"""Clusters on the overview."""
_CLUSTERS: Final = 20
"""Clusters on a page."""
_MEMBERS: Final = 100
"""Members of a cluster on a page."""
_PREVIEW: Final = 4
_TEXT: Final = 50_000
"""Characters shown of a text."""
_ELEMENTS: Final = 1_000
"""Elements shown of a set."""
_COMPARED: Final = 2
"""Comparisons kept in memory: one of the longest texts takes some 60 MB."""
_COUNTED: Final = 4_000_000
"""Maximum characters of a text whose distinct shingles are counted for a page."""

_T = TypeVar("_T")
_S = TypeVar("_S", ClusterSurvey, PairSurvey)
_results: Final = Results()
_comparisons: Final = Results(_COMPARED)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: the open database, and the arguments."""

    database: Database
    store: Store
    name: str
    arguments: Mapping[str, str]
    posted: Mapping[str, str] | None
    review: Review | None = None

    def required(self, name: str) -> str:
        """A required argument; forms quote keys, as browsers change line ends."""
        found = _argument(self.arguments, name)
        if found is None:
            raise lshdb.UsageError(f"the address lacks {name}=")
        return found


def _argument(given: Mapping[str, str], name: str) -> str | None:
    quoted = given.get(f"{name}_quoted")
    return given.get(name, None if quoted is None else unquote(quoted))


@contextmanager
def opened(path: Path) -> Iterator[tuple[Database, Store]]:
    """A file opened read-only for the system too: pages cannot change it."""
    store = Store.open(path, "read", TIMEOUT, sealed=True)
    with Database(store) as database:
        yield database, store


def _wait_for(
    visit: Visit,
    what: tuple[Any, ...],
    make: Callable[[Database, Store, Progress], _T],
    context: dict[str, Any],
    results: Results | None = None,
) -> _T | None:
    """A slow result, computed with its own handle; None while it is computed for the first time.

    Adds to `context` the values of every page with such a result: whether the browser reloads, and
    the progress, under the first part of its name, `what`.
    """
    path = visit.database.path

    def run(progress: Progress) -> _T:
        with opened(path) as (database, store):
            return make(database, store, progress)

    state = state_of(path) if visit.review is None else visit.review.state()
    results = results or _results
    # A page waits once, however many results it needs.
    seconds = 0.0 if context.get("refresh") else visit.store.limits.page_seconds
    found = results.get((path, what), state, run, seconds)
    context.setdefault("waiting", {})[what[0]] = results.progress((path, what))
    for name in ("refresh", "outdated", "notes"):
        context.setdefault(name, ())
    if found is None:
        context["refresh"] = True
        return None
    context["notes"] = (*context["notes"], *found.notes)
    context["outdated"] = context["outdated"] or found.state != state
    return found.value


# overview


def overview(visit: Visit) -> Page:
    """The near duplicates of a database, and below them its index."""
    info = visit.database.info()
    context: dict[str, Any] = {
        "info": info,
        "settings": info.settings,
        "curve": s_curve(info.settings.construction, info.settings.threshold),
    }
    survey = context["survey"] = _cluster_survey(visit, Filters(), context)
    if survey is not None:
        context["redundant"] = survey.redundant()
        places = listing.chosen_clusters(survey, Filters(), Verdicts([]))[:_LARGEST]
        context["clusters"] = [survey.cluster(place) for place in places]
        verdicts = Verdicts(visit.database.decisions())
        context["decided"] = len(listing.decided_clusters(survey, verdicts))
    pairs = context["pairs"] = _pair_survey(visit, Filters(), context)
    context["histogram"] = None if pairs is None else columns(pairs.histogram)

    def buckets(database: Database, *_: object) -> tuple[list[Bar], list[Bucket]]:
        return bars(database.buckets_of_size()), database.buckets(_BUCKETS)

    found = _wait_for(visit, ("buckets",), buckets, context)
    context["bars"], context["largest"] = found or (None, None)
    return Page("overview", visit.name, context)


# documents


def document(visit: Visit) -> Page:
    """One document with its near duplicates."""
    database, key = visit.database, visit.required("key")
    stored = database.get(key)
    content = stored.content
    distinct = None
    if content is not None and len(content) <= _COUNTED:
        distinct = database.count_distinct(stored)
    context: dict[str, Any] = {
        "stored": stored,
        "settings": database.settings,
        "fields": {name: _field(value) for name, value in (stored.metadata or {}).items()},
        "distinct": distinct,
        "buckets": database.buckets_of(key),
        "verdicts": Verdicts(database.decisions()),
        "passages": None,
        "text": content[:_TEXT] if isinstance(content, str) else None,
        "elements": content[:_ELEMENTS] if isinstance(content, tuple) else None,
    }
    if visit.review is not None:
        context |= _form(visit, key, [key])
    with limits_noted() as notes:
        context["query"] = _matches(visit, key=key)
        if database.settings.passages:
            context["passages"] = database.passages(key=key, top=_SOURCES)
            context["unit"] = context["passages"].unit
    context["notes"] = notes
    return Page("document", key, context)


def _field(value: object) -> str:
    """A value of metadata, as text."""
    text = value if isinstance(value, str) else dumps(value)
    return shortened(text, _LONGEST_FIELD)


def _matches(
    visit: Visit, content: Content | None = None, key: str | None = None
) -> dict[str, Any]:
    """The documents similar to one, some on each page, and how they were found."""
    database = visit.database
    least = _threshold(visit, visit.arguments)
    contained, exhaustive = ("containment" in visit.arguments), ("exhaustive" in visit.arguments)
    page = min(_natural(visit.arguments.get("page", "1"), "page"), _MAX_PAGES)
    found = database.query(
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
        "least": least,
        "exhaustive": exhaustive,
        "containment": contained,
        "recall": candidate_probability(least, database.settings.construction) or 0.0,
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
    after = 0 if given is None or not words else _natural(given, "after")
    keys: list[str] = []
    if words and given is None:
        keys = visit.store.keys_containing(asked, _FOUND, _LOOKING)
    hits: list[tuple[str, str]] = []
    further: int | None = None
    index, scan = "", "scan" in visit.arguments
    contents = visit.database.settings.content
    if words and contents:
        found = None
        if not scan:
            found = visit.store.documents_in_text_index(words, after, _FOUND, _INDEX_SECONDS)
        if found is not None and found.usable and not found.found and not after:
            # The index may miss parts of words, and be damaged.
            found, scan = None, True
        if found is not None:
            index = "used" if found.usable else "unusable"
            hits = [(key, content) for _, key, content in found.found]
        if found is not None and len(hits) == _FOUND:
            further = found.found[-1][0]
        else:
            # Documents that are not in the index, or all.
            last = after if found is None else max(after, found.newest)
            more, further = visit.store.documents_with(words, last, _FOUND - len(hits), _LOOKING)
            hits += more
    context = {
        "q": asked,
        "keys": keys,
        "hits": [(key, snippet(content, words)) for key, content in hits],
        "further": further,
        "after": after,
        "index": index,
        "scan": "yes" if scan else None,
        "contents": contents,
        "most": _FOUND,
    }
    return Page("find", f"Find in {visit.name}", context)


# two documents


def compare(visit: Visit) -> Page:
    """Two documents side by side."""
    b = visit.required("b")
    arguments = {
        field: visit.arguments[field]
        for field in ("a", "b", "pasted", "number", "blanks", *Filters.names())
        if field in visit.arguments
    } | {"b": b}
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
    context: dict[str, Any] = {"compared": None, "given": name is not None, "a": title, "b": b}
    context["verdicts"] = Verdicts(visit.database.decisions())
    context["arguments"] = arguments
    page = Page("compare", f"{title} and {b}", context)
    blanks = visit.arguments.get("blanks") != "ignored"

    def make(database: Database, *_: object) -> tuple[Comparison, Beside | None, Any]:
        made = database.compare(one, b)
        left, right = made.a_content, made.b_content
        texts = only = None
        if isinstance(left, str) and isinstance(right, str):
            passages = made.passages or ()
            texts = beside.texts_beside(
                left, right, keys=(title, b), passages=passages, blanks=blanks
            )
            if texts.cut:
                warn_of_limit(text_cut(texts.cut, DEFAULTS.text_characters))
        elif isinstance(left, tuple) and isinstance(right, tuple):
            only = beside.sets_beside(left, right)
        return replace(made, a_content=None, b_content=None), texts, only

    what = ("compare", name or title, name is None, b, blanks)
    found = _wait_for(visit, what, make, context, _comparisons)
    if found is None:
        return page
    context["compared"], texts, context["only"] = found
    context["most_elements"] = _ELEMENTS
    if texts is not None:
        context |= _side_by_side(visit, texts, found[0].passages or ())
    if "number" in visit.arguments:
        asked = context["asked"] = Filters.of(visit.arguments)
        survey = _pair_survey(visit, asked, {})
        if survey is not None:
            number = _natural(visit.arguments["number"], "number")
            places = listing.chosen_pairs(survey, asked, context["verdicts"])
            context["beside"] = _beside(places, number - 1, partial(_pair_at, survey, places))
    if visit.review is not None and name is None:
        context |= _form(visit, title, [title, b])
    return page


def _side_by_side(visit: Visit, found: Beside, passages: Sequence[Passage]) -> dict[str, Any]:
    """The rows of one page of two texts, and where the others are."""
    only = "only" in visit.arguments
    opened = beside.opened_rows(visit.arguments.get("more", "")) if only else []
    page = _natural(visit.arguments.get("page", "1"), "page")
    lines, begins = beside.part_of(found, page, only=only, opened=opened)
    more = ",".join(f"{low}-{high}" for low, high in opened)
    return {
        "says": found.says,
        "code": found.code,
        "lines": lines,
        "count": len(found.starts),
        "starts": found.starts,
        "page_of": lambda place: bisect_right(begins, place),
        "paging": Paging(page, len(begins), len(found.differences.rows)),
        "only_differences": only,
        "more": more,
        "step": beside.STEP,
        "passages": beside.longest_passages(found, passages),
        # Of all rows, and of those that this page may show.
        "row_page": lambda place: place // beside.PART_ROWS + 1,
        "view": {"only": "differences" if only else None, "more": more or None},
    }


# clusters and pairs


def clusters(visit: Visit) -> Page:
    """The groups of similar documents, filtered and sorted, some on each page."""
    page, survey, some = _list(
        visit, "clusters", _cluster_survey, listing.chosen_clusters, _cluster_rows, _CLUSTERS
    )
    page.context["sorts"] = listing.SORTS_OF_CLUSTERS
    if survey is not None:
        shown = [(number, survey.cluster(place)) for number, place in some]
        page.context["clusters"] = [
            (number, one, listing.nearest(one, _PREVIEW)) for number, one in shown
        ]
        page.context["redundant"] = survey.redundant()
        page.context["decided"] = len(listing.decided_clusters(survey, page.context["verdicts"]))
    return page


def pairs(visit: Visit) -> Page:
    """The pairs of similar documents, filtered and sorted, some on each page."""
    page, survey, some = _list(
        visit, "pairs", _pair_survey, listing.chosen_pairs, _pair_rows, _PAIRS
    )
    page.context.update(sorts=listing.SORTS_OF_PAIRS, pairs=some, best=surveys.BEST_PAIRS)
    if survey is not None:
        page.context["decided"] = listing.decided_pairs(survey, page.context["verdicts"])
    return page


def _list(
    visit: Visit,
    name: str,
    survey_of: Callable[[Visit, Filters, dict[str, Any]], _S | None],
    chosen: Callable[[_S, Filters, Verdicts], list[int]],
    rows: Callable[[_S, Sequence[int], Verdicts], Rows],
    most: int,
) -> tuple[Page, _S | None, list[tuple[int, int]]]:
    """A list as a page or a file; with the survey, and the numbers and places on this page."""
    asked = Filters.of(visit.arguments)
    context: dict[str, Any] = {"survey": None, "asked": asked}
    page = Page(name, f"{name.capitalize()} of {visit.name}", context)
    survey = survey_of(visit, asked, context)
    if survey is None:
        return page, None, []
    verdicts = context["verdicts"] = Verdicts(visit.database.decisions())
    places = chosen(survey, asked, verdicts)
    if (form := visit.arguments.get("format")) is not None:
        return replace(page, download=_download(form, *rows(survey, places, verdicts))), None, []
    some, context["paging"] = _some(visit, list(enumerate(places, 1)), most)
    context["survey"] = survey
    context["facets"] = {
        name: facet.counts() for name, facet in survey.facets.items() if len(facet.values) > 1
    }
    context["settings"] = visit.database.settings
    return page, survey, some


def _cluster_survey(visit: Visit, asked: Filters, context: dict[str, Any]) -> ClusterSurvey | None:
    threshold, star = asked.number("threshold"), bool(asked.star)
    keep: Any = asked.keep or "first"
    # Decisions are left out, so that clusters keep their places during a review.
    request = Request(threshold, False, keep, star, ignore_decisions=True)

    def make(_: Database, store: Store, progress: Progress) -> ClusterSurvey:
        return surveys.survey_clusters(store, request, progress)

    return _wait_for(visit, ("clusters", threshold, keep, star), make, context)


def cluster(visit: Visit) -> Page:
    """The members of one cluster, some on each page; any of them names it."""
    asked, key = Filters.of(visit.arguments), visit.required("key")
    visit.database.get(key)
    context: dict[str, Any] = {"cluster": None, "asked": asked}
    survey = _cluster_survey(visit, asked, context)
    if survey is None:
        return Page("cluster", f"A cluster of {visit.name}", context)
    verdicts = context["verdicts"] = Verdicts(visit.database.decisions())
    places = listing.chosen_clusters(survey, asked, verdicts)
    place = survey.places_of([key]).get(key)
    if place is None:
        raise lshdb.KeyNotFound(
            f"{key!r:.100} is in no cluster: no document is similar enough to it"
        )
    at = places.index(place) if place in places else None
    context["beside"] = _beside(places, at, lambda number: {"key": survey.keep(places[number])})
    one = context["cluster"] = survey.cluster(place)
    context["lengths"] = survey.lengths[survey.members(place)].tolist()
    ordered = listing.nearest(one, len(one.members))
    context["members"], context["paging"] = _some(visit, ordered, _MEMBERS)
    own_threshold = visit.database.settings.threshold
    context["threshold"] = asked.number("threshold") or own_threshold
    if visit.review is not None:
        done = listing.decided_clusters(survey, verdicts)
        context["progress"] = len(done), len(survey)
        context["decided"] = place in done
        context |= _form(visit, one.keep, [one.members[i] for i in ordered[:MAX_MEMBERS]])
        context["left"] = [
            context["places"][key]
            for key in _left(one, verdicts, context["threshold"], context["members"])
            if key in context["places"]
        ]
    return Page("cluster", f"A cluster of {visit.name}", context)


def _left(one: Cluster, verdicts: Verdicts, threshold: float, shown: Sequence[int]) -> list[str]:
    """The undecided members on a page that are similar to the kept one, as at a terminal."""
    if verdicts.of_key.get(one.keep) == "drop":
        return []
    return [
        key
        for key, score in ((one.members[i], one.similarities[i]) for i in shown)
        if key != one.keep
        and score >= threshold
        and key not in verdicts.of_key
        and not verdicts.apart(key, one.keep)
    ]


def _pair_survey(visit: Visit, asked: Filters, context: dict[str, Any]) -> PairSurvey | None:
    threshold = asked.number("threshold")

    def make(_: Database, store: Store, progress: Progress) -> PairSurvey:
        return surveys.survey_pairs(store, threshold, progress)

    return _wait_for(visit, ("pairs", threshold), make, context)


def _beside(
    places: Sequence[int], at: int | None, link: Callable[[int], Mapping[str, object]]
) -> dict[str, Any]:
    """The number of an item in a list, and the links to the items before and after it."""

    def there(step: int) -> Mapping[str, object] | None:
        return link(at + step) if at is not None and 0 <= at + step < len(places) else None

    number = None if at is None else at + 1
    return {"number": number, "count": len(places), "previous": there(-1), "following": there(1)}


def _pair_at(survey: PairSurvey, places: Sequence[int], at: int) -> dict[str, object]:
    """The arguments of the page of a pair in a list."""
    return {"a": survey.a[places[at]], "b": survey.b[places[at]], "number": at + 1}


Rows: TypeAlias = tuple[Sequence[str], Iterator[tuple[object, ...]]]


def _cluster_rows(survey: ClusterSurvey, places: Sequence[int], verdicts: Verdicts) -> Rows:
    """The members of clusters as rows; clusters are numbered from 1 in the order shown."""

    def rows() -> Iterator[tuple[object, ...]]:
        for number, place in enumerate(places, 1):
            one = survey.cluster(place)
            for key, score, same in zip(one.members, one.similarities, one.identical, strict=True):
                decided = verdicts.of_key.get(key)
                if decided is None and verdicts.apart(key, one.keep):
                    decided = "different"
                yield number, key, one.keep, score, one.exact, same, decided

    names = ("cluster", "key", "keep", "similarity", "exact", "identical", "decided")
    return names, rows()


def _pair_rows(survey: PairSurvey, places: Sequence[int], verdicts: Verdicts) -> Rows:
    names = ("a", "b", "similarity", "exact", "identical", "different")
    return names, (
        (
            survey.a[i],
            survey.b[i],
            float(survey.similarities[i]),
            survey.exact,
            bool(survey.identical[i]),
            verdicts.apart(survey.a[i], survey.b[i]),
        )
        for i in places
    )


def _download(
    form: str, names: Sequence[str], rows: Iterator[tuple[object, ...]]
) -> tuple[str, Iterator[str]]:
    """The type of a file of JSON lines or CSV, and its text, some hundred rows at a time."""
    if form == "json":
        kind, lines = "application/x-ndjson", json_lines(names, rows)
    elif form == "csv":
        kind, lines = "text/csv", csv_lines(chain([names], rows))
    else:
        raise lshdb.UsageError(f"format {form!r:.50} is not csv or json")
    texts = iter(lambda: b"".join(islice(lines, _ROWS_AT_ONCE)).decode(), "")
    return f"{kind}; charset=utf-8", texts


@dataclass(frozen=True, slots=True)
class Paging:
    """The number of a page, of all pages, and of all items."""

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
        raise lshdb.UsageError(f"{name} {text!r} is not a number of at least 1")
    return int(text)


# deciding


def _form(visit: Visit, key: str, keys: Sequence[str]) -> dict[str, Any]:
    """The values of a page's form: its documents as they are now, and where it leads back."""
    known = visit.store.known(keys)
    documents = [(each, known[each].digest.hex()) for each in keys if each in known]
    return {
        "documents": dumps(documents),
        "places": {each: place for place, (each, _) in enumerate(documents)},
        "key": key,
        "back": urlencode(
            {name: text for name, text in visit.arguments.items() if name not in _PASSING}
        ),
        "done": visit.arguments.get("done"),
    }


def decide(visit: Visit) -> Page:
    """Store the decision of a form, or undo it; then show the next page."""
    posted, review = visit.posted, visit.review
    if posted is None or review is None:
        raise lshdb.KeyNotFound("there is no such page")
    review.check(posted)
    came_from = posted.get("page", "")
    if came_from not in _FORMS:
        raise lshdb.UsageError("the form lacks its page: load the page again")
    given = parse_qsl(posted.get("back", ""), keep_blank_values=True)
    back = {name: text for name, text in given if name not in _PASSING}
    if undone := posted.get("undo"):
        return Page("decide", "", redirect=_undone(came_from, back, review.undo(undone)))
    back["done"] = review.decide(posted)
    if came_from == "cluster":
        came_from, back = _next_cluster(visit, back)
    elif came_from == "compare" and "number" in back:
        came_from, back = _next_pair(visit, back)
    return Page("decide", "", redirect=(came_from, back))


def _undone(
    page: str, back: dict[str, str], made: Sequence[Decision]
) -> tuple[str, dict[str, str]]:
    """Back to the documents whose decision was undone."""
    keys = [key for one in made for key in one.keys]
    if page == "cluster":
        return page, back | {"key": keys[0]}
    if page == "compare" and len(keys) == 2:
        number = int(back["number"]) - 1 if back.get("number", "").isdigit() else 0
        own = {"number": str(number)} if number > 0 and back.get("decided") != "no" else {}
        return page, back | {"a": keys[0], "b": keys[1]} | own
    return page, back


def _next_cluster(visit: Visit, back: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The next undecided cluster of the list, if this one is now decided."""
    asked = Filters.of(back)
    survey = _cluster_survey(visit, asked, {})
    key = _argument(back, "key")
    place = None if survey is None or key is None else survey.places_of([key]).get(key)
    if survey is None or place is None:
        return "cluster", back
    verdicts = Verdicts(visit.database.decisions())
    decided = listing.decided_clusters(survey, verdicts)
    if place not in decided:
        return "cluster", back
    places = listing.chosen_clusters(survey, replace(asked, decided=""), verdicts)
    at = places.index(place) if place in places else -1
    open_ = [each for each in places[at + 1 :] + places[: at + 1] if each not in decided]
    if not open_:
        return "decisions", {"done": back["done"], "finished": "yes"}
    back.pop("page", None)
    return "cluster", back | {"key": survey.keep(open_[0])}


def _next_pair(visit: Visit, back: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The next pair of the list; of the undecided ones, the one that takes this one's place."""
    asked = Filters.of(back)
    survey = _pair_survey(visit, asked, {})
    number = _natural(back["number"], "number")
    if survey is not None:
        places = listing.chosen_pairs(survey, asked, Verdicts(visit.database.decisions()))
        at = number if asked.decided != "no" else number - 1
        if at < len(places):
            following = _pair_at(survey, places, at)
            for name in ("page", "more"):
                back.pop(name, None)
            return "compare", back | {name: str(value) for name, value in following.items()}
    return "decisions", {"done": back["done"]}


def decisions(visit: Visit) -> Page:
    """All decisions, and the documents that would be removed."""
    made = visit.database.decisions()[::-1]
    context: dict[str, Any] = {
        "dropped": sorted(
            one.keys[0] for one in made if one.verdict == "drop" and one.state == "holds"
        ),
        "most": _DROPPED,
        "command": f"lshdb remove -d {shlex.quote(str(visit.database.path))} --decided",
        "done": visit.arguments.get("done") if visit.review is not None else None,
        "finished": "finished" in visit.arguments,
        "back": "",
    }
    context["decisions"], context["paging"] = _some(visit, made, _DECISIONS)
    return Page("decisions", f"Decisions about {visit.name}", context)


# a text that is pasted


def query(visit: Visit) -> Page:
    """A box for a text, and the documents similar to it, under their own address."""
    given = visit.arguments if visit.posted is None else visit.posted
    name = visit.arguments.get("pasted")
    text = pasted.kept(name or "") if visit.posted is None else visit.posted.get("text", "")
    context: dict[str, Any] = {
        "settings": visit.database.settings,
        "text": text or "",
        "pasted": name,
        "given": {field: given[field] for field in _ASKED if given.get(field, "").strip()},
        "threshold": given.get("threshold", ""),
        "containment": "containment" in given,
        "exhaustive": "exhaustive" in given,
        "query": None,
        "notes": (),
        "longest": LONGEST_QUERY,
        "problem": None,
    }
    page = Page("query", f"Query {visit.name}", context)
    try:
        if text is None and name is not None:
            raise lshdb.InputError("the text of this address is not kept any more: paste it")
        if text is None:
            return page
        content = _content_of(visit, text)
        if visit.posted is not None:
            _threshold(visit, given)
            return replace(
                page, redirect=("query", {"pasted": pasted.keep(text), **context["given"]})
            )
        with limits_noted() as notes:
            context["query"] = _matches(visit, content)
        context["notes"] = notes
    except (lshdb.UsageError, lshdb.ContentError, lshdb.InputError) as error:
        context["problem"] = str(error)
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
}
POSTED: Final = frozenset(["query"])
"""Pages that accept a form."""
REVIEWED: Final = frozenset(["decide"])
"""Those that accept one in a review, and change the file."""
_FORMS: Final = frozenset(["cluster", "compare", "document", "decisions"])
"""Pages that have forms to decide."""
_PASSING: Final = frozenset(["done", "finished"])
"""The argument in addresses for the last decision."""
