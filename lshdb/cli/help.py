"""Help pages of commands: what most people use, or all of it."""

from collections import defaultdict
from copy import copy
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

_ALL = "--help-all"
_PARAGRAPHS = 2
"""Of what a command does, on its short page."""
_MAKING = ("init", "reindex", "tune")
"""Commands whose options of the index are common; others rarely need more than a threshold."""


class HelpPage(TyperCommand):
    """A command whose `--help` has the options that most people use, and `--help-all` all."""

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

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does, with examples, then its options."""
        page = copy(self)
        if not ctx.meta.get(_ALL):
            texts = cleandoc(self.help or "").split("\n\n")
            examples = [text for text in texts[_PARAGRAPHS:] if text.startswith("Example: ")]
            page.help = "\n\n".join(texts[:_PARAGRAPHS] + examples)
            if self._uncommon:
                page.epilog = f"{len(self._uncommon)} more options: lshdb {self.name} {_ALL}"
        super(HelpPage, page).format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options: all under their headings, few need one heading."""
        shows_all = ctx.meta.get(_ALL)
        sections = defaultdict(list)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and (shows_all or parameter not in self._uncommon):
                panel = parameter.rich_help_panel if shows_all else None
                sections[panel or f"{parameter.param_type_name.title()}s"].append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


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
