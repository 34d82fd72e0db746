"""The values that each page shows, as plain objects, of which a template makes HTML, `.json` JSON.

The database is open for reading, and all work is bounded.
"""

import contextlib
import dataclasses
import hashlib
import math
import shlex
import threading
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode

import lshdb
from lshdb import (
    Cluster,
    Comparison,
    Database,
    Decision,
    Document,
    Pair,
    groups,
    json_text,
)
from lshdb.apps.compare import beside
from lshdb.apps.compare.differences import shown_rows
from lshdb.apps.review import changes, listing, reviewing
from lshdb.apps.review.beginnings import UNKNOWN, beginnings_of
from lshdb.apps.review.file_state import state_of
from lshdb.apps.review.listing import Filters, Flag, Listing, Number, Text, held_decisions
from lshdb.apps.web import page_file
from lshdb.apps.web.computing import ResultCache, Stage
from lshdb.apps.web.rendering import Page, similarity_scale, snippet
from lshdb.apps.web.statements import KEYS_CONTAINING
from lshdb.apps.words.model import WordMatches
from lshdb.database import store_of
from lshdb.errors import limits_noted
from lshdb.options import (
    ClustersOptions,
    JoinOptions,
    SimilarOptions,
)
from lshdb.progress import Progress
from lshdb.read.paths import is_copy_name
from lshdb.sketch.settings import recall_at, settings_record
from lshdb.store.rows import checked
from lshdb.text.shingling import Content

LONGEST_QUERY = 200_000
"""Maximum characters of a pasted text."""
_PASTED = 100
"""Maximum number of pasted texts kept in memory: some 20 million characters at most."""
_ROWS = 50
"""Matches or pairs on a page."""
_SOURCES = 20
"""Maximum number of documents on a document's page that share passages with it."""
_MAX_HITS = 30
"""Maximum number of keys, and of documents by their contents, that a search shows."""
_LOOKING = 0.07
"""Maximum seconds in which contents are searched: nobody should wait longer."""
_SEARCHED = 250_000
"""Maximum number of keys that are searched, in about the same time."""
_MAX_WORDS = 10
_DROPPED = 500
"""Maximum number of documents to drop that a page lists."""
_PART_LINES = 500
"""Lines of a download that are made and sent together: some 10 ms of work."""
_LARGEST = 6
"""Clusters on the overview."""
_CLUSTERS = 20
"""Clusters on a page."""
_LINES = 100
"""Presses that made decisions, on a page."""
_PREVIEW = 4
_KEYS = 5
"""Keys shown of each verdict of a press."""
_MEMBERS = 20
"""Members of a cluster on a page."""
_TEXT = 50_000
"""Characters shown of a text."""
_ELEMENTS = 1_000
"""Elements shown of a set."""
_CHIPS = 12
"""Copied passages to which a page of two texts has links."""
_COMPARED = 2
"""Comparisons kept in memory: a comparison of the longest texts takes some 60 MB."""
_T = TypeVar("_T")
_Options = TypeVar("_Options", bound=groups.Options)
_results = ResultCache()
_comparisons = ResultCache(_COMPARED)
_pasted: dict[str, str] = {}
"""The last pasted texts by the names that addresses have, so that Back and Reload work."""
_lock = threading.Lock()


# addresses


class QueryFields(groups.Options):
    """How a page finds the documents similar to a document or a pasted text."""

    containment: Flag = False
    exhaustive: Flag = False


class Address(groups.Options):
    """The fields of all pages."""

    filters: Filters
    similar: QueryFields
    page: Annotated[int, groups.Option("Of several.", min=1, max=10**6)] = 1
    key: Text = ""
    a: Text = ""
    b: Text = ""
    q: Text = ""  # what to find
    after: Number = None  # the number of a document, after which the search goes on
    pasted: Text = ""  # the name of a text
    only: Number = None  # equal lines shown around those that differ; None for all
    listed: Flag = False  # the pair is shown as a part of the list
    clustered: Flag = False  # the pair is shown as a part of its cluster
    finished: Text = ""  # the page whose list is finished
    format: Annotated[Literal["jsonl"] | None, groups.Option("Of a file to download.")] = None


