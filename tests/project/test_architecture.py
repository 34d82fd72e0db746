"""The rooms of the package: their order, their doors, and what importing them costs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import FrameType

import pytest
from direct_command import DirectCommand
from direct_command import command as command
from helpers import ROOT, parsed, unmeasured

import lshdb
from lshdb.store.schema import PARTS

PACKAGE = Path(lshdb.__file__).parent
ROOMS = (
    (
        "errors",
        "formatting",
        "groups",
        "json_schema",
        "json_text",
        "keys",
        "limits",
        "progress",
        "results",
        "templates",
        "workers",
    ),
    ("shingling",),
    ("sketching",),
    ("model",),
    ("columns",),
    ("options",),
    ("store",),
    ("sources",),
    ("search",),
    ("ingest",),
    ("tuning",),
    ("maintenance",),
    ("exchange",),
    ("deduplication",),
    ("database",),
    ("opening",),
    ("service",),
    ("review",),
    ("shards", "__init__"),
    ("agents", "gate"),
    ("web", "spark"),
    ("cli",),
    ("__main__", "spark.__main__"),
)
"""Folders, and modules beside them, from the ground up: each imports only from those below."""
OUTER = ("agents", "gate", "spark", "web")
"""They import what `import lshdb` offers to everybody, lshdb.review, and the modules below."""
KERNELS = {
    # what every interface for users is made of
    "errors": "how limits that were reached are noted",
    "formatting": "numbers and counts as people read them",
    "groups": "what an option is: addresses declare theirs",
    "json_schema": "descriptions of forms",
    "json_text": "JSON in which any text survives",
    "keys": "what may be a key",
    "options": "the options of methods, for calls that hand them on",
    "progress": "what reports how far a job is",
    "templates": "the filters that all HTML uses",
    "workers": "the gate counts tokens in another process",
    # kernels: Spark runs them on executors, without a file; others show what they show
    "columns": "Spark's DataFrames have the columns of results",
    "shingling.arrays": "arrays",
    "shingling.boilerplate": "the gate names what it leaves out",
    "shingling.content": "Spark stores documents",
    "shingling.hashing": "Spark hashes windows",
    "shingling.line_ends": "the gate counts the words that passages count",
    "shingling.positions": "the gate counts tokens",
    "shingling.shingles": "Spark counts shingles that pairs share",
    "shingling.shingling": "the type of contents",
    "shingling.winnowing": "Spark finds fingerprints",
    "sketching.constructions": "a page draws the curve; Spark counts bands",
    "sketching.settings": "settings as names and values",
    "sketching.signing": "Spark signs documents",
    "search.decisions": "pages count how reviewers agree",
    "search.differences": "tools and pages show changed words",
    "search.evidence": "reports show all that connects pairs",
    "shingling.tokens": "reports hide names in each file of a folder",
    "model": "reports have rows of their own",
    "search.passage_runs": "Spark compares pairs",
    "search.passage_windows": "Spark leaves out common windows",
    "search.passages": "Spark measures what texts copy",
    "search.query": "a tool says how a threshold is searched",
    "search.similarity": "Spark compares pairs",
    "deduplication.containing": "Spark finds what contains others by the same proof",
    "deduplication.rules": "Spark has the same rules",
    "deduplication.run": "Spark refuses the same plans",
    "deduplication.whole_texts": "Spark looks for short texts of a reference",
    "tuning.resolve": "Spark chooses settings as a new file does",
    "shards": "Spark writes a database in each task, and reads them",
    "sources.extracting": "a page names the file of a message",
    "sources.git": "the gate reads which lines a branch changed",
    "sources.metadata": "Spark names fields of metadata",
    "sources.paths": "names of files as keys, and as people read them",
    "sources.session": "the gate and class reports read files as `add` does",
    "sources.records": "Spark finds fields of records",
    # what works with files, and has no place in the interface
    "ingest.folder_documents": "a class report has folders in place of documents",
}
"""What else the interfaces in OUTER import, and for what."""
FLOORS = {name: floor for floor, names in enumerate(ROOMS) for name in names}
FOLDERS = [name for name in FLOORS if (PACKAGE / name).is_dir()]
ALONE = "sources.documents"
"""The package that a process runs without the rest of lshdb, so they name each other only."""
OTHER_FILES = {"options.pyi", "py.typed", "schema.sql", "format_6.sql"}
OTHER_FILES |= {f"{part}.sql" for part in PARTS}

PATHS = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
"""The files of the modules, by their names without `lshdb.`."""


class Module:
    """What the tests ask about a module: its page, texts and imports, wherever in it they are."""

    def __init__(self, path: Path) -> None:
        tree = parsed(path.read_text("utf-8"))
        self.page = ast.get_docstring(tree) or ""
        self.texts: list[str] = []
        self.is_relative = False
        names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.texts.append(node.value)
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                self.is_relative |= node.level > 0
                module = f"lshdb.{ALONE}." * (node.level > 0) + (node.module or "")
                for alias in node.names:
                    name = f"{module.strip('.')}.{alias.name}"
                    names.add(name if name.removeprefix("lshdb.") in PATHS else module.strip("."))
        inner = {"__init__" if name == "lshdb" else name.removeprefix("lshdb.") for name in names}
        self.own = inner & PATHS.keys()
        """The modules of lshdb that it imports, without `lshdb.`."""
        self.foreign = {name.partition(".")[0] for name in names} - {"lshdb"}
        """The packages outside lshdb that it imports."""


@cache
def modules() -> dict[str, Module]:
    """All of them."""
    return {name: Module(path) for name, path in PATHS.items()}


def test_imports_are_absolute() -> None:
    """But for those of a package that also runs without lshdb."""
    relative = {name for name, module in modules().items() if module.is_relative}
    assert {name.rpartition(".")[0] for name in relative} == {ALONE}
    inside = {name for name in PATHS if name.startswith(f"{ALONE}.")}
    assert {name for module in inside for name in modules()[module].own} <= {ALONE, *inside}


def room_of(module: str) -> str:
    """The room that a module stands in: a folder, or the module itself."""
    room = module if module in FLOORS else module.partition(".")[0]
    assert room in FLOORS, f"{module} stands in no room: give it its place in ROOMS"
    return room


def doors_of(room: str) -> set[str]:
    """The modules of a room that others import, as its page says."""
    found = re.search(r"^Doors: (.*?)\.$", modules()[room].page, re.DOTALL | re.MULTILINE)
    assert found is not None, f"the page of lshdb/{room} names no doors"
    return set(found[1].replace("\n", " ").split(", "))


def in_fresh_python(code: str, directory: Path) -> str:
    """What a program prints that runs in a separate Python."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=directory,
        env=unmeasured(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


# rooms


def test_every_module_and_file_of_the_root_is_known() -> None:
    assert {"__init__", "database", "store.store", "cli.app"} <= PATHS.keys()
    assert {room_of(name) for name in PATHS} == FLOORS.keys()
    modules = {path.name for path in PACKAGE.glob("*.py")}
    assert modules == {f"{name}.py" for name in FLOORS if name not in FOLDERS} - {
        "spark.__main__.py"
    }
    others = {path.name for path in PACKAGE.iterdir() if path.is_file()} - modules
    assert others == OTHER_FILES


def test_imports_point_to_rooms_below() -> None:
    upward = {
        (module, name)
        for module in PATHS
        for name in modules()[module].own
        if (room := room_of(module)) != (other := room_of(name))
        if FLOORS[other] >= FLOORS[room] and not {room, other} <= {*ROOMS[0]}
    }
    assert not upward


def test_interfaces_use_what_the_package_offers() -> None:
    """Else what they need is missing for users, too."""
    used = {
        name
        for module in PATHS
        if (room := room_of(module)) in OUTER
        for name in modules()[module].own
        if room_of(name) not in {room, "__init__", "review"} and module != "spark.__main__"
    }
    # `from lshdb import sources` and the like name a room, and then a module of it.
    assert used - set(FOLDERS) == set(KERNELS)


def test_imports_make_no_circle() -> None:
    graph = {name: modules()[name].own for name in PATHS}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("errors") < order.index("store.store") < order.index("database")


def test_adding_takes_the_hops_that_are_drawn(command: DirectCommand) -> None:
    """From the command on; decorators of methods are no hop, nor are functions of one module."""
    names: list[str] = []

    def trace(frame: FrameType | None, event: str, _: object) -> None:
        if frame and event == "call" and frame.f_code.co_qualname == "Store.insert":
            sys.setprofile(None)
            while frame:
                file = frame.f_code.co_filename.removeprefix(f"{PACKAGE}/")
                names.insert(0, f"{file}: {frame.f_code.co_name}")
                frame = frame.f_back

    sys.setprofile(trace)
    command.done("add", "-", stdin='{"id": 1, "text": "The fox and the grapes"}')
    drawn = re.findall(
        r"^ {6}(\S+\.py: \w+)  ", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE
    )
    hops = [name for name in names[names.index(drawn[0]) :] if not name.startswith("groups.py")]
    entered = dict.fromkeys(name.partition(":")[0] for name in hops)
    assert [*entered] == [name.partition(":")[0] for name in drawn]
    assert len(drawn) == 5
    assert set(drawn) <= set(hops)


@pytest.mark.parametrize("room", FOLDERS)
def test_a_room_is_entered_by_its_doors(room: str) -> None:
    names = {name for module in PATHS if room_of(module) != room for name in modules()[module].own}
    used = {name.partition(".")[2] for name in names if name.partition(".")[0] == room}
    assert used - {""} == doors_of(room)


@pytest.mark.parametrize("room", FOLDERS)
def test_the_page_of_a_room_names_its_modules(room: str) -> None:
    page = modules()[room].page
    assert len(page.splitlines()) <= 25
    if room != "cli":  # where app has a table of the modules
        inside = {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__", "__main__"}
        assert {name for name in inside if not re.search(rf"\b{name}\b", page)} == set()


@pytest.mark.parametrize(
    ("package", "rooms"),
    # A bar is shown in notebooks as well, and only if somebody asks for it.
    [("sqlite3", {"store"}), ("typer", {"cli"}), ("rich", {"cli", "progress"})],
)
def test_a_package_is_known_in_its_room_only(package: str, rooms: set[str]) -> None:
    users = {room_of(name) for name, module in modules().items() if package in module.foreign}
    assert users == rooms


@pytest.mark.parametrize(
    ("room", "pattern"),
    [
        ("store", r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|PRAGMA|CREATE) "),
        ("", r"(?s).*</?(a|b|bdi|body|div|h[1-6]|li|mark|p|span|t[adhr]|table|ul|svg)\b[^<]*>"),
    ],
    ids=["SQL in the store only", "HTML in templates only"],
)
def test_no_text_elsewhere_is(room: str, pattern: str) -> None:
    texts = {
        (name, text)
        for name, module in modules().items()
        if room_of(name) != room
        for text in module.texts
        if re.match(pattern, text)
    }
    assert not texts


# dependencies


def test_dependencies_are_those_imported() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    required = {line.split(">")[0] for line in pyproject["project"]["dependencies"]}
    assert required == {"numpy", "orjson", "pathspec", "rapidfuzz", "rich", "typer", "xxhash"}
    # What extras bring, by the room or module that loads it.
    extras = {
        "agents": {"mcp", "mcp_types", "pydantic"},
        "sources": {"pyarrow"},
        "sources.documents.__main__": {"documents"},
        "sources.documents.books": {"lxml"},
        "sources.documents.encodings": {"chardet"},
        "sources.documents.packages": {"lxml"},
        "sources.documents.pdf": {"pypdfium2"},
        "sources.documents.rtf": {"striprtf"},
        "sources.documents.sheets": {"python_calamine"},
        "sources.documents.web": {"lxml", "selectolax"},
        "exchange": {"pandas", "pyarrow"},
        "templates": {"jinja2"},
        "cli.results": {"pyarrow"},
        "cli.on_spark": {"pyspark"},
        "cli.spark_dedup": {"pyspark"},
        "cli.spark_passages": {"pyspark"},
        "web": {"anyio", "datasette", "jinja2", "markupsafe", "starlette", "uvicorn"},
        "spark": {"pyarrow", "pyspark"},
    }
    everywhere: set[str] = set()
    for module in PATHS:
        own = extras.get(module, set()) | extras.get(room_of(module).partition(".")[0], set())
        everywhere |= modules()[module].foreign - own
    everywhere -= sys.stdlib_module_names
    assert everywhere == required


def test_importing_lshdb_imports_nothing_else(tmp_path: Path) -> None:
    code = (
        "import json, sys; before = set(sys.modules); import lshdb; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = set(json.loads(in_fresh_python(code, tmp_path)))
    assert {name for name in loaded if name.startswith("lshdb")} == {"lshdb"}
    assert not loaded & {"numpy", "xxhash", "sqlite3", "typer", "rich"}


def test_a_query_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from lshdb.cli.app import main\n"
        "sys.argv = ['lshdb', 'query', '--text', 'the fox and the grapes']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules)"
    )
    loaded = set(in_fresh_python(code, tmp_path).split())
    assert "lshdb.search.query" in loaded
    assert not loaded & {
        "concurrent.futures",
        "datasette",
        "hashlib",
        "lshdb.search.compare",
        "lshdb.search.passages",
        "lshdb.shingling.boilerplate",
        "lshdb.shingling.families",
        "lshdb.sources.records",
        "lshdb.ingest",
        "lshdb.maintenance",
        "lshdb.search.pairs",
        "lshdb.web",
        "lshdb.spark",
        "rich",
    }
