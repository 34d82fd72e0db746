"""join: all pairs of near duplicates, once the documents are indexed."""

from __future__ import annotations

from typing import Final

from figures import OWN, Aim, Figure, collect
from lab import SIZE, Lab, Options, with_peak

NAME: Final = "join"
_FULL: Final = 10_000
_QUICK: Final = 2_000


def run(lab: Lab) -> list[Figure]:
    """Lshdb's pairs are verified; peers' are all that share a bucket."""
    options = lab.options
    shingle = options.shingle or "word:3"
    corpus = lab.corpus(options.count(_FULL, _QUICK), options.size or SIZE)
    lab.say(f"join: {shingle}, {corpus.documents:,} documents")
    own = lab.database(corpus, shingle) if OWN in options.engines else None

    def measured(engine: str) -> dict[str, float]:
        done = lab.run(
            task=NAME,
            engine=engine,
            shingle=shingle,
            path=corpus.path,
            limit=corpus.documents,
            database=own if engine == OWN else None,
        )
        return with_peak(done.result, done.measured)

    case = f"{shingle}, {options.what()}, {corpus.documents:,} documents"
    found: list[Figure] = []
    for engine, runs in lab.alternate(options.engines, measured).items():
        found += collect(NAME, case, engine, corpus.documents, runs)
    if own is not None:
        own.unlink()
    return found


def aims(_options: Options) -> list[Aim]:
    """None yet."""
    return []