def parsed(group: type[_Options], texts: Mapping[str, str]) -> _Options:
    """The fields of a group, from the texts of an address or a form.

    A form has a key quoted, as browsers change the line ends of texts.

    Raises:
        UsageError: a field has another type or is out of range; the message names it.
    """
    values: dict[str, object] = {}
    for name, option in group.declared.items():
        text = texts.get(name) or unquote(texts.get(f"{name}_quoted", ""))
        kind = groups.without_none(option.annotation)
        if kind in (int, float) and (text := text.strip()):
            try:
                values[name] = kind(text)
            except ValueError:
                values[name] = text  # the group says what is wrong with it
        elif text:
            values[name] = kind is bool or text
    return group(**values)


def texts_of(names: Iterable[str], fields: Mapping[str, str]) -> dict[str, str]:
    """The texts of those fields that are not empty, for other addresses."""
    return {name: text for name in names if (text := fields.get(name))}


class Waiting(Exception):
    """A result is being computed for the first time; `Visit.waiting` has its name."""


@dataclasses.dataclass(slots=True)
class Visit:
    """One request: the open database, the arguments, and what every page shows.

    Attributes:
        address: the arguments with their types.
        notes: warnings about limits.
        outdated: whether the file has changed since a result was computed.
        waiting: the progress of results that are being computed, by the first part of their names.
        results: the cache of results.
    """

    database: Database
    name: str
    arguments: Mapping[str, str]
    posted: Mapping[str, str] | None = None
    review: reviewing.Review | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    outdated: bool = False
    waiting: dict[str, Stage] = dataclasses.field(default_factory=dict)
    results: ResultCache = _results
    address: Address = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.address = parsed(Address, self.arguments)

    def required(self, name: str) -> str:
        """A required argument."""
        text: str = getattr(self.address, name)
        if not text:
            raise lshdb.UsageError(f"the address lacks {name}=")
        return text

    def wait_for(
        self,
        name: tuple[Any, ...],
        make: Callable[[Database, Progress], _T],
        results: ResultCache | None = None,
    ) -> _T:
        """A slow result, which another thread computes with a Database of its own.

        Args:
            name: names the result; a page that waits shows the first part.
            make: computes the result.
            results: the cache; by default that of the visit.

        Raises:
            Waiting: it is computed for the first time.
        """
        path = store_of(self.database).real_path

        def run(progress: Progress) -> _T:
            with page_file.opened(self.database.path, beside=self.database) as database:
                return make(database, progress)

        state = state_of(path) if self.review is None else self.review.state()
        results = results or self.results
        # A page waits once, however many results it needs.
        seconds = 0.0 if self.waiting else self.database.limits.page_seconds
        result = results.get((path, name), state, run, seconds)
        if isinstance(result, Stage):
            self.waiting[name[0]] = result
            raise Waiting
        self.notes += map(str, result.notes)
        self.outdated |= result.state != state
        return result.value

    def page(self, name: str) -> Page:
        """A page with what every page shows; in a review, with the reviewer's last decisions."""
        with limits_noted() as notes:
            try:
                page = PAGES[name](self)
            except Waiting:
                keys = [key for key in (self.address.a, self.address.b) if key]
                page = Page("waiting", " and ".join(keys) or self.name)
        data = {
            "notes": [*self.notes, *map(str, notes)],
            "outdated": self.outdated,
            "waiting": self.waiting,
        }
        settings = self.database.settings
        threshold = self.address.filters.threshold or settings.threshold
        view = {
            # Without what follows `#`: Chromium does not load an address with that again by itself.
            "again": f"?{urlencode(self.arguments)}",
            "address": self.address,
            "filters": texts_of(Filters.declared, self.arguments),
            "settings": settings,
            "scale": similarity_scale(threshold, settings.shingling),
        }
        if self.review is not None and page.template in _FORMS:
            form = self.review.form(self.database)
            last, listed = form["last"], page.view.get("listed")
            decided = {*last.dropped, *last.kept, *last.different} if last else None
            number = listed.number_of(decided) if listed and decided else None
            view |= form | {"back": urlencode(self.arguments), "last_number": number}
        return dataclasses.replace(page, data=page.data | data, view=page.view | view)


# overview


