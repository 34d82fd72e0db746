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
from helpers import ROOT, Command, parsed, unmeasured

import lshdb
from lshdb.offers import NEEDS

PACKAGE = Path(lshdb.__file__).parent
ROOMS = (
    (
        "app_methods",
        "errors",
        "formatting",
        "groups",
        "json_text",
        "keys",
        "limits",
        "offers",
        "progress",
        "results",
        "taking",
        "workers",
    ),
    ("text",),
    ("sketch",),
    ("model",),
    ("columns",),
    ("options",),
    ("store",),
    ("read",),
    ("search",),
    ("write",),
    ("maintain",),
    ("database",),
    ("__init__",),
    ("cli",),
    ("__main__", "spark"),
)
"""The core, folders and modules beside them, from the ground up: each imports from those below."""
APPS = {
    app: NEEDS.get(app, set[str]())
    for app in (
        *(
            "keeping",
            "tables",
            "tab_quotes",
            "long_tables",
            "words",
            "documents",
            "ignoring",
            "merging",
            "repair",
            "characters",
            "programs",
            "passages",
            "records",
            "numbers",
            "compare",
            "measuring",
            "review",
            "folders",
            "signatures",
        ),
        *("dedup", "frames", "web", "report", "mcp", "gate", "service", "spark"),
    )
}
"""The apps, from the ground up, and the apps below that each needs; the core imports none."""
WRONG: set[tuple[str, str]] = set()
"""Arrows that point the wrong way today. The list only shrinks."""
FLOORS = {name: floor for floor, names in enumerate(ROOMS) for name in names}
FOLDERS = [name for name in FLOORS if (PACKAGE / name).is_dir()] + [f"apps.{app}" for app in APPS]
ALONE = "apps.documents.extraction"
"""The package that a process runs without the rest of lshdb."""
BESIDE = {"read.encodings", "read.kinds"}
"""What that process imports besides: modules that import nothing of lshdb."""
OTHER_FILES = {"py.typed", "schema.sql"}
OTHER_FILES |= {f"{name}.pyi" for name in ("__init__", "app_methods", "options", "spark", "taking")}

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
                module = node.module or ""
                for alias in node.names:
                    name = f"{module}.{alias.name}"
                    names.add(name if name.removeprefix("lshdb.") in PATHS else module)
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
    assert not [name for name, module in modules().items() if module.is_relative]


def test_what_extracts_imports_nothing_else() -> None:
    inside = {name for name in PATHS if name.startswith(f"{ALONE}.")}
    imported = {name for module in inside for name in modules()[module].own}
    assert imported <= {ALONE, *inside, *BESIDE}
    assert not any(modules()[name].own for name in BESIDE)


def room_of(module: str) -> str:
    """The place of a module: a room of the core, a module beside them, or an app."""
    if module == "apps" or module.startswith("apps."):
        return ".".join(module.split(".")[:2])
    room = module if module in FLOORS else module.partition(".")[0]
    assert room in FLOORS, f"{module} stands in no room: give it its place in ROOMS"
    return room


def page_of(room: str) -> str:
    """The docstring of a room or an app."""
    return modules()[room].page


def doors_of(room: str) -> set[str]:
    """The modules of a room that others import, as its page says."""
    found = re.search(r"^Doors: (.*?)\.$", page_of(room), re.DOTALL | re.MULTILINE)
    assert found is not None, f"the page of lshdb/{room} names no doors"
    return {door for door in found[1].replace("\n", " ").split(", ") if door}


# rooms and apps


def test_every_module_and_file_of_the_root_is_known() -> None:
    assert {"__init__", "database", "store.store", "cli.app"} <= PATHS.keys()
    rooms = {room_of(name) for name in PATHS if name != "apps"}
    assert rooms == {*FLOORS, *(f"apps.{app}" for app in APPS)}
    modules = {path.name for path in PACKAGE.glob("*.py")}
    assert modules == {f"{name}.py" for name in FLOORS if name not in FOLDERS}
    others = {path.name for path in PACKAGE.iterdir() if path.is_file()} - modules
    assert others == OTHER_FILES


