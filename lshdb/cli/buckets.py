"""`lshdb buckets`: show the largest buckets, or those of a document."""

from typing import Annotated

from lshdb.cli import options, results
from lshdb.groups import Option
from lshdb.model import Bucket
from lshdb.options import StoredKey


def buckets(
    *,
    file: options.DatabaseFile,
    top: Annotated[int, Option("How many, the largest.", min=1)] = 10,
    key: StoredKey = None,
    form: options.Form,
) -> None:
    """Show the largest buckets, or all those of one stored document.

    A bucket is a line: the number of its band, its key, how many documents are in it.

    Example: lshdb buckets -d code.db --top 5
    """
    with file.reading(form) as database:
        results.write_results(Bucket, database.buckets(key, top=top), form, noun=("bucket",))
