"""Options of what is compared before it is added."""

from typing import Annotated, Any

from lshdb.groups import Options, argument
from lshdb.keys import key_argument
from lshdb.options import DocumentArguments


class AdmissionOptions(Options):
    """Options of `Database.add_unless_similar`."""

    document: DocumentArguments

    threshold: Annotated[
        float | None,
        argument("Minimum similarity; by default the database's.", above=0, max=1),
    ] = None
    top: Annotated[
        int,
        argument("Maximum number of similar documents named.", min=1, max=1_000),
    ] = 5
    replace: Annotated[
        Any, argument("The key of a stored document whose place it takes.", convert=key_argument)
    ] = None
    force: Annotated[bool, argument("Whether it is added beside similar ones.")] = False
