"""The public interface: a picture of it, and the likeness of the library and the command line."""

from __future__ import annotations

import inspect
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from helpers import ROOT, forked, status_of

import lshdb
from lshdb.cli.app import make_app

ALIKE: Final[dict[str, Callable[..., Any]]] = {
    "init": lshdb.open,
    "add": lshdb.Database.add_files,
    "sync": lshdb.Database.sync,
    "remove": lshdb.Database.remove,
    "dedup": lshdb.dedup,
    "query": lshdb.Database.query,
    "passages": lshdb.Database.passages,
    "pairs": lshdb.Database.pairs,
    "clusters": lshdb.Database.clusters,
    "compare": lshdb.Database.compare,
    "decide": lshdb.Database.decide,
    "tune": lshdb.tune,
    "check": lshdb.check,
    "backup": lshdb.Database.backup,
    "reindex": lshdb.Database.reindex,
}
"""The commands that do what a method or a function does."""

OF_PYTHON: Final = {
    **dict.fromkeys(("progress", "on_batch", "on_failure", "on_skip"), "a command prints it"),
    **dict.fromkeys(("workers", "limits"), "no result depends on it"),
    **dict.fromkeys(("reader", "distribution"), "an object, for which a command has options"),
    "path": "--db, or an argument",
    "timeout": "an option of the program, before the command",
    "mode": "each command knows what it does with the file",
    "check_settings": "a command prints which settings differ",
}
OF_COMMANDS: Final = {
    "db": "the file, which lshdb.open takes",
    **dict.fromkeys(("as_json", "as_csv", "output", "heading", "quiet"), "how it is printed"),
    **dict.fromkeys(("fail_if_found", "list_skipped", "yes", "help"), "for scripts and people"),
    **dict.fromkeys(("null", "from_", "listed", "files_from"), "lists of keys and paths in files"),
    "as_keys": "Python has no paths in place of keys",
}
DOCUMENTS: Final = {"documents", "extract_timeout", "quotes", "convert"}
"""How files of other kinds than texts are read."""
DIFFER: Final[dict[str, tuple[set[str], set[str]]]] = {
    # Of the library only, and of the command only; each has a reason.
    "add": (set(), {"key"}),  # of a text on standard input
    # Rows of a data frame have columns; files are read, and other files written.
    "dedup": (
        {"data", "key", "text", "set", "into", "base"},
        {
            *("inputs", "dropped", "annotate", "overwrite"),
            *("format", "encoding", "strict", "auto_key", "metadata", "metadata_fields", "fields"),
            *("delimiter", "escape", "quoting"),
            *("key_field", "text_field", "set_field", "exclude", "include", "hidden", "ignore"),
            *("tracked", "follow", "max_filesize", "cut", "cuts", "min_words", *DOCUMENTS),
        },
    ),
    # Files of queries, and many queries at once: Database.query_many.
    "query": (
        {"content"},
        {
            *("files", "text", "unmatched", "format", "encoding", "strict", *DOCUMENTS),
            *("delimiter", "escape", "quoting"),
            *("key_field", "text_field", "set_field", "set_key", "set_item"),
        },
    ),
    "passages": ({"text"}, {"files", "everything", "each", "key_field", "text_field"}),
    "clusters": (set(), {"drop_list", "files"}),
    "compare": (set(), {"buckets", "encoding", "strict", *DOCUMENTS}),  # what a terminal shows
    "decide": ({"verdict", "keys"}, {"words", "undo"}),
    "tune": (set(), {"top"}),
    "backup": (set(), {"target", "restore"}),
}

GENERATED: Final = {
    "options_page.py": "docs/options.md",
    "interface.py": "tests/project/interface.txt",
    "option_types.py": "lshdb",
    "man_page.py": "docs/lshdb.1",
    "completions.py": "docs/completions",
    "llms.py": "docs/llms.txt",
}
"""What scripts write, and where it is kept."""


def options_of(command: str) -> dict[str, Any]:
    """The parameters of a command, by name."""
    return {one.name: one for one in make_app().get_command(None, command).params}


@pytest.mark.parametrize("command", ALIKE)
def test_a_command_has_the_options_of_its_method(command: str) -> None:
    method = inspect.signature(ALIKE[command]).parameters
    given = options_of(command)
    names, options = set(method) - {"self", "database"}, set(given)
    library, own = DIFFER.get(command, (set(), set()))
    assert names - options - OF_PYTHON.keys() == library
    assert options - names - OF_COMMANDS.keys() == own
    for name in names & options - own:
        default, other = method[name].default, given[name].default
        if default is inspect.Parameter.empty:
            continue
        if isinstance(default, bool) or name == "content":
            assert other in (False, None), "a flag changes the default"
        else:
            assert (other or None) == (default or None), name


def test_what_is_generated_is_up_to_date(tmp_path: Path) -> None:
    """Who changes the interface, help or titles of pages runs these scripts of scripts/site."""
    import yaml  # noqa: F401  one of them reads the titles of pages by it

    def run() -> None:
        for script in GENERATED:
            sys.argv[1:] = [str(tmp_path / script)]
            runpy.run_path(str(ROOT / "scripts" / "site" / script), run_name="__main__")

    assert status_of(forked(run)) == 0
    for script, made in GENERATED.items():
        written = tmp_path / script
        for file in [one for one in [written, *written.rglob("*")] if one.is_file()]:
            kept = ROOT / made / file.relative_to(written)
            assert file.read_text("utf-8") == kept.read_text("utf-8"), f"run {script} again"
