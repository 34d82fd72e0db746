"""Imports point downward, SQLite has one home, and importing lshdb costs next to nothing."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import lshdb

PACKAGE = Path(lshdb.__file__).parent
LAYERS = (
    {
        "acceleration",
        "columns",
        "compiled",
        "compiled_digests",
        "compiled_parts",
        "compiled_rows",
        "compression",
        "construction",
        "errors",
        "findings",
        "kernels",
        "leftovers",
        "model",
        "outcomes",
        "processes",
    },
    {
        "analysis",
        "band_sums",
        "banding",
        "blocks",
        "candidates",
        "cascade",
        "clustering",
        "content",
        "folding",
        "hashing",
        "inputs",
        "jaccard",
        "listing",
        "metadata",
        "minhash",
        "overlaps",
        "passages",
        "positions",
        "scurve",
        "shingle_texts",
        "shingling",
        "signing",
        "sketching",
        "sorting",
    },
    {
        "arrow_blocks",
        "arrow_files",
        "arrow_rows",
        "csv_rows",
        "line_files",
        "parquet_rows",
        "parsing",
        "readers",
        "records",
        "row_files",
        "store",
    },
    {
        "examining",
        "lookup",
        "parts",
        "sampling",
        "search",
        "settings",
        "shared_shingles",
        "thinning",
        "tuning",
        "verifying",
        "worker",
    },
    {
        "comparing",
        "joining",
        "measuring",
        "mending",
        "reindexing",
        "screening",
        "pending",
        "signers",
        "writing",
    },
    {"checking", "planning", "selecting"},
    {"batches", "ingest", "reading", "tables"},
    {"exchange", "signature_sets"},
    {"database", "opening"},
    {"shards"},
    {"__init__"},
    {"cli", "web", "__main__", "spark"},
)
"""Modules and packages of lshdb, the lowest first; a new one must be given its place here."""
LONGEST_MODULE = 400


PATHS = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
"""The files of the modules, by their names without `lshdb.`."""
MODULES = {name: ast.parse(path.read_text("utf-8")) for name, path in PATHS.items()}


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a module imports, wherever in it, with all their dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name.removeprefix("lshdb.") in PATHS else node.module


def own_imports(tree: ast.Module) -> set[str]:
    """The modules of lshdb that a module imports, without `lshdb.`."""
    names = {"__init__" if name == "lshdb" else name for name in imported(tree)}
    return {name.removeprefix("lshdb.") for name in names} & PATHS.keys()


def foreign_imports(tree: ast.Module) -> set[str]:
    """The packages outside lshdb that a module imports."""
    return {name.partition(".")[0] for name in imported(tree)} - {"lshdb"}


def layer_of(module: str) -> int:
    """The number of a module's layer."""
    places = [i for i, layer in enumerate(LAYERS) if module.partition(".")[0] in layer]
    assert len(places) == 1, f"{module} has no place in LAYERS"
    return places[0]


