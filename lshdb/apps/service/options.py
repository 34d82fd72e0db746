"""Options of `lshdb.Service`."""

from typing import Annotated

from lshdb.groups import Options, argument
from lshdb.options import DocumentArguments


class ArrivalOptions(Options):
    """Options of `Service.add`."""

    document: DocumentArguments

    find: Annotated[
        int,
        argument(
            "Maximum number of similar documents in the answer.",
            min=0,
            max=1_000,
        ),
    ] = 5
    skip_similar: Annotated[
        bool, argument("Whether it is left out if a stored document is similar.")
    ] = False
