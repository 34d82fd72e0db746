"""Options that several commands share."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer


def seed_given(text: str) -> str:
    """A seed from the command line, an integer or `random`, still as text."""
    if text != "random" and re.fullmatch(r"[+-]?[0-9]{1,100}", text) is None:
        raise typer.BadParameter(f"{text!r} is not an integer and not random")
    return text


DatabasePath: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--db",
        "-d",
        envvar="LSHDB_PATH",
        metavar="FILE",
        help="The database file.",
        readable=False,  # that it is not is told by the store, as one of its failures
    ),
]
Timeout: TypeAlias = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="SECONDS", help="How long to wait while another process writes."
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, an object a line.")]
AsCsv: TypeAlias = Annotated[bool, typer.Option("--csv", help="Print CSV with a heading.")]
OutputFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to FILE, which gets its name when all is done: .parquet, .csv or .jsonl.",
    ),
]
Quiet: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print results, warnings and errors only: no notes, no progress."
    ),
]

Estimate: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--estimate", help="Faster: the similarity that signatures tell, without contents."
    ),
]

# what a new file is made with

Threshold: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Jaccard similarity, 0 to 1, from which documents count as similar. [default: 0.8]"
    ),
]
Recall: TypeAlias = Annotated[
    float | None,
    typer.Option(help="Share of the pairs at the threshold that the index finds. [default: 0.99]"),
]
Shingle: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="word:W|char:K|set",
        help="What is compared: runs of W words, runs of K characters, or sets of elements. "
        "[default: word:3]",
    ),
]
Permutations: TypeAlias = Annotated[
    int | None,
    typer.Option(help="Lanes of a signature, 16 to 4096. [default: 128, or what the bands take]"),
]
Bands: TypeAlias = Annotated[
    int | None,
    typer.Option(help="Bands of the index, with --rows, instead of those for the recall."),
]
Rows: TypeAlias = Annotated[int | None, typer.Option(help="Rows of a band, with --bands.")]
Construction: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help='Bands and rows as one text, "and ROWS, or BANDS", or a cascade of levels, '
        'innermost first: "and 4, or 4, and 4, or 4".',
    ),
]
Sketch: TypeAlias = Annotated[
    str | None, typer.Option(metavar="fast|minhash", help="Kind of signature. [default: fast]")
]
Seed: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="INTEGER|random",
        parser=seed_given,
        help="Seed of all hashes; a random one where documents may come from an opponent. "
        "[default: 1]",
    ),
]


@dataclass(frozen=True, slots=True)
class NewSettings:
    """The options that say what a new file is made with; None where one is not given."""

    threshold: Threshold = None
    recall: Recall = None
    shingle: Shingle = None
    permutations: Permutations = None
    bands: Bands = None
    rows: Rows = None
    construction: Construction = None
    sketch: Sketch = None
    seed: Seed = None

    def given(self) -> dict[str, Any]:
        """What the library is given: an integer for the seed, unless it is `random`."""
        given = asdict(self)
        if self.seed is not None and self.seed != "random":
            given["seed"] = int(self.seed)
        return given


DEFAULT_SETTINGS: Final = NewSettings()

# how lines and rows are read

KeyField: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The key's field in a JSON line, or column.")
]
TextField: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The text's field in a JSON line, or column.")
]
SetField: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The set's field in a JSON line, or column.")
]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="Refuse what is not UTF-8 instead of replacing it.")
]

DEFAULT_PATH = Path("lsh.db")
DEFAULT_TIMEOUT = 30.0
"""That of lshdb.open, which is not imported for --help."""
_KEYS_OFFERED = 100


def completed_keys(context: typer.Context, incomplete: str) -> list[str]:
    """The database's keys that begin like this, for the shell; none where it cannot be read.

    A key that is not printable is not offered: the shell would show it as it is.
    """
    import lshdb

    path = context.params.get("db") or os.environ.get("LSHDB_PATH") or DEFAULT_PATH
    try:
        with lshdb.open(path, mode="read", timeout=0) as database:
            keys = database.keys_with_prefix(incomplete, _KEYS_OFFERED)
    except lshdb.LshdbError:
        return []
    return [key for key in keys if key.isprintable()]


def key_given(text: str) -> str:
    """A key from the command line: a file name that is not UTF-8 becomes the key that add gave."""
    from lshdb.sources.paths import printable_path

    return printable_path(text)