def overview(visit: Visit) -> Page:
    """The near duplicates of a database, and its settings."""
    info = visit.database.info()
    data: dict[str, Any] = {
        **{name: value for name, value in vars(info).items() if name != "tables"},
        "name": visit.name,
        "settings": settings_record(info.settings),
        "clusters": None,
        "pairs": None,
    }
    with contextlib.suppress(Waiting):
        listed = _listing(visit, "clusters", Filters())
        largest = [listed.described(item, _PREVIEW) for item in listed.items[:_LARGEST]]
        data["clusters"] = listed.counts | {"largest": largest, "sizes": listed.survey.picture}
        data["titles"] = changes.titles_of(visit.database, (item["keep"] for item in largest))
    with contextlib.suppress(Waiting):
        listed = _listing(visit, "pairs", Filters())
        data["pairs"] = listed.counts | {"similarities": listed.survey.picture}
    view = {"file": shlex.quote(str(visit.database.path))}
    if not info.documents:
        return Page("empty", f"{visit.name} has no documents yet", data, view)
    return Page("overview", visit.name, data, view)


# documents


def document(visit: Visit) -> Page:
    """One document with its near duplicates."""
    database, key = visit.database, visit.required("key")
    stored = database.get(key)
    content = stored.content
    verdicts = held_decisions(visit.database)
    data = {
        "key": key,
        "number": stored.doc_id,
        "metadata": stored.metadata,
        "decided": verdicts.of_key.get(key),
        "length": None if content is None else len(content),
        "content": content and content[: _TEXT if isinstance(content, str) else _ELEMENTS],
        "shingles": stored.shingles,
        **_similar_documents(visit, key=key),
        "buckets": database.buckets(key),
    }
    matches = [match.key for match in data["query"]["matches"]]
    data["titles"] = changes.titles_of(database, [key, *matches])
    code = isinstance(content, str) and (
        database.settings.shingling.of_programs or beside.looks_like_code(content)
    )
    view = {"verdicts": verdicts.of_key, "code": code}
    return Page("document", key, data, view | _form(visit, [key]))


def _similar_documents(
    visit: Visit, content: Content | None = None, key: str | None = None
) -> dict[str, Any]:
    """A page of the documents similar to a content or a stored document, and how they were found.

    In a file with an index of passages also the passages that it shares with stored documents.
    """
    database, address, page = visit.database, visit.address, visit.address.page
    settings = database.settings
    matches = database.query(
        content,
        key=key,
        top=page * _ROWS + 1,
        threshold=address.filters.threshold,
        containment=address.similar.containment,
        exhaustive=address.similar.exhaustive,
    )
    minimum = address.filters.threshold or settings.threshold
    query = {
        "matches": matches[(page - 1) * _ROWS : page * _ROWS],
        "page": page,
        "first": (page - 1) * _ROWS + 1,
        "more": len(matches) > page * _ROWS,
        "threshold": minimum,
        "recall": recall_at(settings, minimum),
    }
    passages = None
    if settings.passages:  # of texts
        passages = database.passages(
            text=None if content is None else str(content), key=key, top=_SOURCES
        )
    return {"query": query, "passages": passages}


def find(visit: Visit) -> Page:
    """Documents whose keys or contents match the search."""
    search, after = visit.address.q.strip(), visit.address.after or 0
    words = search.split()[:_MAX_WORDS]
    if search in visit.database:
        return Page("find", "", redirect=("document", {"key": search}))
    keys: list[str] = []
    if words and not after:
        # Accents may be part of letters, or characters of their own, as on macOS.
        composed, apart = (unicodedata.normalize(form, search.lower()) for form in ("NFC", "NFD"))
        store = store_of(visit.database)
        rows = store.rows(KEYS_CONTAINING, composed, _SEARCHED, _MAX_HITS, apart)
        keys = [checked(key, str) for (key,) in rows]
    contents = visit.database.settings.content
    matches = WordMatches((), None)
    if words and contents:
        matches = visit.database.find_words(words, after=after, top=_MAX_HITS, seconds=_LOOKING)
    data = {
        "q": search,
        "keys": keys,
        "hits": [
            {"key": key, "pieces": snippet(content, words)} for key, content in matches.documents
        ],
        "further": matches.following,
        "after": after,
        "contents": contents,
        "max_found": _MAX_HITS,
    }
    return Page("find", f"Find in {visit.name}", data)


# two documents


