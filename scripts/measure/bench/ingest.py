"""ingest: `lshdb add` of a JSONL file, beside peers that index the same documents in memory."""

from __future__ import annotations

from typing import Final

from corpora import Corpus
from engines import SHARE
from figures import OWN, PEAK, RATE, SPEED, Aim, Figure, collect
from lab import SIZE, Lab, Options, bytes_on_disk, with_peak

NAME: Final = "ingest"
_FULL: Final = 100_000
_QUICK: Final = 20_000


def run(lab: Lab) -> list[Figure]:
    """Lshdb's time is that of the whole command, peers' that of indexing alone."""
    options = lab.options
    corpus = lab.corpus(options.count(_FULL, _QUICK), options.size or SIZE)
    found: list[Figure] = []
    for shingle in options.shingles():
        lab.say(f"ingest: {shingle}, {corpus.documents:,} documents, {corpus.bytes / 1e6:,.0f} MB")
        limits = {
            engine: max(1, round(corpus.documents * SHARE[engine])) for engine in options.engines
        }

        def measured(
            engine: str, shingle: str = shingle, limits: dict[str, int] = limits
        ) -> dict[str, float]:
            if engine == OWN:
                return _add(lab, corpus, shingle)
            return _index(lab, corpus, shingle, engine, limits[engine])

        for engine, runs in lab.alternate(options.engines, measured).items():
            found += collect(NAME, _case(options, shingle), engine, limits[engine], runs)
    return found


def _add(lab: Lab, corpus: Corpus, shingle: str) -> dict[str, float]:
    database = lab.init(shingle)
    measured = lab.add(database, corpus)
    size = bytes_on_disk(database)
    database.unlink()
    rates = {
        RATE: corpus.documents / measured.seconds,
        SPEED: corpus.bytes / 1e6 / measured.seconds,
        "disk bytes/document": size / corpus.documents,
    }
    return with_peak(rates, measured)


def _index(lab: Lab, corpus: Corpus, shingle: str, engine: str, limit: int) -> dict[str, float]:
    done = lab.run(task="index", engine=engine, shingle=shingle, path=corpus.path, limit=limit)
    seconds = done.result["seconds"]
    rates = {RATE: limit / seconds, SPEED: done.result["bytes"] / 1e6 / seconds}
    return with_peak(rates, done.measured)


def _case(options: Options, shingle: str) -> str:
    return f"{shingle}, {options.what()}"


def aims(options: Options) -> list[Aim]:
    """For documents of 3 KB."""
    if not options.as_asked():
        return []
    words, characters = (_case(options, shingle) for shingle in ("word:3", "char:5"))
    found = [
        Aim(NAME, words, RATE, 28_000),
        Aim(NAME, characters, RATE, 20_000),
        Aim(NAME, words, RATE, 8, over="datasketch"),
        Aim(NAME, words, RATE, 2, over="rensa"),
        Aim(NAME, characters, RATE, 2, over="rensa"),
        Aim(NAME, words, RATE, 0.8, over="gaoya"),
        Aim(NAME, characters, RATE, 2, over="gaoya"),
        Aim(NAME, words, PEAK, 500),
        Aim(NAME, characters, PEAK, 500),
    ]
    wanted = {_case(options, shingle) for shingle in options.shingles()}
    return [
        aim
        for aim in found
        if aim.case in wanted and (aim.over is None or aim.over in options.engines)
    ]
