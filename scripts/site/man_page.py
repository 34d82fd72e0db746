"""Writes docs/lshdb.1, the manual page, from the same source as --help.

usage: python scripts/site/man_page.py [OUT.1]; then: man -l docs/lshdb.1
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

import lshdb
from lshdb.cli.app import make_app
from lshdb.offers import COMMANDS

_OUT: Final = Path(__file__).resolve().parents[2] / "docs" / "lshdb.1"
_EXAMPLE: Final = "Example: "
_FILES: Final = """\
The database is one SQLite file, lsh.db unless -d or the variable LSHDB_PATH names another. While
it is open there are also FILE-wal and FILE-shm beside it."""
_STATUS: Final = (("0", "done"), ("1", "failed"), ("2", "wrong usage"), ("130", "interrupted"))


def page() -> str:
    """The page, in the macros of man(7)."""
    command: Any = make_app()
    context = command.make_context("lshdb", [], resilient_parsing=True)
    lines = [f'.TH LSHDB 1 "" "lshdb {lshdb.__version__}" "User Commands"', ".SH NAME"]
    lines += [r"lshdb \- find near duplicates with a database in one file", ".SH SYNOPSIS"]
    lines += [r".B lshdb", r".I COMMAND", "[OPTIONS] [ARGS]", ".SH DESCRIPTION"]
    lines += _paragraphs(command.help)
    lines += [".SH COMMANDS"]
    for heading, names in COMMANDS.items():
        lines += [f".SS {_escaped(heading)}"]
        for name in names:
            lines += _of_command(name, command.get_command(context, name), context)
    lines += [".SH EXIT STATUS"]
    for status, meaning in _STATUS:
        lines += [".TP", f".B {status}", meaning]
    lines += [".SH FILES", *_paragraphs(_FILES)]
    return "\n".join(lines) + "\n"


def _of_command(name: str, command: Any, parent: Any) -> Iterator[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (".PP", f".B lshdb {name}", _escaped(usage), ".RS")
    yield from _paragraphs(command.help)
    for option, text in (each.get_help_record(context) for each in command.get_params(context)):
        if "--help" not in option:
            yield from (".TP", f".B {_escaped(option)}", _escaped(" ".join(text.split())))
    yield ".RE"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in cleandoc(text).split("\n\n"):
        one = " ".join(paragraph.split())
        if one.startswith(_EXAMPLE):
            yield from (".PP", ".EX", _escaped(one.removeprefix(_EXAMPLE)), ".EE")
        else:
            yield from (".PP", _escaped(one))


def _escaped(text: str) -> str:
    """Text as roff reads it: no escapes, no requests at the beginning of a line."""
    plain = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.write_text(page(), "utf-8")
