"""The values that each page shows, as plain objects: a template makes HTML of them, `.json` JSON.

The database is open for reading, and all work is bounded.
"""

import hashlib
import math
import os
import shlex
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode

import lshdb
from lshdb import Cluster, Comparison, Database, Decision, Document, Pair
from lshdb.errors import limits_noted
from lshdb.formatting import counted, plain, shortened
from lshdb.groups import Option, Options, declared, without_none
from lshdb.json_text import dumps, encode
from lshdb.options import ClustersOptions, PairsOptions, SqlValue
from lshdb.progress import Progress
from lshdb.review import beside, drawing, listing, page_file, reviewing
from lshdb.review.file_state import state_of
from lshdb.review.listing import Filters, Flag, Listing, Number, Text
from lshdb.search.decisions import Verdicts
from lshdb.search.decisions import agreements as agreements_of
from lshdb.search.differences import shown_rows
from lshdb.shingling.shingling import Content
from lshdb.sketching.constructions import candidate_probability
from lshdb.sketching.settings import settings_record
from lshdb.sources.extracting import file_of_message
from lshdb.web.computing import ResultCache, Stage
from lshdb.web.rendering import Page, snippet

LONGEST_QUERY = 200_000
"""Maximum characters of a pasted text."""
_PASTED = 100
"""Pasted texts kept in memory: some 20 million characters of the longest."""
_ROWS = 50
"""Matches or pairs on a page."""
_SOURCES = 20
"""Documents that share passages with one, on its page."""
_FOUND = 30
"""Keys, and documents by their contents, that a search shows."""
_LOOKING = 0.07
"""Seconds in which contents are searched: nobody waits longer."""
_SEARCHED = 250_000
"""Keys that are searched, in as long."""
_MAX_WORDS = 10
_DROPPED = 500
"""Documents to drop that a page lists."""
_LINES_AT_ONCE = 500
"""Lines of a file to download that are sent at once: some 10 ms of work."""
_LARGEST = 6
"""Clusters on the overview."""
_CLUSTERS = 20
"""Clusters on a page."""
_LINES = 100
"""Members of a cluster, or decisions, on a page."""
_PREVIEW = 4
_TEXT = 50_000
"""Characters shown of a text."""
_ELEMENTS = 1_000
"""Elements shown of a set."""
_COMPARED = 2
"""Comparisons kept in memory: one of the longest texts takes some 60 MB."""
_SQL_SECONDS = 2.0
"""Seconds for a visitor's statement."""
_SQL_ROWS = 1_000
_SQL_VALUE = 100_000
"""Characters, or bytes, of a value that a page of SQL shows: the beginning and the end."""
_SQL_CHARACTERS = 2_000_000
"""Characters of all values that a page of SQL has; the row that goes beyond is the last."""

_T = TypeVar("_T")
_Options = TypeVar("_Options", bound=Options)
_results = ResultCache()
_comparisons = ResultCache(_COMPARED)
_pasted: dict[str, str] = {}
"""The newest texts that visitors pasted, under names for addresses: Back and Reload then work."""
_lock = threading.Lock()


# addresses


class Asked(Options):
    """How documents that are similar to one, or to a pasted text, are found."""

    containment: Flag = False
    exhaustive: Flag = False


class Address(Options):
    """The fields of all pages."""

    filters: Filters
    similar: Asked
    page: Annotated[int, Option("Of several.", min=1, max=10**6)] = 1
    key: Text = ""
    a: Text = ""
    b: Text = ""
    q: Text = ""  # what to find
    after: Number = None  # a document, behind which the search goes on
    pasted: Text = ""  # the name of a text
    only: Number = None  # equal lines shown around those that differ; None for all
    blanks: Annotated[Literal["ignored"] | None, Option("Whether they may differ.")] = None
    listed: Flag = False  # a pair is shown as one of the list
    finished: Text = ""  # the page whose list is finished
    format: Annotated[Literal["jsonl"] | None, Option("Of a file to download.")] = None
    sql: Text = ""