def points_down(module: str, other: str) -> bool:
    """Whether a module may import another one: of the rooms below, or of apps that it needs."""
    here, there = room_of(module), room_of(other)
    if here == there:
        return True
    if there.startswith("apps."):
        needed = APPS[here.partition(".")[2]] if here.startswith("apps.") else set()
        return there.partition(".")[2] in needed
    return here.startswith("apps.") or FLOORS[there] < FLOORS[here] or {here, there} <= {*ROOMS[0]}


def test_imports_point_down() -> None:
    """Rooms import from those below, apps from the core and the apps they need."""
    arrows = {(module, name) for module in PATHS for name in modules()[module].own - {"apps"}}
    assert {arrow for arrow in arrows if not points_down(*arrow)} == WRONG


def test_apps_need_apps_below_them() -> None:
    order = [*APPS]
    for app, needed in APPS.items():
        assert needed <= {*order[: order.index(app)]}, app


def test_imports_make_no_circle() -> None:
    graph = {name: modules()[name].own for name in PATHS}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("errors") < order.index("store.store") < order.index("database")


def test_adding_takes_the_hops_that_are_drawn(command: Command) -> None:
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
    hops = [name for name in names[names.index(drawn[0]) :] if not name.startswith("taking.py")]
    entered = dict.fromkeys(name.partition(":")[0] for name in hops)
    assert [*entered] == [name.partition(":")[0] for name in drawn]
    assert len(drawn) == 5
    assert set(drawn) <= set(hops)


@pytest.mark.parametrize("room", FOLDERS)
def test_a_room_is_entered_by_its_doors(room: str) -> None:
    others = {name for name in PATHS if name != "apps" and room_of(name) != room}
    names = {name for module in others for name in modules()[module].own}
    used = {name.removeprefix(f"{room}.") for name in names if name.startswith(f"{room}.")}
    assert used == doors_of(room)


@pytest.mark.parametrize("room", FOLDERS)
def test_the_page_of_a_room_names_its_modules(room: str) -> None:
    page = page_of(room)
    assert len(page.splitlines()) <= 25
    if room != "cli":  # where app has a table of the modules
        folder = PACKAGE / room.replace(".", "/")
        inside = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
        assert {name for name in inside if not re.search(rf"\b{name}\b", page)} == set()


@pytest.mark.parametrize(
    ("package", "rooms"),
    # A bar is shown in notebooks as well, and only if somebody asks for it.
    [("sqlite3", {"store"}), ("typer", {"cli"}), ("rich", {"cli", "progress"})],
)
def test_a_package_is_known_in_its_room_only(package: str, rooms: set[str]) -> None:
    """Commands of apps are of the command line, too."""
    named = {name for name, module in modules().items() if package in module.foreign}
    users = {"cli" if re.match(r"apps\.\w+\.cli\b", name) else room_of(name) for name in named}
    assert users == rooms


