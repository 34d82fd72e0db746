"""dedup: `lshdb dedup` of a stream with near duplicates, and of collections that fill buckets."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import corpora
from bench_hot import with_seconds
from corpora import Corpus
from figures import OWN, PEAK, RATE, SECONDS, Aim, Figure, collect
from lab import Lab, Options
from processes import lshdb_command, measure

NAME: Final = "dedup"
_SIZE: Final = 1000
_FULL: Final = 1_000_000
_QUICK: Final = 20_000
_HOT_FULL: Final = 100_000
_HOT_QUICK: Final = 5_000
_WORDS: Final = 150
_SHARE: Final = 0.85
"""Of the words of a document, how many are the header."""


def run(lab: Lab) -> list[Figure]:
    """Of lshdb alone: a tenth of the documents are near duplicates of others."""
    options = lab.options
    if OWN not in options.engines:
        return []
    count = options.count(_FULL, _QUICK)
    shingle = options.shingle or "word:3"
    lab.say(f"dedup: {shingle}, {count:,} documents")
    corpus = lab.corpus(count, options.size or _SIZE)

    def measured(_engine: str) -> dict[str, float]:
        done = _dedup(lab, corpus, shingle)
        return {RATE: corpus.documents / done[SECONDS], **done}

    runs = lab.alternate([OWN], measured)[OWN]
    found = collect(NAME, _case(options), OWN, corpus.documents, runs)
    most = options.count(_HOT_FULL, _HOT_QUICK)
    for some in (most // 2, most):
        lab.say(f"dedup: {some:,} copies, {some:,} with a header of {_SHARE:.0%}")
        hot = corpora.write_hot_halves(lab.fresh(".jsonl"), some, _WORDS, _SHARE)
        once = [_dedup(lab, hot, shingle)]
        found += collect(NAME, _hot_case(some), OWN, hot.documents, once)
        hot.path.unlink()
    return found


def _dedup(lab: Lab, corpus: Corpus, shingle: str) -> dict[str, float]:
    output: Path = lab.fresh(".jsonl")
    own = [*lshdb_command(), "dedup", corpus.path, "-o", output, "--shingle", shingle]
    done = with_seconds(measure(own))
    output.unlink()
    return done


def _case(options: Options) -> str:
    shingle = options.shingle or "word:3"
    return f"{shingle}, {options.what(_SIZE)}, {options.count(_FULL, _QUICK):,} documents"


def _hot_case(count: int) -> str:
    return f"{count:,} copies, {count:,} with a header of {_SHARE:.0%}"


def aims(options: Options) -> list[Aim]:
    """Documents/s, and twice as many documents in large buckets take at most 2.5 times as long."""
    if OWN not in options.engines:
        return []
    most = options.count(_HOT_FULL, _HOT_QUICK)
    found = [
        Aim(NAME, _hot_case(most), SECONDS, 2.5, over_case=_hot_case(most // 2)),
        Aim(NAME, _hot_case(most), PEAK, 1000),
    ]
    if options.as_asked(_SIZE):
        found += [Aim(NAME, _case(options), RATE, 12_000), Aim(NAME, _case(options), PEAK, 1000)]
    return found