def compare(visit: Visit) -> Page:
    """Two documents side by side."""
    address, b = visit.address, visit.required("b")
    if address.pasted:
        title = "the text given"
        left: str | Document = Document(title, _content_of(visit, _kept(address.pasted)))
    else:
        title = left = visit.required("a")

    def make(
        database: Database, _: Progress
    ) -> tuple[Comparison, beside.Beside | None, beside.Sets | None]:
        compared = database.compare(left, b)
        texts, sets = beside.contents_beside(
            database,
            compared.a_content,
            compared.b_content,
            elements=_ELEMENTS,
            passages=compared.passages or (),
        )
        return dataclasses.replace(compared, a_content=None, b_content=None), texts, sets

    verdicts = held_decisions(visit.database)
    decided = {
        "a": None if address.pasted else verdicts.of_key.get(title),
        "b": verdicts.of_key.get(b),
        "different": verdicts.apart(title, b),
    }
    name = "compare", address.pasted, title, b
    comparison, texts, sets = visit.wait_for(name, make, _comparisons)
    data = {"a": title, "b": b, "decided": decided, "comparison": comparison, "sets": sets}
    data["fields"] = {} if address.pasted else _differing_fields(visit.database, title, b)
    arguments = {name: text for name, text in visit.arguments.items() if name != "page"}
    view: dict[str, Any] = {"arguments": arguments, "texts": texts}
    view["near"] = None
    if texts is not None:
        shown = shown_rows(texts.rows, address.only)
        page_indices, paging = _on_page(visit, shown, beside.PART_ROWS)
        page = address.page
        page_starts = [0, *shown[beside.PART_ROWS :: beside.PART_ROWS], len(texts.rows)]
        view["page_of"] = partial(bisect_right, page_starts[:-1])
        data |= {
            "says": texts.says,
            "renames": texts.renames,
            "differences": len(texts.starts),
            "copied": texts.chips(_CHIPS),
            "rows": list(beside.lines_of(texts, page_indices, *page_starts[page - 1 : page + 1])),
            "paging": paging,
        }
    if address.listed:
        listed = _listing(visit, "pairs", address.filters)
        _, near = listed.neighbours(title, b)
        data["list"] = view["near"] = near
        view["listed"] = listed
    elif address.clustered:
        view |= _in_cluster(visit, title, b)
        data["list"] = view["near"]
    view |= {} if address.pasted else _form(visit, [title, b])
    return Page("compare", f"{title} and {b}", data, view)


def _differing_fields(database: Database, a: str, b: str) -> dict[str, tuple[Any, Any]]:
    """The fields that differ in the metadata of two documents, or in contents that are objects."""
    left, right = map(_fields, (database.get(a), database.get(b)))
    values = {name: (left.get(name), right.get(name)) for name in {**left, **right}}
    return {name: pair for name, pair in values.items() if pair[0] != pair[1]}


def _fields(document: lshdb.StoredDocument) -> dict[str, Any]:
    """The fields of a document's metadata, and those of a JSON object that is its content."""
    content: Any = document.content
    with contextlib.suppress(RecursionError, TypeError, ValueError):
        content = json_text.loads(content.encode()) if content[:1] == "{" else None
    fields = content if isinstance(content, dict) else {}
    return {**fields, **(document.metadata or {})}


def _in_cluster(visit: Visit, a: str, b: str) -> dict[str, Any]:
    """How the page of two documents of a cluster leads on: to its next pair, or the next cluster.

    It leads nowhere once they are in different clusters.
    """
    listed = _listing(visit, "clusters", visit.address.filters)
    item, near = listed.neighbours(a, b)
    if not isinstance(item, Cluster):
        return {"near": None}
    pair = listed.pair_after(item, a, b, skipped=True)
    following = near.following and ("cluster", near.following)
    if pair is not None:
        following = "compare", {"a": pair[0], "b": pair[1], "clustered": "yes"}
    return {"near": near, "cluster": item.keep, "following": following, "listed": listed}


# clusters and pairs


def clusters(visit: Visit) -> Page:
    """A page of the clusters of similar documents, filtered and sorted."""
    return _list(visit, "clusters", _CLUSTERS)


def pairs(visit: Visit) -> Page:
    """A page of the pairs of similar documents, filtered and sorted."""
    return _list(visit, "pairs", _ROWS)


