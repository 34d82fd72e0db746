"""Help pages: what most people use, or all of it; panels on a terminal, plain text in a pipe."""

import sys
from collections import defaultdict
from collections.abc import Callable
from copy import copy
from functools import partial
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

from lshdb.read.paths import escaped

_ALL = "--help-all"
_PARAGRAPHS = 2
"""Of what a command does, on its short page."""
_MAKING = ("init", "reindex", "tune")
"""Commands whose options of the index are common; others rarely need more than a threshold."""
_EXAMPLE = "Example: "
_VALUE_SHOWN = 60


class HelpPage(TyperCommand):
    """A command whose `--help` has the options that most people use, and `--help-all` all.

    An option of one value cannot have two: the last one would win, and a script that builds its
    command from parts would never know.
    """

    params: list[Any]

    def __init__(self, *args: Any, **values: Any) -> None:
        from lshdb.options import INDEX  # the page of all commands needs no options

        super().__init__(*args, **values)
        self._uncommon = []
        for parameter in self.params:
            is_of_index = parameter.rich_help_panel == INDEX
            is_rare = parameter.name == "quiet" or (is_of_index and self.name not in _MAKING)
            if parameter.hidden or is_rare:
                self._uncommon.append(parameter)
                parameter.hidden = False  # only on the short page: the shell completes it

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with --help-all beside --help."""
        return [*super().get_params(ctx), _help_all()]

    def make_parser(self, ctx: Any) -> Any:
        """The parser of the command line."""
        parser: Any = super().make_parser(ctx)
        for option in {*parser._short_opt.values(), *parser._long_opt.values()}:
            if option.action in ("store", "store_const"):
                once = partial(_store_once, option, option.process, ctx, {})
                option.process = once
        return parser

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does, with examples, then its options."""
        if ctx.meta.get(_ALL):
            write_page(self, ctx, formatter)
            return
        texts = cleandoc(self.help or "").split("\n\n")
        examples = [text for text in texts[_PARAGRAPHS:] if text.startswith(_EXAMPLE)]
        common = [copy(each) for each in self.params if each not in self._uncommon]
        for parameter in common:
            parameter.rich_help_panel = None  # few options need one heading
        more = f"{len(self._uncommon)} more options: lshdb {self.name} {_ALL}"
        write_page(
            self,
            ctx,
            formatter,
            help="\n\n".join(texts[:_PARAGRAPHS] + examples),
            params=common,
            epilog=more if self._uncommon else None,
        )

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under headings, which are those of the panels on a terminal."""
        sections = defaultdict(list)
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                heading = parameter.rich_help_panel or f"{parameter.param_type_name.title()}s"
                sections[heading].append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def write_page(command: Any, ctx: Any, formatter: Any, **changes: Any) -> None:
    """Write the help page of a command by typer; on a terminal, as panels of rich.

    Args:
        command: the command, which stays as it is.
        ctx: its context.
        formatter: takes the plain text.
        changes: what the page has in place of the command's attributes.
    """
    page = copy(command)
    vars(page).update(changes)
    if sys.stdout.isatty():
        from rich.markup import escape

        # typer would break lines where the source does, and take `[...]` for a style.
        texts = [" ".join(text.split()) for text in cleandoc(page.help).split("\n\n")]
        page.help = escape("\n\n".join(texts))
        page.params = [copy(parameter) for parameter in page.params]
        for parameter in page.params:
            parameter.help = escape(parameter.help)
        page.rich_markup_mode = "rich"
    super(type(command), page).format_help(ctx, formatter)


def _help_all() -> Any:
    """The option that shows the page of all options."""

    def show(ctx: Any, _parameter: Any, is_given: bool) -> None:
        if is_given and not ctx.resilient_parsing:
            ctx.meta[_ALL] = True
            typer.echo(ctx.get_help())
            ctx.exit()

    return TyperOption(
        param_decls=[_ALL],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show all options and exit.",
    )


def _store_once(
    option: Any,
    store: Callable[[Any, Any], None],
    ctx: Any,
    earlier: dict[str, Any],
    value: Any,
    state: Any,
) -> None:
    """Store the value of an option, or raise UsageError if it was given another one before.

    Args:
        option: as the parser has it.
        store: stores its value.
        ctx: of the command.
        earlier: the value before, if there is one.
        value: the value; None of a flag.
        state: of the parser.
    """
    given = option.const if option.action == "store_const" else value
    before = earlier.setdefault("value", given)
    parameter = option.obj
    if before != given and not ctx.resilient_parsing:
        values = [parameter.type_cast_value(ctx, text) for text in (before, given)]
        if values[0] != values[1]:
            name = max(parameter.opts, key=len)
            shown = [escaped(str(text)[:_VALUE_SHOWN]) for text in (before, given)]
            raise typer.BadParameter(
                f"{name} is given twice, as {shown[0]} and as {shown[1]}: give one of them", ctx
            )
    store(value, state)
