"""Options of tables in memory."""

from collections.abc import Sequence
from typing import Annotated

from lshdb.groups import Options, argument
from lshdb.options import AddManyOptions, LongTableOptions, OnFailure


class ColumnOptions(Options):
    """The columns of a table whose rows are documents."""

    key: Annotated[str, argument("The column of keys: of strings, numbers or other ids.")] = "id"
    text: Annotated[str | None, argument("That of texts; `text` if not given.")] = None
    set: Annotated[
        str | None, argument("That of sets, of strings or integers; `set` if not given.")
    ] = None


class AddTableOptions(Options):
    """Options of `Database.add_table`."""

    sets: LongTableOptions
    columns: ColumnOptions
    add: AddManyOptions

    metadata: Annotated[bool, argument("Whether the other columns are kept.")] = True
    metadata_fields: Annotated[Sequence[str], argument("Which of them; all if empty.")] = ()
    on_failure: OnFailure = None
