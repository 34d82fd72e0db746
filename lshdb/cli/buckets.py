"""`lshdb buckets`: show the largest buckets."""

from typing import Annotated

from lshdb.cli import options, results
from lshdb.groups import Option
from lshdb.model import Bucket


def buckets(
    *,
    file: options.DatabaseFile,
    top: Annotated[int, Option("How many, the largest.", min=1)] = 10,
    form: options.Form,
) -> None:
    """Show the largest buckets.

    A bucket is a line: the number of its band, its key, how many documents are in it. Those of one
    document are in lshdb show.

    Example: lshdb buckets -d code.db --top 5
    """
    with file.reading(form) as database:
        results.write_results(Bucket, database.buckets(top=top), form, noun=("bucket",))
