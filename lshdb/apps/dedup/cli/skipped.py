"""What `add --on-similar skip` prints of each document that it leaves out."""

from collections.abc import Callable

from lshdb.apps.dedup.model import DROPPED, DroppedRow, dropped_row
from lshdb.cli import results
from lshdb.formatting import number
from lshdb.read.paths import escaped


def on_skip(*, as_json: bool) -> Callable[[DroppedRow], None]:
    """A function that prints a document, as a line of text or of JSON."""

    def printed(dropped: DroppedRow) -> None:
        if as_json:
            results.json_line(dict(zip(DROPPED, dropped_row(dropped), strict=True)))
        else:
            kind = results.exactness(dropped.exact, dropped.identical, dropped.same_text)
            cells = str(number(dropped.similarity)), kind, dropped.key, dropped.kept
            print("\t".join(map(escaped, cells)))

    return printed
