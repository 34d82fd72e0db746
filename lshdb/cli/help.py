"""Help pages: options by what they are about."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

from lshdb import options
from lshdb.cli.parameters import Heading
from lshdb.sources.paths import escaped

_HEADINGS = (
    "",
    options.STAYS,
    options.REFERENCES,
    options.CUTTING,
    options.INPUT,
    options.MATCHING,
    options.OUTPUT,
    options.INDEX,
    options.ADVANCED,
)
"""In the order of a page. Each option has that of its group."""
_ALL = "--help-all"
_PARAGRAPHS = 2
"""Of what a command does, on its short page."""
_MAKING = ("init", "reindex", "tune")
"""Commands whose options of the index are common; others rarely need more than a threshold."""
_EXAMPLE = "Example: "
_VALUE_SHOWN = 60
_BOUNDS = re.compile(r" *\[x>=\d+\]|; x>=\d+(?=\])")


class HelpPage(TyperCommand):
    """A command whose help page has examples, and its options under headings.

    An option of one value cannot have two: the last one would win, and a script that builds its
    command from parts would never know.
    """

    def make_parser(self, ctx: Any) -> Any:
        """The parser of the command line."""
        parser: Any = super().make_parser(ctx)
        for option in {*parser._short_opt.values(), *parser._long_opt.values()}:
            if option.action in ("store", "store_const"):
                once = partial(_store_once, option, option.process, ctx, {})
                option.process = once
        return parser

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does, then the examples, each as one line to copy."""
        paragraphs = cleandoc(self.help or "").split("\n\n")
        examples = [text for text in paragraphs if text.startswith(_EXAMPLE)]
        texts = [text for text in paragraphs if text not in examples]
        if not ctx.meta.get(_ALL):
            texts = texts[:_PARAGRAPHS]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(texts))
        if examples:
            with formatter.section("Examples" if len(examples) > 1 else "Example"):
                for example in examples:
                    line = " ".join(example.removeprefix(_EXAMPLE).split())
                    formatter.write(f"  {line}\n")

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with --help-all beside --help."""
        return [*super().get_params(ctx), _help_all()]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options under headings: what most people use, or all of them."""
        shows_all = bool(ctx.meta.get(_ALL))
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
        left = 0
        for parameter, option, text in described(self, ctx):
            heading = getattr(parameter, "rich_help_panel", None) or Heading("")
            is_common = getattr(heading, "is_common", True)
            is_common &= heading != options.INDEX or self.name in _MAKING
            left += not is_common
            if shows_all:
                sections[heading].append((option, text))
            elif is_common:
                # The few options of other headings need none.
                section = (
                    heading
                    if heading in (options.STAYS, options.REFERENCES, options.CUTTING)
                    else ""
                )
                sections[section].append((option, text))
        sections[""].sort(key=_rank)
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading or "Options"):
                    formatter.write_dl(rows)
        if left and not shows_all:
            formatter.write_paragraph()
            formatter.write_text(f"{left} more options: lshdb {self.name} {_ALL}")


def _rank(row: tuple[str, str]) -> int:
    """The order of options: arguments, the output, those of the command, help."""
    option = row[0]
    if not option.startswith("-"):
        return 0
    return 1 if "--output" in option else 3 if "--help" in option else 2


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


def described(command: Any, ctx: Any) -> Iterator[tuple[Any, str, str]]:
    """Each argument and option of a command, how it is written, and its description."""
    for parameter in command.get_params(ctx):
        if parameter.metavar is None and parameter.type.name.startswith(("int", "float")):
            parameter.metavar = "N" if parameter.type.name.startswith("int") else "NUMBER"
        record = parameter.get_help_record(ctx)
        if record is not None:
            option, text = record
            # A minimum of 1 is obvious; the error says so if needed.
            yield parameter, option, _BOUNDS.sub("", text)


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