def _list(visit: Visit, kind: str, size: int) -> Page:
    """A page of the clusters or the pairs, or all of them as a download of JSON lines."""
    listed = _listing(visit, kind, visit.address.filters)
    survey, numbered = listed.survey, list(enumerate(listed.items, 1))

    def shown(number: int, item: Cluster | Pair, count: int | None = None) -> dict[str, Any]:
        return {"number": number, **listed.described(item, count)}

    if visit.address.format:
        lines = (json_text.encode(shown(*entry)) + b"\n" for entry in numbered)
        texts = iter(lambda: b"".join(islice(lines, _PART_LINES)), b"")
        return Page("", "", download=texts)
    entries, paging = _on_page(visit, numbered, size)
    items = [shown(*entry, _PREVIEW) for entry in entries]
    keys = [member["key"] for item in items for member in item.get("members", ())]
    keys += [item[side] for item in items for side in "ab" if side in item]
    data = listed.counts | {
        "facets": listed.facets,
        "paging": paging,
        kind: items,
        "titles": changes.titles_of(visit.database, keys),
    }
    if kind == "pairs":
        data["drawn_from"] = listed.drawn_from
    view: dict[str, Any] = {"sorts": listing.SORTS[kind]}
    if kind == "clusters" and visit.review is not None:
        documents, drop_copies, copies = visit.review.copies(visit.database, survey.items)
        view |= {
            "documents": json_text.dumps(documents),
            "drop_copies": drop_copies,
            "copies": copies,
            "rule": listing.rule_words(visit.address.filters.clusters.order),
            "listed": listed,
        }
    return Page(kind, kind.capitalize(), data, view)


def _listing(visit: Visit, kind: str, filters: Filters) -> Listing:
    """A list of clusters or pairs, found without decisions, which would change it in a review."""
    # Clusters of one document take longer: they are computed only if the filters want them.
    min_size = 1 if kind == "clusters" and 1 in (filters.smallest, filters.largest) else None
    request = ClustersOptions(
        join=JoinOptions(
            similar=SimilarOptions(threshold=filters.threshold), ignore_decisions=True
        ),
        clusters=filters.clusters,
        min_size=min_size,
    )

    def make(database: Database, progress: Progress) -> listing.Survey[Any]:
        if kind == "clusters":
            return listing.survey_clusters(database, request, progress)
        return listing.survey_pairs(database, request.join, progress)

    survey = visit.wait_for(_survey_name(kind, filters, min_size), make)
    return Listing(survey, held_decisions(visit.database), filters)


def _survey_name(kind: str, filters: Filters, min_size: int | None = None) -> tuple[Any, ...]:
    return kind, filters.threshold, *groups.values_of(filters.clusters).values(), min_size


def cluster(visit: Visit) -> Page:
    """A page of the members of a cluster; the key of any member names the cluster."""
    address, key = visit.address, visit.required("key")
    visit.database.get(key)
    listed = _listing(visit, "clusters", address.filters)
    item, near = listed.neighbours(key)
    if not isinstance(item, Cluster):
        raise lshdb.KeyNotFound(
            f"{key!r:.100} is in no cluster: no document is similar enough to it"
        )
    described = listed.described(item)
    members = described["members"]
    page_members, paging = _on_page(visit, members, _MEMBERS)
    described["members"] = _with_texts(visit, item.keep, page_members)
    keys = [member["key"] for member in members[: reviewing.MAX_MEMBERS]]
    shown = (member for member in described["members"] if member["key"] == item.keep)
    kept_title = next((member["title"] for member in shown), "")
    view = {
        "near": near,
        "kept_title": kept_title,
        "copies_only": all(map(is_copy_name, item.members)),
        "listed": listed,
        **_form(visit, keys),
    }
    data = {"cluster": described, "list": near, "paging": paging}
    return Page("cluster", f"Cluster of {kept_title or item.keep}", data, view)