def parsed(group: type[_Options], given: Mapping[str, str]) -> _Options:
    """The fields of a group in an address; forms quote keys, as browsers change line ends.

    Raises:
        UsageError: one has another type or is out of range; the message names it.
    """
    values: dict[str, object] = {}
    for name, option in declared(group).items():
        text = given.get(name) or unquote(given.get(f"{name}_quoted", ""))
        kind = without_none(option.annotation)
        if kind in (int, float) and (text := text.strip()):
            try:
                values[name] = kind(text)
            except ValueError:
                values[name] = text  # the group says what is wrong with it
        elif text:
            values[name] = kind is bool or text
    return group(**values)


def texts_of(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """The texts of fields that are given, for other addresses."""
    return {name: text for name in names if (text := given.get(name))}


class Waiting(Exception):
    """A result is being computed for the first time; `Visit.waiting` says which."""


@dataclass(slots=True)
class Visit:
    """One request: the open database, the arguments, and what all pages say.

    Attributes:
        asked: the arguments with their types.
        notes: warnings about limits.
        outdated: whether the file has changed since a result was computed.
        waiting: the progress of results that are being computed, by name.
        results: where these are kept.
    """

    database: Database
    name: str
    arguments: Mapping[str, str]
    posted: Mapping[str, str] | None = None
    review: reviewing.Review | None = None
    open_files: bool = False
    notes: list[str] = field(default_factory=list)
    outdated: bool = False
    waiting: dict[str, Stage] = field(default_factory=dict)
    results: ResultCache = _results
    asked: Address = field(init=False)

    def __post_init__(self) -> None:
        self.asked = parsed(Address, self.arguments)

    def verdicts(self) -> Verdicts:
        """The decisions that hold now; those of the reviewer, if only these count."""
        if self.review is not None:
            return self.review.verdicts(self.database)
        return Verdicts(self.database.decisions())

    def required(self, name: str) -> str:
        """A required argument."""
        found: str = getattr(self.asked, name)
        if not found:
            raise lshdb.UsageError(f"the address lacks {name}=")
        return found

    def wait_for(
        self,
        what: tuple[Any, ...],
        make: Callable[[Database, Progress], _T],
        results: ResultCache | None = None,
    ) -> _T:
        """A slow result, computed with its own handle.

        The first part of its name, `what`, says what is waited for.

        Raises:
            Waiting: it is computed for the first time.
        """
        path = page_file.real_path(self.database)

        def run(progress: Progress) -> _T:
            with page_file.opened(self.database.path, beside=self.database) as database:
                return make(database, progress)

        state = state_of(path) if self.review is None else self.review.state()
        results = results or self.results
        # A page waits once, however many results it needs.
        seconds = 0.0 if self.waiting else self.database.limits.page_seconds
        found = results.get((path, what), state, run, seconds)
        if isinstance(found, Stage):
            self.waiting[what[0]] = found
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
        said = [*self.notes, *map(str, notes)]
        data = {"notes": said, "outdated": self.outdated, "waiting": self.waiting}
        filters = texts_of(declared(Filters), self.arguments)
        view = {"asked": self.asked, "filters": filters, "settings": self.database.settings}
        if self.review is not None and page.template in _FORMS:
            view |= self.review.form(self.database) | {"back": urlencode(self.arguments)}
        return replace(page, data=page.data | data, view=page.view | view)


# overview


def overview(visit: Visit) -> Page:
    """The near duplicates of a database, and below them its settings."""
    info = visit.database.info()
    settings = info.settings
    data: dict[str, Any] = {
        **vars(info),
        "name": visit.name,
        "settings": settings_record(settings),
        "curve": drawing.s_curve(settings.construction, settings.threshold),
        "clusters": None,
        "pairs": None,
    }
    with suppress(Waiting):
        listed = _listing(visit, "clusters", Filters())
        largest = [listed.described(one, _PREVIEW) for one in listed.items[:_LARGEST]]
        data["clusters"] = listed.counts | {"largest": largest, "sizes": listed.survey.picture}
    with suppress(Waiting):
        listed = _listing(visit, "pairs", Filters())
        data["pairs"] = listed.counts | {"similarities": listed.survey.picture}
    return Page("overview", visit.name, data)


# documents


def document(visit: Visit) -> Page:
    """One document with its near duplicates."""
    database, key = visit.database, visit.required("key")
    stored = database.get(key)
    content = stored.content
    verdicts = visit.verdicts()
    data = {
        "key": key,
        "number": stored.doc_id,
        "metadata": stored.metadata,
        "decided": verdicts.of_key.get(key),
        "length": None if content is None else len(content),
        "content": content and content[: _TEXT if isinstance(content, str) else _ELEMENTS],
        "shingles": stored.shingles,
        **_found(visit, key=key),
        "buckets": database.buckets(key),
    }
    file = Path(file_of_message(key) or key).absolute() if visit.open_files else None
    # Not Path.is_file, which raises an error for a key that no file can be called.
    address = file.as_uri() if file and os.path.isfile(file) else None
    view = {"verdicts": verdicts.of_key, "file": address, **_form(visit, [key])}
    return Page("document", key, data, view)


def _found(visit: Visit, content: Content | None = None, key: str | None = None) -> dict[str, Any]:
    """The documents similar to one, some on each page, how they were found; copied passages."""
    database, asked, page = visit.database, visit.asked, visit.asked.page
    settings = database.settings
    found = database.query(
        content,
        key=key,
        top=page * _ROWS + 1,
        threshold=asked.filters.threshold,
        containment=asked.similar.containment,
        exhaustive=asked.similar.exhaustive,
    )
    minimum = asked.filters.threshold or settings.threshold
    query = {
        "matches": found[(page - 1) * _ROWS : page * _ROWS],
        "page": page,
        "first": (page - 1) * _ROWS + 1,
        "more": len(found) > page * _ROWS,
        "threshold": minimum,
        "own_threshold": settings.threshold,
        "exhaustive": asked.similar.exhaustive,
        "containment": asked.similar.containment,
        "recall": candidate_probability(minimum, settings.construction) or 0.0,
    }
    passages = None
    if settings.passages:  # of texts
        text = None if content is None else str(content)
        passages = database.passages(text=text, key=key, top=_SOURCES)
    return {"query": query, "passages": passages}


def find(visit: Visit) -> Page:
    """Documents whose keys or contents match the search."""
    asked, after = visit.asked.q.strip(), visit.asked.after or 0
    words = asked.split()[:_MAX_WORDS]
    if asked in visit.database:
        return Page("find", "", redirect=("document", {"key": asked}))
    keys = (
        page_file.keys_containing(visit.database, asked, _SEARCHED, _FOUND)
        if words and not after
        else []
    )
    contents = visit.database.settings.content
    matches = lshdb.WordMatches((), None)
    if words and contents:
        matches = visit.database.find_words(words, after=after, top=_FOUND, seconds=_LOOKING)
    data = {
        "q": asked,
        "keys": keys,
        "hits": [
            {"key": key, "pieces": snippet(content, words)} for key, content in matches.documents
        ],
        "further": matches.following,
        "after": after,
        "contents": contents,
        "max_found": _FOUND,
    }
    return Page("find", f"Find in {visit.name}", data)


# two documents


def compare(visit: Visit) -> Page:
    """Two documents side by side."""
    asked, b = visit.asked, visit.required("b")
    if asked.pasted:
        title = "the text given"
        one: str | Document = Document(title, _content_of(visit, _kept(asked.pasted)))
    else:
        title = one = visit.required("a")

    def make(
        database: Database, _: Progress
    ) -> tuple[Comparison, beside.Beside | None, beside.Sets | None]:
        made = database.compare(one, b)
        texts, sets = beside.contents_beside(
            database,
            made.a_content,
            made.b_content,
            elements=_ELEMENTS,
            passages=made.passages or (),
            blanks=not asked.blanks,
        )
        return replace(made, a_content=None, b_content=None), texts, sets

    verdicts = visit.verdicts()
    decided = {
        "a": None if asked.pasted else verdicts.of_key.get(title),
        "b": verdicts.of_key.get(b),
        "different": verdicts.apart(title, b),
    }
    what = ("compare", asked.pasted, title, b, asked.blanks)
    comparison, texts, sets = visit.wait_for(what, make, _comparisons)
    data = {"a": title, "b": b, "decided": decided, "comparison": comparison, "sets": sets}
    address = {name: text for name, text in visit.arguments.items() if name != "page"}
    view: dict[str, Any] = {"address": address, "near": None, "texts": texts}
    if texts is not None:
        near = shown_rows(texts.rows, asked.only)
        some, paging = _some(visit, near, beside.PART_ROWS)
        page = asked.page
        begins = [0, *near[beside.PART_ROWS :: beside.PART_ROWS], len(texts.rows)]
        view["page_of"] = partial(bisect_right, begins[:-1])
        data |= {
            "says": texts.says,
            "differences": len(texts.starts),
            "rows": list(beside.lines_of(texts, some, *begins[page - 1 : page + 1])),
            "paging": paging,
        }
    if asked.listed:
        data["list"] = view["near"] = _listing(visit, "pairs", asked.filters).neighbours(title, b)[
            1
        ]
    view |= {} if asked.pasted else _form(visit, [title, b])
    return Page("compare", f"{title} and {b}", data, view)


# clusters and pairs


def clusters(visit: Visit) -> Page:
    """The groups of similar documents, filtered and sorted, some on each page."""
    return _list(visit, "clusters", _CLUSTERS)


def pairs(visit: Visit) -> Page:
    """The pairs of similar documents, filtered and sorted, some on each page."""
    return _list(visit, "pairs", _ROWS)


def _list(visit: Visit, kind: str, size: int) -> Page:
    """One of the two lists, as a page or as a file of JSON lines."""
    listed = _listing(visit, kind, visit.asked.filters)
    survey, numbered = listed.survey, list(enumerate(listed.items, 1))

    def shown(number: int, one: Cluster | Pair, count: int | None = None) -> dict[str, Any]:
        return {"number": number, **listed.described(one, count)}

    if visit.asked.format:
        lines = (encode(shown(*each)) + b"\n" for each in numbered)
        texts = iter(lambda: b"".join(islice(lines, _LINES_AT_ONCE)), b"")
        return Page("", "", download=texts)
    some, paging = _some(visit, numbered, size)
    data = listed.counts | {
        "facets": listed.facets,
        "learned": listed.learned,
        "paging": paging,
        kind: [shown(*each, _PREVIEW) for each in some],
    }
    if kind == "pairs":
        data["drawn_from"] = listed.drawn_from
    view: dict[str, Any] = {"sorts": listed.sorts}
    if kind == "clusters" and visit.review is not None:
        documents, copies = visit.review.copies(visit.database, survey.items)
        view |= {"documents": dumps(documents), "copies": copies}
    return Page(kind, kind.capitalize(), data, view)


def _listing(visit: Visit, kind: str, asked: Filters) -> Listing:
    """A list of clusters or pairs, found without decisions: they keep their places in a review."""
    given = {name: getattr(asked, name) for name in ("threshold", "keep", "star")}
    # Only who asks for single documents waits for them.
    min_size = 1 if kind == "clusters" and 1 in (asked.smallest, asked.largest) else None
    request = ClustersOptions(**given, min_size=min_size, ignore_decisions=True)

    def make(database: Database, progress: Progress) -> listing.Survey[Any]:
        if kind == "clusters":
            return listing.survey_clusters(database, request, progress)
        return listing.survey_pairs(database, request.join, progress)

    return Listing(visit.wait_for((kind, *given.values(), min_size), make), visit.verdicts(), asked)


def cluster(visit: Visit) -> Page:
    """The members of one cluster, some on each page; any of them names it."""
    asked, key = visit.asked, visit.required("key")
    visit.database.get(key)
    listed = _listing(visit, "clusters", asked.filters)
    found, near = listed.neighbours(key)
    if not isinstance(found, Cluster):
        raise lshdb.KeyNotFound(
            f"{key!r:.100} is in no cluster: no document is similar enough to it"
        )
    one = listed.described(found)
    members = one["members"]
    some, paging = _some(visit, members, _LINES)
    size_of = page_file.byte_lengths(visit.database, [member["key"] for member in some])
    one["members"] = [member | {"bytes": size_of.get(member["key"], 0)} for member in some]
    named = [member["key"] for member in members[: reviewing.MAX_MEMBERS]]
    view = {"near": near, **_form(visit, named)}
    one["connections"] = None
    if 2 < len(found.members) <= _CONNECTED:
        request = PairsOptions(threshold=listed.survey.threshold, ignore_decisions=True)
        pairs = page_file.pairs_within(visit.database, found.members, request)
        edges = [(pair.similarity, pair.a, pair.b) for pair in pairs]
        if edges := [edge for edge in edges if not listed.verdicts.apart(*edge[1:])]:
            one["connections"] = drawing.connections(found.members, edges)
    data = {"cluster": one, "list": near, "paging": paging}
    return Page("cluster", f"A cluster of {visit.name}", data, view)


def _some(visit: Visit, things: list[_T], size: int) -> tuple[list[_T], dict[str, int]]:
    """The things on the page asked for; the numbers of it, of all pages, and of all things."""
    page, pages = visit.asked.page, max(math.ceil(len(things) / size), 1)
    if page > pages:
        raise lshdb.KeyNotFound(f"there is no page {page:,}: the last is page {pages:,}")
    return things[(page - 1) * size : page * size], {
        "page": page,
        "pages": pages,
        "things": len(things),
    }


# deciding


def _form(visit: Visit, keys: Sequence[str]) -> dict[str, Any]:
    """In a review, the documents of a page's form as they are now."""
    if visit.review is None:
        return {}
    documents = reviewing.as_stored(visit.database, keys)
    return {
        "documents": dumps(documents),
        "places": {each: place for place, (each, _) in enumerate(documents)},
    }


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

    def act() -> reviewing.Next:
        if undone := posted.get("undo"):
            return came_from, back | _undone(came_from, review.undo(undone))
        documents = reviewing.documents_of(posted.get("documents", ""))
        review.decide(posted.get("action", ""), documents, posted.get("note", ""))
        if came_from == "cluster" or (came_from == "compare" and "listed" in back):
            with suppress(Waiting):
                return _next(visit, came_from, back)
        return came_from, back

    return Page("decide", "", redirect=review.once(posted.get("form", ""), act))


def _undone(page: str, made: Sequence[Decision]) -> dict[str, str]:
    """The documents whose decision was undone, as their page takes them."""
    keys = [key for one in made for key in one.keys]
    if page in ("cluster", "document"):
        return {"key": keys[0], "page": "1"}
    return {"a": keys[0], "b": keys[1]} if page == "compare" and len(keys) == 2 else {}


def _next(visit: Visit, page: str, back: dict[str, str]) -> reviewing.Next:
    """The next pair of the list, or if this cluster is now decided the next undecided one."""
    asked = parsed(Address, back)
    if page == "cluster":
        asked = parsed(Address, back | {"decided": "no"})
        found, near = _listing(visit, "clusters", asked.filters).neighbours(asked.key)
        if isinstance(found, Cluster) and not visit.verdicts().settled(found.members):
            return page, back
    else:
        _, near = _listing(visit, "pairs", asked.filters).neighbours(asked.a, asked.b)
    if near.following is None:
        return "decisions", {"finished": page}
    return page, back | {"page": "1"} | near.following


def decisions(visit: Visit) -> Page:
    """All decisions, and the documents that would be removed."""
    made = visit.database.decisions()[::-1]
    dropped = visit.database.remove_decided(dry_run=True)
    some, paging = _some(visit, made, _LINES)
    agreements, disagreements = agreements_of(made)
    data = {
        "decisions": some,
        "agreements": agreements,
        "disagreements": disagreements[:_DROPPED],
        "paging": paging,
        "drop": len(dropped),
        "dropped": dropped[:_DROPPED],
        "command": f"lshdb remove -d {shlex.quote(str(visit.database.path))} --decided",
    }
    return Page("decisions", f"Decisions about {visit.name}", data)


# a text that is pasted, and SQL


def query(visit: Visit) -> Page:
    """A box for a text, and the documents similar to it, under their own address."""
    posted, name = visit.posted, visit.asked.pasted
    given = visit.arguments if posted is None else posted
    asked = texts_of(("threshold", *declared(Asked)), given)
    text = None if posted is None else posted.get("text", "")
    if name:
        text = _kept(name)
    data: dict[str, Any] = {"text": text or "", "query": None, "passages": None, "problem": None}
    view = {"given": asked, "longest": LONGEST_QUERY}
    page = Page("query", f"Query {visit.name}", data, view)
    if text is None:
        return page
    try:
        content = _content_of(visit, text)
        if posted is not None:
            parsed(Address, posted)
            return replace(page, redirect=("query", {"pasted": _keep(text), **asked}))
        data |= _found(visit, content)
    except (lshdb.UsageError, lshdb.ContentError, lshdb.InputError) as error:
        data["problem"] = str(error)
        return replace(page, status=400)
    return page


def _keep(text: str) -> str:
    """Keep a text; return its name, which cannot be guessed without the text."""
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with _lock:
        _pasted.pop(name, None)
        _pasted[name] = text
        if len(_pasted) > _PASTED:
            del _pasted[next(iter(_pasted))]
    return name


def _kept(name: str) -> str:
    """The text of a name; KeyNotFound if it is not kept any more."""
    with _lock:
        if name in _pasted:
            return _pasted[name]
    raise lshdb.KeyNotFound("the text of this address is not kept any more: paste it again")


def _content_of(visit: Visit, text: str) -> Content:
    from lshdb.sources.records import RecordOptions

    if not text.strip():
        raise lshdb.InputError("paste a document into the box first")
    if len(text) > LONGEST_QUERY:
        raise lshdb.InputError(
            f"the text has {len(text):,} characters, and a page takes {LONGEST_QUERY:,}: "
            "use lshdb query"
        )
    return RecordOptions(visit.database.settings.shingling.of_sets).content_of(text)


def sql(visit: Visit) -> Page:
    """What `lshdb sql` shows of a statement, for a limited time and number of rows."""
    statement = visit.asked.sql.strip()
    data: dict[str, Any] = {
        "sql": statement,
        "columns": [],
        "rows": [],
        "cut": False,
        "problem": None,
    }
    page = Page("sql", "SQL", data, {"tables": _TABLES})
    if not statement:
        return page
    try:
        data["columns"], found = page_file.limited_sql(visit.database, statement, _SQL_SECONDS)
        with closing(found) as rows:  # type: ignore[type-var]  # a generator
            size = long = 0
            for row in rows:
                shown = [_shown(value) for value in row]
                data["rows"].append([cell for cell, _ in shown])
                long += sum(is_cut for _, is_cut in shown)
                size += sum(len(cell) for cell, _ in shown if isinstance(cell, str))
                if size > _SQL_CHARACTERS or len(data["rows"]) == _SQL_ROWS:
                    data["cut"] = next(rows, None) is not None
                    break
        if long:
            visit.notes.append(
                f"{counted(long, 'long value')} shortened to {_SQL_VALUE:,} characters: lshdb sql "
                "shows all"
            )
    except lshdb.QueryError as error:
        data |= {"columns": [], "rows": [], "problem": str(error)}
        return replace(page, status=400)
    return page


def _shown(value: SqlValue) -> tuple[SqlValue, bool]:
    """A value as a page of SQL shows it, a BLOB in hexadecimal; whether it was shortened."""
    if not isinstance(value, str | bytes):
        return value, False
    text = plain(value) if isinstance(value, bytes) else value
    return shortened(text, _SQL_VALUE), len(text) > _SQL_VALUE


_TABLES = (
    *("documents", "settings", "signatures", "bands", "fingerprints", "files", "decisions"),
    *("buckets", "bucket_members", "candidate_pairs"),
)
_VIEWS = (find, document, compare, pairs, clusters, cluster, decide, decisions, query, sql)
PAGES: Mapping[str, Callable[[Visit], Page]] = {
    "": overview,
    **{view.__name__: view for view in _VIEWS},
}
WITHOUT_SQL = frozenset(name for name, view in PAGES.items() if view is not sql)
"""Pages that run no SQL, whatever their address has."""
_CONNECTED = 60
"""Maximum documents of a cluster whose connections are drawn."""
_FORMS = frozenset(["cluster", "clusters", "compare", "document", "decisions"])
"""Pages that have forms to decide."""