def in_fresh_python(code: str, directory: Path) -> str:
    """What a program prints that runs in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_every_module_is_looked_at() -> None:
    assert {"__init__", "database", "store", "store.connection", "cli.app"} <= MODULES.keys()
    assert {name.partition(".")[0] for name in MODULES} == set().union(*LAYERS)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downward(module: str) -> None:
    upward = {name for name in own_imports(MODULES[module]) if layer_of(name) > layer_of(module)}
    assert not upward


def test_imports_make_no_circle() -> None:
    graph = {name: own_imports(tree) for name, tree in MODULES.items()}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("errors") < order.index("store.store") < order.index("database")


def test_imports_in_functions_and_of_submodules_are_seen() -> None:
    assert own_imports(ast.parse("def f():\n    from lshdb.store import Store")) == {"store"}
    assert own_imports(ast.parse("from lshdb.store import store")) == {"store.store"}
    assert own_imports(ast.parse("import lshdb")) == {"__init__"}
    assert own_imports(ast.parse("from lshdb import store")) == {"store"}


def test_only_the_store_knows_sqlite() -> None:
    users = {name for name, tree in MODULES.items() if "sqlite3" in foreign_imports(tree)}
    assert users
    assert {name.partition(".")[0] for name in users} == {"store"}


def test_only_the_command_line_knows_the_terminal() -> None:
    users = {name for name, tree in MODULES.items() if foreign_imports(tree) & {"typer", "rich"}}
    assert {name.partition(".")[0] for name in users} == {"cli"}


@pytest.mark.parametrize("module", PATHS)
def test_a_module_is_read_in_one_sitting(module: str) -> None:
    assert len(PATHS[module].read_text("utf-8").splitlines()) <= LONGEST_MODULE


def test_dependencies_are_those_imported() -> None:
    pyproject = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    required = {line.split(">")[0] for line in pyproject["project"]["dependencies"]}
    assert required == {"numpy", "xxhash", "typer"}
    extras = {
        "arrow_blocks": {"pyarrow"},
        "arrow_files": {"pyarrow"},
        "arrow_rows": {"pyarrow"},
        "parquet_rows": {"pyarrow"},
        "tables": {"pyarrow"},
        "exchange": {"pyarrow"},
        "cli.saving": {"pyarrow"},
        "compiled": {"llvmlite", "numba"},
        "compiled_digests": {"llvmlite", "numba"},
        "compiled_parts": {"llvmlite", "numba"},
        "compiled_rows": {"llvmlite", "numba"},
        "cli.plotting": {"matplotlib"},
        "web": {"datasette", "markupsafe"},
        "web.answering": {"datasette"},
        "web.rendering": {"datasette", "jinja2"},
        "web.serving": {"datasette", "uvicorn"},
    }
    for module in MODULES:
        if module.partition(".")[0] == "spark" or module == "cli.sparking":
            extras[module] = foreign_imports(MODULES[module]) & {"pyarrow", "pyspark"}
    used = {name: foreign_imports(tree) for name, tree in MODULES.items()}
    for module, own in extras.items():
        assert own <= used[module]
        used[module] -= own
    everywhere = set().union(*used.values()) - sys.stdlib_module_names
    assert everywhere == required | {"rich"}, "typer brings rich; the rest must be declared"


def test_importing_lshdb_imports_nothing_else(tmp_path: Path) -> None:
    code = (
        "import json, sys; before = set(sys.modules); import lshdb; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = set(json.loads(in_fresh_python(code, tmp_path)))
    assert {name for name in loaded if name.startswith("lshdb")} == {"lshdb"}
    assert not loaded & {"numpy", "xxhash", "sqlite3", "typer", "rich"}


def test_the_library_never_imports_the_command_line(tmp_path: Path) -> None:
    code = (
        "import sys, lshdb\n"
        "with lshdb.open('fables.db') as db:\n"
        "    db.add('fox', 'the fox and the grapes')\n"
        "    assert [match.key for match in db.query('The fox and the grapes')] == ['fox']\n"
        "print('numpy' in sys.modules, [n for n in ('typer', 'rich') if n in sys.modules])"
    )
    assert in_fresh_python(code, tmp_path).strip() == "True []"


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
        "lshdb.search.comparing",
        "lshdb.ingest.add",
        "lshdb.search.pairs",
        "lshdb.web",
        "lshdb.spark",
        "numba",
        "orjson",
        "rich",
    }


def test_the_root_module_only_reexports() -> None:
    body = MODULES["__init__"].body
    reexports = next(node for node in body if isinstance(node, ast.If))
    assert ast.unparse(reexports.test) == "TYPE_CHECKING"
    assert all(isinstance(node, ast.ImportFrom) for node in reexports.body)
    names = [
        alias.asname or alias.name
        for node in reexports.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(names) == sorted(lshdb.__all__)
    defined = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert defined == ["__getattr__"]


@pytest.mark.parametrize("name", lshdb.__all__)
def test_a_reexported_name_is_what_its_module_defines(name: str) -> None:
    sources = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(MODULES["__init__"])
        if isinstance(node, ast.ImportFrom) and node.module not in (None, "typing")
        for alias in node.names
    }
    module, original = sources[name]
    assert module is not None
    value = getattr(lshdb, name)
    assert value is getattr(importlib.import_module(module), original)
    assert value.__module__.startswith("lshdb.")


def test_errors_and_dataclasses_are_all_exported() -> None:
    public = {
        node.name
        for module in ("errors", "database")
        for node in MODULES[module].body
        if isinstance(node, ast.ClassDef)
    }
    assert public <= set(lshdb.__all__)
    assert lshdb.__all__ == sorted(lshdb.__all__, key=lambda name: (name.islower(), name))


def test_a_name_that_does_not_exist_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'banding_'"):
        _ = lshdb.banding_
