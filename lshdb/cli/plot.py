"""`lshdb plot`: draw the similarities of the documents, as one SVG file."""

from typing import Annotated

from lshdb.cli import pages
from lshdb.cli.options import DatabaseFile
from lshdb.database import store_of
from lshdb.groups import Option
from lshdb.options import PictureOptions
from lshdb.sources.paths import printable_path


def plot(
    *,
    plot_file: Annotated[
        str,
        Option("The file to write, or -.", metavar="FILE.svg", flags=("--output", "-o")),
    ],
    at: DatabaseFile,
    asked: PictureOptions,
) -> None:
    """Draw the similarities of the documents, as one SVG file.

    It shows how many pairs have which similarity, on a logarithmic scale: those that were found
    from the threshold on, and an estimate from a sample below it; the S-curve, how probably the
    index finds a pair; and how many clusters have which size.

    Needs jinja2, which comes with pip install 'lshdb[web]'.

    Example: lshdb plot -d essays.db -o similarities.svg
    """
    from lshdb.ingest.folder_documents import folders  # nothing else needs it

    pages.check_name(plot_file, ".svg")
    with (
        at.reading() as database,
        folders(store_of(database), asked.group_by, asked.grouping.condition) as found,
        pages.drawn(plot_file, at.db) as (web, output, progress),
    ):
        output.write(web.plot(found, asked, printable_path(at.db.name), progress).encode())
    pages.say_next(plot_file, at.db, "lshdb pairs --sample 20 --fields text", "to read some pairs")
