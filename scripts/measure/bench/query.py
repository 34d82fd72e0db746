"""query: one document against many, from Python; sketched, looked up, and (lshdb) verified."""

from __future__ import annotations

from typing import Final

from corpora import HOT
from figures import OWN, P50, P99, Aim, Figure, collect
from lab import SIZE, Lab, Options, size_name, with_peak

NAME: Final = "query"
_FULL: Final = (10_000, 100_000)
_QUICK: Final = (5_000, 20_000)


def run(lab: Lab) -> list[Figure]:
    """Peers are measured among the fewer documents only: their time to index is not the point."""
    options = lab.options
    shingle = options.shingle or "word:3"
    found: list[Figure] = []
    measured_before = 0
    for place, count in enumerate(_counts(options)):
        corpus = lab.corpus(count, options.size or SIZE)
        if corpus.documents == measured_before:
            break  # the user's own documents are no more than that
        measured_before = corpus.documents
        queries = lab.queries(corpus, 200 if options.quick else 1000)
        lab.say(f"query: {shingle}, among {corpus.documents:,} documents")
        own = lab.database(corpus, shingle) if OWN in options.engines else None

        def measured(engine: str) -> dict[str, float]:
            done = lab.run(
                task=NAME,
                engine=engine,
                shingle=shingle,
                path=corpus.path,  # noqa: B023  (called in this turn of the loop)
                limit=corpus.documents,  # noqa: B023
                queries=queries,  # noqa: B023
                database=own if engine == OWN else None,  # noqa: B023
            )
            return with_peak(done.result, done.measured)

        names = [name for name in options.engines if name == OWN or place == 0]
        for engine, runs in lab.alternate(names, measured).items():
            found += collect(NAME, _case(options, corpus.documents), engine, corpus.documents, runs)
        if own is not None:
            own.unlink()
    if OWN in options.engines:
        for kind in HOT:
            found += _hot(lab, kind)
    return found


def _hot(lab: Lab, kind: str) -> list[Figure]:
    """The ten best of a bucket that holds all documents."""
    options = lab.options
    count = _counts(options)[-1]
    lab.say(f"query: the 10 best, among {count:,} {kind}")
    corpus = lab.hot_corpus(kind, count, options.size or SIZE)
    database = lab.database(corpus, options.shingle or "word:3")

    def measured(_: str) -> dict[str, float]:
        repeat = 10 if options.quick else 50
        done = lab.run(task="hot", database=database, path=corpus.path, repeat=repeat)
        return with_peak(done.result, done.measured)

    runs = lab.alternate([OWN], measured)[OWN]
    database.unlink()
    return collect(NAME, _hot_case(options, kind), OWN, count, runs)


def _hot_case(options: Options, kind: str) -> str:
    size = size_name(options.size or SIZE)
    shingle = options.shingle or "word:3"
    return f"{shingle}, {size}, top 10, among {_counts(options)[-1]:,} {kind}"


def _counts(options: Options) -> tuple[int, ...]:
    if options.documents is not None:
        return (options.documents,)
    return _QUICK if options.quick else _FULL


def _case(options: Options, count: int) -> str:
    return f"{options.shingle or 'word:3'}, {options.what()}, among {count:,}"


def aims(options: Options) -> list[Aim]:
    """For documents of 3 KB; 2 ms was the aim before 1 ms was."""
    if not options.as_asked():
        return []
    cases = [_case(options, count) for count in _counts(options)]
    found = [Aim(NAME, case, P50, 1) for case in cases]
    found += [Aim(NAME, case, P99, 5) for case in cases]
    found += [Aim(NAME, _hot_case(options, kind), P50, 50) for kind in HOT]
    return [*found, Aim(NAME, cases[-1], P50, 2)]
