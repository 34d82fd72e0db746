"""Help pages: options by what they are about."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand

from lshdb import options
from lshdb.sources.paths import escaped

_HEADINGS = ("", options.INPUT, options.MATCHING, options.OUTPUT, options.INDEX, options.ADVANCED)
"""In the order of a page. Each option has that of its group; those without one come first."""
_EXPLAINED = {
    options.INPUT: ("add", "sync"),
    options.INDEX: ("init", "reindex"),
}
"""The commands that explain the options of a heading; other pages only name them."""


_EXAMPLE = "Example: "
_VALUE_SHOWN = 60
_BOUNDS = re.compile(r" *\[x>=\d+\]|; x>=\d+(?=\])")


class Page(TyperCommand):
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

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write what the command does, then the examples, each as one line to copy."""
        paragraphs = cleandoc(self.help or "").split("\n\n")
        examples = [text for text in paragraphs if text.startswith(_EXAMPLE)]
        texts = [text for text in paragraphs if text not in examples]
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("\n\n".join(texts))
        if examples:
            with formatter.section("Examples" if len(examples) > 1 else "Example"):
                for example in examples:
                    line = " ".join(example.removeprefix(_EXAMPLE).split())
                    formatter.write(f"  {line}\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, those without a heading of their own first."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
        for parameter, option, text in described(self, ctx):
            heading = getattr(parameter, "rich_help_panel", None) or ""
            sections[heading].append((option, text))
        sections[""].sort(key=lambda row: "--help" in row[0])
        for heading, rows in sections.items():
            if not rows:
                continue
            explained = _EXPLAINED.get(heading)
            with formatter.section(heading or "Options"):
                if explained is None or self.name in explained:
                    formatter.write_dl(rows)
                else:
                    names = ", ".join(re.findall(r"--[\w-]+", " ".join(row[0] for row in rows)))
                    formatter.write_text(f"{names}: see lshdb {explained[0]} --help")


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
