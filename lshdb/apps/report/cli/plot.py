"""`lshdb plot`: draw the similarities of the documents, as one SVG file."""

from typing import Annotated

from lshdb.apps.report.cli import pages
from lshdb.apps.report.options import PlotOptions
from lshdb.cli.options import DatabaseFile
from lshdb.database import store_of
from lshdb.groups import Option
from lshdb.read.paths import printable_path


def plot(
    *,
    plot_file: Annotated[
        str,
        Option("The file to write, or -.", metavar="FILE.svg", flags=("--output", "-o")),
    ],
    file: DatabaseFile,
    options: PlotOptions,
) -> None:
    """Draw the similarities of the documents, as one SVG file.

    It shows how many pairs have which similarity, on a logarithmic scale: those that were found
    from the threshold on, and an estimate from a sample below it; the S-curve, how probably the
    index finds a pair; and how many clusters have which size.

    Needs the extra web.

    Example: lshdb plot -d essays.db -o similarities.svg
    """
    from lshdb.apps.folders.folder_documents import folders  # nothing else needs it

    pages.check_name(plot_file, ".svg")
    with (
        file.reading() as database,
        folders(store_of(database), options.group_by, options.condition) as units,
        pages.drawn(plot_file, file.db) as (web, output, progress),
    ):
        output.write(web.plot(units, options, printable_path(file.db.name), progress).encode())
    next_command = "lshdb pairs --sample 20 --fields text"
    pages.say_next(plot_file, file.db, next_command, "to read some pairs")
