"""`lshdb mcp`: give a language model tools for the database, by MCP."""

from typing import Annotated

from lshdb import __version__, options
from lshdb.cli import files, running
from lshdb.cli.options import DatabaseFile
from lshdb.errors import InputError
from lshdb.groups import Option


def mcp(
    *,
    file: DatabaseFile,
    purpose: options.PurposeOptions,
    read_only: Annotated[bool, Option("Offer no tool that writes.")] = False,
) -> None:
    """Give a language model tools for the database, by the Model Context Protocol (MCP).

    A client of MCP, such as an editor, starts it and speaks to it over standard input and output.
    It has tools to find similar texts, words, copied passages and clusters, to compare documents,
    to add a text unless similar ones are stored, and to remove documents; documents are resources.
    Without --read-only it makes the file if there is none.

    Needs the extra mcp.

    Example: lshdb mcp -d facts.db --for short-text
    """
    if files.stdin() is None:
        raise InputError("standard input is closed: a client of MCP speaks over it")
    settings = options.SettingsOptions(kind=purpose)
    with file.open("read" if read_only else "create", settings) as database:
        with running.installed("lshdb mcp needs the SDK of MCP", "mcp"):
            from lshdb.apps.mcp.server import serve
        running.end_on_interrupt()
        serve(database, __version__, read_only)
