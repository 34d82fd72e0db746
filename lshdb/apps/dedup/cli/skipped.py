"""What `add --on-similar skip` prints of each document that it leaves out."""

from collections.abc import Callable

from lshdb.apps.dedup.model import DroppedRow
from lshdb.cli import results
from lshdb.columns import columns_of
from lshdb.formatting import number
from lshdb.read.paths import escaped


def on_skip(*, as_json: bool) -> Callable[[DroppedRow], None]:
    """A function that prints a document, as a line of text or of JSON."""

    def printed(dropped: DroppedRow) -> None:
        if as_json:
            names = columns_of(dropped, "passage", "references")
            results.json_line({name: getattr(dropped, name) for name in names})
        else:
            kind = results.exactness(dropped.exact, dropped.identical, dropped.same_text)
            cells = str(number(dropped.similarity)), kind, dropped.key, dropped.kept
            print("\t".join(map(escaped, cells)))

    return printed
