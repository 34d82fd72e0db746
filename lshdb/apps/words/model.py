"""Results of searches for words."""

from dataclasses import dataclass

from lshdb.results import Result


@dataclass(frozen=True, slots=True)
class WordMatches(Result):
    """Documents whose contents have some words; see Database.find_words.

    Attributes:
        documents: the keys and contents, in the order of addition; a set as its JSON.
        following: the doc_id after which to go on; None if all documents were searched.
    """

    documents: tuple[tuple[str, str], ...]
    following: int | None
