"""The `lshdb` command."""

import os
import sys
from importlib import import_module
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from lshdb import __version__, offers
from lshdb.cli import messages, running
from lshdb.cli.help import HelpPage
from lshdb.errors import TIMEOUT
from lshdb.read import paths

COMMANDS = {
    name: command
    for commands in offers.COMMANDS.values()
    for name, command in commands.items()
    if offers.is_there(command.app)
}
"""Every command whose app is there."""
_MEANT = {
    "help": "lshdb --help, or lshdb COMMAND --help",
    "list": 'lshdb sql "SELECT key FROM documents"',
    "find": "lshdb query FILE, or lshdb pairs for all",
    "search": "lshdb query FILE, or lshdb query --text TEXT",
    "delete": "lshdb remove KEY",
    "update": "lshdb add PATH, or lshdb sync for folders",
    "merge": "lshdb add -d ALL.db ONE.db TWO.db",
    "stats": "lshdb info",
    "buckets": 'lshdb sql "SELECT * FROM buckets"',
}
"""What does the work of commands that other tools have, or that lshdb had."""
_ARGUMENTS = "lshdb.arguments"
_UsageError: Any = typer.BadParameter.__base__
"""Of wrong options and arguments; typer names it in another module in each version."""


class Commands(TyperGroup):
    """All commands: the module of one is loaded when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Every name."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None if there is none."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module = import_module(COMMANDS[cmd_name].module(cmd_name))
            function = getattr(module, cmd_name.replace("-", "_"))
            from lshdb.cli.parameters import command  # the page of all commands needs none

            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(cmd_name, cls=HelpPage)(command(function))
            self.commands[cmd_name] = typer.main.get_command(app)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of a name and its arguments; an error names one that may be meant."""
        if args and args[0] not in COMMANDS:
            for commands in offers.COMMANDS.values():
                if args[0] in commands:
                    ctx.fail(f"{args[0]} belongs to {offers.missing(commands[args[0]].app)}")
            if args[0] in _MEANT:
                ctx.fail(f"No such command {args[0]!r}; try {_MEANT[args[0]]}")
            from difflib import get_close_matches

            if nearest := get_close_matches(args[0], COMMANDS, 1):
                ctx.fail(f"No such command {args[0]!r}; did you mean {nearest[0]!r}?")
        ctx.meta[_ARGUMENTS] = args[1:]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of its arguments says how a database is given."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            for option, path in pairwise(["", *ctx.meta.get(_ARGUMENTS, [])]):
                if option not in ("-d", "--db") and paths.is_database(path):
                    name = paths.escaped(path)
                    before = f"{error.message}; " if error.message else ""
                    error.message = f"{before}{name} is a database: give it as -d {name}"
                    break
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the commands by their summaries, for which no module of a command is loaded."""
        width = max(map(len, COMMANDS))
        for heading, commands in offers.COMMANDS.items():
            rows = [
                (name.ljust(width), command.summary)
                for name, command in commands.items()
                if name in COMMANDS
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def make_app() -> Any:
    """The command line."""
    app = typer.Typer(
        name="lshdb",
        cls=Commands,
        invoke_without_command=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        # LSHDB_DEDUP_THRESHOLD is --threshold of dedup, unless the command line has it.
        context_settings={
            "help_option_names": ["--help", "-h"],
            "auto_envvar_prefix": "LSHDB",
        },
    )
    app.callback()(_common)
    return typer.main.get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lshdb {__version__}")
        raise typer.Exit


def _common(
    context: typer.Context,
    _: bool = typer.Option(
        False,
        "--version",
        "-V",
        callback=_version,
        is_eager=True,
        allow_from_autoenv=False,
        help="Print the version.",
    ),
    quiet: running.Quiet = False,
    timeout: float = typer.Option(
        TIMEOUT,
        "--timeout",
        metavar="SECONDS",
        help="Wait while another process writes.",
    ),
) -> None:
    """Find near duplicates with a database in one file.

    Start with: lshdb add DIRECTORY, then lshdb query FILE. The database is lsh.db, unless --db
    or the environment variable LSHDB_PATH names another.

    While another process writes, a command waits for 30 seconds, or as long as the option
    --timeout before the command, or the variable LSHDB_TIMEOUT, says.

    Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
    """
    messages.quiet = quiet
    running.timeout = timeout
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line."""
    # numpy's BLAS, which lshdb does not use, would start threads that spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own allocators keep some 30 MB more and save no time here.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    running.open_streams()
    try:
        make_app()()
    except OSError as error:  # a help page, or the version
        sys.exit(running.output_failed(error).exit_code)