@pytest.mark.parametrize(
    ("room", "pattern"),
    [
        ("store", r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|PRAGMA|CREATE) "),
        ("", r"(?s).*</?(a|b|bdi|body|div|h[1-6]|li|mark|p|span|t[adhr]|table|ul|svg)\b[^<]*>"),
    ],
    ids=["SQL in the store and statements of apps only", "HTML in templates only"],
)
def test_no_text_elsewhere_is(room: str, pattern: str) -> None:
    texts = {
        (name, text)
        for name, module in modules().items()
        if room_of(name) != room and not (room and re.fullmatch(r"apps\.\w+\.statements", name))
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
        "apps.dedup": {"pyarrow"},
        "apps.documents.extraction.books": {"lxml"},
        "apps.documents.extraction.guessing": {"chardet"},
        "apps.documents.extraction.packages": {"lxml"},
        "apps.documents.extraction.pdf": {"pypdfium2"},
        "apps.documents.extraction.rtf": {"striprtf"},
        "apps.documents.extraction.sheets": {"python_calamine"},
        "apps.documents.extraction.web": {"lxml", "selectolax"},
        "apps.frames": {"pyarrow"},
        "apps.mcp": {"mcp", "mcp_types", "pydantic"},
        "apps.report": {"jinja2", "markupsafe"},
        "apps.spark": {"pyarrow", "pyspark"},
        "apps.tables": {"pandas", "pyarrow"},
        "apps.web": {"anyio", "datasette", "jinja2", "markupsafe", "starlette", "uvicorn"},
        "cli.results": {"pyarrow"},
        "read": {"pyarrow"},
        "search": {"pandas", "pyarrow"},  # types alone
        "write": {"pyarrow"},
    }
    everywhere: set[str] = set()
    for module in PATHS.keys() - {"apps"}:
        own = extras.get(module, set()) | extras.get(room_of(module), set())
        everywhere |= modules()[module].foreign - own
    everywhere -= sys.stdlib_module_names
    assert everywhere == required


LOADING = """
import json, sys
from contextlib import redirect_stdout, suppress
from io import StringIO

before, loaded = set(sys.modules), []

def note():
    loaded.append(sorted(set(sys.modules) - before))

import lshdb
note()
from lshdb.cli.app import main
for words in (["--help"], ["query", "--text", "the fox and the grapes"]):
    sys.argv[1:] = words
    with redirect_stdout(StringIO()), suppress(SystemExit):
        main()
    note()
print(json.dumps(loaded))
"""


def test_nothing_is_loaded_that_is_not_used(tmp_path: Path) -> None:
    """By importing lshdb, by `lshdb --help`, and by a query, in Python that has loaded nothing."""
    done = subprocess.run(
        [sys.executable, "-c", LOADING],
        cwd=tmp_path,
        env=unmeasured(),
        capture_output=True,
        text=True,
        check=True,
    )
    package, help, loaded = map(set, json.loads(done.stdout))
    assert {name for name in package if name.startswith("lshdb")} == {"lshdb", "lshdb.offers"}
    assert not package & {"numpy", "xxhash", "sqlite3", "typer", "rich"}
    assert "numpy" not in help, "it takes longer to load than all the rest"
    assert "lshdb.search.query" in loaded
    assert not loaded & {
        "concurrent.futures",
        "datasette",
        "hashlib",
        "lshdb.apps.compare.compare",
        "lshdb.apps.passages.passages",
        "lshdb.apps.programs.boilerplate",
        "lshdb.apps.programs.families",
        "lshdb.read.records",
        "lshdb.write.add",
        "lshdb.maintain.check",
        "lshdb.search.pairs",
        "lshdb.apps.web",
        "lshdb.apps.spark",
        "rich",
    }


# the tests themselves

REPLACES_PRIVATE = re.compile(
    r"""(?:setattr|patch|patch\.object)\(\s*(?:
        [\w.]*\._[a-z]\w*          # what belongs to a private name
        | f?"[\w.]*\._(?!_)         # a private name, by its path
        | [^(),"]+,\s*"_(?!_)       # or of an object
    )""",
    re.VERBOSE | re.IGNORECASE,
)
CLOCK = re.compile(r"\b(?:perf_counter|process_time|thread_time|monotonic)(?:_ns)?\b")


def test_tests_replace_no_private_name_and_read_no_clock() -> None:
    """What a test needs to replace is public, and waiting has one limit, in `helpers.until`."""
    for program in ('patch.object(a, "_b")', 'setattr(a._b, "c"', 'patch("a._b")'):
        assert REPLACES_PRIVATE.search(program)
    wrong = [
        f"{path.relative_to(ROOT)}: {match[0]!r}"
        for path in (ROOT / "tests").rglob("*.py")
        for pattern in (REPLACES_PRIVATE, CLOCK)
        for match in pattern.finditer(path.read_text("utf-8"))
        if path.name not in ("helpers.py", Path(__file__).name)
    ]
    assert wrong == []
