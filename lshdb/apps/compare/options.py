"""Options of what is compared before it is added."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any

from lshdb.groups import Options, argument
from lshdb.keys import key_argument

if TYPE_CHECKING:
    from lshdb.text.shingling import Content


class DocumentArguments(Options):
    """A document that is given to be added."""

    key: Annotated[Any, argument("The document's key.", convert=key_argument)] = field(
        kw_only=False
    )
    content: Annotated["Content", argument("The document.")] = field(kw_only=False)
    metadata: Annotated[Mapping[str, object] | None, argument("Its other fields.")] = field(
        default=None, kw_only=False
    )


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
