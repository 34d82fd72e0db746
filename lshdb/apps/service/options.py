"""Options of `lshdb.Service`."""

from typing import Annotated

from lshdb.apps.compare.options import DocumentArguments
from lshdb.groups import Options, argument


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
