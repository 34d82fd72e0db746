"""Options of searches for passages."""

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated

from lshdb.errors import UsageError
from lshdb.groups import Option, Options, argument, uncommon
from lshdb.options import (
    INPUT,
    GroupBy,
    KeyField,
    OnProgress,
    StoredKey,
    TextField,
    Top,
    WeightedOptions,
)

Base = Annotated[
    Sequence[str] | None,
    Option(
        "Ignore passages of these texts, which anyone may copy; repeatable.", metavar="DIR|FILE"
    ),
]


class CommonOptions(Options):
    """Which passages are joined, and which do not count."""

    gap: Annotated[
        int,
        uncommon(
            "Join passages with up to this many words between.",
            min=0,
            metavar="WORDS",
        ),
    ] = 0
    common: Annotated[
        int,
        uncommon(
            "Ignore passages in more documents than this: a licence, not a source.",
            min=1,
            metavar="DOCUMENTS",
        ),
    ] = 100


class CopiedOptions(Options):
    """Which passages are wanted."""

    runs: CommonOptions

    min_words: Annotated[
        int | None,
        uncommon(
            "Shortest passage. [default: what the index finds]",
            metavar="WORDS",
        ),
    ] = None
    base: Annotated[
        Sequence[str], argument("Texts that anyone may copy: a task, a template, a licence.")
    ] = ()


class PassagePairsOptions(Options):
    """Options of `Database.passage_pairs`."""

    copied: CopiedOptions
    group_by: GroupBy = None
    top: Top = None
    weighted: WeightedOptions

    reworded: Annotated[bool, Option("Passages that share rare words, in whatever order.")] = False
    min_score: Annotated[
        float | None,
        uncommon("Lowest score of a reworded passage. [default: 0.25]", above=0, max=1),
    ] = None
    progress: OnProgress = False

    def __post_init__(self) -> None:
        if self.min_score is not None and not self.reworded:
            raise UsageError("min_score is for reworded passages: give reworded, too")
        if self.reworded and (self.weighted.sort or self.weighted.min_weighted is not None):
            raise UsageError("reworded passages have a score: give no sort and min_weighted")


class PassagesOptions(Options):
    """Options of `Database.passages`."""

    search: PassagePairsOptions

    text: Annotated[str | None, argument("The text; or")] = field(default=None, kw_only=False)
    key: StoredKey = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.key is None):
            raise UsageError("give either a text or a key")
        if self.search.group_by is not None:
            raise UsageError("group_by is for all pairs")


class TextFieldOptions(Options):
    """The fields of a JSON line, or the columns of a table, that has texts and no sets."""

    section = INPUT

    key_field: KeyField = "id"
    text_field: TextField = "text"