def _with_texts(visit: Visit, kept: str, members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Members of a cluster with their titles, and their first differences from the kept one."""
    shown_keys = [member["key"] for member in members]
    starts = beginnings_of(store_of(visit.database), [kept, *shown_keys])
    others = [
        member["key"] for member in members if member["key"] != kept and not member["same_text"]
    ]
    differing = changes.changes_from(visit.database, kept, others)
    return [
        member
        | {
            "bytes": start.bytes,
            "title": start.title,
            "date": start.date,
            "source": start.source,
            "lines": start.lines if member["key"] == kept else "",
            "changes": differing.get(member["key"]),
        }
        for member in members
        for start in [starts.get(member["key"], UNKNOWN)]
    ]


def _on_page(visit: Visit, entries: list[_T], size: int) -> tuple[list[_T], dict[str, int]]:
    """The entries on the address's page; its number, and how many pages and entries there are.

    Raises:
        KeyNotFound: there is no such page.
    """
    page, pages = visit.address.page, max(math.ceil(len(entries) / size), 1)
    if page > pages:
        raise lshdb.KeyNotFound(f"there is no page {page:,}: the last is page {pages:,}")
    return entries[(page - 1) * size : page * size], {
        "page": page,
        "pages": pages,
        "things": len(entries),
    }


# deciding


def _form(visit: Visit, keys: Sequence[str]) -> dict[str, Any]:
    """In a review, the documents of a page's form with their present digests; else nothing."""
    if visit.review is None:
        return {}
    documents = reviewing.as_stored(visit.database, keys)
    return {
        "documents": json_text.dumps(documents),
        "indices": {key: index for index, (key, _) in enumerate(documents)},
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
        chosen = " ".join(name[7:] for name in posted if name.startswith("chosen "))
        action = posted.get("action", "").replace("chosen", chosen)
        review.decide(action, documents, posted.get("note", ""))
        if came_from == "cluster" or (came_from == "compare" and {"listed", "clustered"} & {*back}):
            with contextlib.suppress(Waiting):
                return _next(visit, came_from, back)
        return came_from, back

    return Page("decide", "", redirect=review.once(posted.get("form", ""), act))


def _undone(page: str, undone: Sequence[Decision]) -> dict[str, str]:
    """The part of a page's address that names the documents whose decisions were undone."""
    keys = [key for decision in undone for key in decision.keys]
    if page in ("cluster", "document"):
        return {"key": keys[0], "page": "1"}
    return {"a": keys[0], "b": keys[1]} if page == "compare" and len(keys) == 2 else {}


def _next(visit: Visit, page: str, back: dict[str, str]) -> reviewing.Next:
    """The page after a decision: the next pair of the list or of the cluster, or the next cluster.

    The next cluster is an undecided one. A cluster on which something is left to decide stays.
    """
    address = parsed(Address, back)
    if page == "compare" and address.listed:
        _, near = _listing(visit, "pairs", address.filters).neighbours(address.a, address.b)
        if near.following is None:
            return "decisions", {"finished": page}
        return page, back | {"page": "1"} | near.following
    address = parsed(Address, back | {"decided": "no"})
    listed = _listing(visit, "clusters", address.filters)
    named = [address.key] if page == "cluster" else [address.a, address.b]
    item, near = listed.neighbours(*named)
    if isinstance(item, Cluster) and page == "compare":
        if pair := listed.pair_after(item, address.a, address.b):
            return page, back | {"page": "1", "a": pair[0], "b": pair[1]}
    elif isinstance(item, Cluster) and not held_decisions(visit.database).settled(item.members):
        open_pages = [
            index // _MEMBERS + 1
            for index, member in enumerate(listed.described(item)["members"])
            if member["key"] != item.keep and not member["decided"]
        ]
        if open_pages and address.page not in open_pages:
            behind = (number for number in open_pages if number > address.page)
            back["page"] = str(next(behind, open_pages[0]))
        return page, back
    if near.following is None:
        return "decisions", {"finished": "cluster"}
    kept_fields = texts_of(Filters.declared, back)
    return "cluster", kept_fields | near.following


def decisions(visit: Visit) -> Page:
    """All decisions, and the documents that would be removed."""
    newest_first = visit.database.decisions()[::-1]
    dropped = visit.database.remove_decided(dry_run=True)
    pressed, paging = _on_page(visit, reviewing.presses(newest_first), _LINES)
    alone = {key for press in pressed if not press.kept for key in press.dropped}
    staying = _staying(visit, alone)
    rows = [_described(visit, press, staying) for press in pressed]
    data = {
        "presses": rows,
        "titles": changes.titles_of(visit.database, (row["keys"][0] for row in rows)),
        "paging": paging,
        "drop": len(dropped),
        "dropped": dropped[:_DROPPED],
        "command": f"lshdb remove -d {shlex.quote(str(visit.database.path))} --decided",
    }
    return Page("decisions", f"Decisions about {visit.name}", data)


def _staying(visit: Visit, dropped: set[str]) -> dict[str, str]:
    """What stays in place of dropped documents, if their clusters are computed already."""
    name = store_of(visit.database).real_path, _survey_name("clusters", Filters())
    survey = visit.results.known(name) if dropped else None
    staying: dict[str, str] = {}
    if survey is None:
        return staying
    of_key = held_decisions(visit.database).of_key
    for item in survey.items:
        if not dropped.isdisjoint(item.members):
            left = [key for key in (item.keep, *item.members) if of_key.get(key) != "drop"]
            left.sort(key=lambda key: of_key.get(key) != "keep")
            staying |= dict.fromkeys(dropped.intersection(item.members), next(iter(left), ""))
    return staying


def _described(visit: Visit, press: reviewing.Press, staying: Mapping[str, str]) -> dict[str, Any]:
    """What a press decided as a page shows it: how much, the first keys, and what it frees."""
    first = press.decisions[-1]  # the newest decisions come first
    held = {decision.keys[0] for decision in press.decisions if decision.state == "holds"}
    freed = [key for key in press.dropped if key in held]
    stored = store_of(visit.database).beginnings(freed, 0)
    sizes = {key: length for key, (_, _, length) in stored.items()}
    instead = press.kept or list(dict.fromkeys(staying.get(key, "") for key in press.dropped))
    states = {decision.state for decision in press.decisions}
    documents = {"drop": press.dropped, "keep": press.kept, "different": press.different}
    return {
        "decision": first.decision,
        "decided": first.decided,
        "who": first.who,
        "note": first.note,
        "state": "partly" if len(states) > 1 else next(iter(states)),
        "verdicts": {verdict: len(keys) for verdict, keys in documents.items() if keys},
        "keys": (press.dropped or press.kept or press.different)[::-1][:_KEYS],
        "instead": [key for key in instead[::-1] if key][:_KEYS] if press.dropped else [],
        "bytes": sum(sizes.values()),
    }


# a text that is pasted


def query(visit: Visit) -> Page:
    """A box for a text; the documents similar to the text have an address of their own."""
    posted, name = visit.posted, visit.address.pasted
    arguments = visit.arguments if posted is None else posted
    fields = texts_of(("threshold", *QueryFields.declared), arguments)
    text = None if posted is None else posted.get("text", "")
    if name:
        text = _kept(name)
    data: dict[str, Any] = {"text": text or "", "query": None, "passages": None, "problem": None}
    view = {"fields": fields, "longest": LONGEST_QUERY}
    page = Page("query", f"Query {visit.name}", data, view)
    if text is None:
        return page
    try:
        content = _content_of(visit, text)
        if posted is not None:
            parsed(Address, posted)
            return dataclasses.replace(page, redirect=("query", {"pasted": _keep(text), **fields}))
        data |= _similar_documents(visit, content)
        matches = [match.key for match in data["query"]["matches"]]
        data["titles"] = changes.titles_of(visit.database, matches)
    except (lshdb.UsageError, lshdb.ContentError, lshdb.InputError) as error:
        data["problem"] = str(error)
        return dataclasses.replace(page, status=400)
    return page


def _keep(text: str) -> str:
    """Keep a text, and return its name, which nobody can guess without the text."""
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with _lock:
        _pasted.pop(name, None)
        _pasted[name] = text
        if len(_pasted) > _PASTED:
            del _pasted[next(iter(_pasted))]
    return name


def _kept(name: str) -> str:
    """The text with a name; KeyNotFound if it is not kept any more."""
    with _lock:
        if name in _pasted:
            return _pasted[name]
    raise lshdb.KeyNotFound("the text of this address is not kept any more: paste it again")


def _content_of(visit: Visit, text: str) -> Content:
    from lshdb.read.records import RecordOptions

    if not text.strip():
        raise lshdb.InputError("paste a document into the box first")
    if len(text) > LONGEST_QUERY:
        raise lshdb.InputError(
            f"the text has {len(text):,} characters, and a page takes {LONGEST_QUERY:,}: "
            "use lshdb query"
        )
    return RecordOptions(visit.database.settings.shingling.of_sets).content_of(text)


_VIEWS = (find, document, compare, pairs, clusters, cluster, decide, decisions, query)
PAGES: Mapping[str, Callable[[Visit], Page]] = {
    "": overview,
    **{view.__name__: view for view in _VIEWS},
}
_FORMS = frozenset(["cluster", "clusters", "compare", "document", "decisions"])
"""Pages that have forms to decide."""
