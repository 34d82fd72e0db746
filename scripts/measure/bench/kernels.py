"""kernels: shingles and signatures alone, in memory, on one core. Five minutes with all peers."""

from __future__ import annotations

from functools import partial
from typing import Final

from measure.harness import engines
from measure.harness.figures import SPEED, Values
from measure.harness.lab import SIZE, Job, Lab

_AIMS: Final = {"char:5": 80.0, "word:3": 100.0}
"""MB/s for ASCII documents of 3 KB; half of it for the other sizes and alphabets."""
_KINDS: Final = (
    (SIZE, "ASCII"),
    (200, "ASCII"),
    (200_000, "ASCII"),
    (SIZE, "accented"),
    (SIZE, "Cyrillic"),
    (SIZE, "Chinese"),
)
_ONE_CORE: Final = dict.fromkeys(
    ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)


def run(lab: Lab) -> None:
    """Speed is in bytes of UTF-8. Quick: the first of the kinds."""
    options = lab.options
    kinds = _KINDS[:1] if options.quick else _KINDS
    generated = options.input is None and options.size is None
    total = 1_000_000 if options.quick else 4_000_000
    names = [kind for name in options.engines for kind in engines.sketchers(name)]
    jobs: list[Job] = []
    for shingle in options.shingles():
        for size, alphabet in kinds if generated else kinds[:1]:
            maximum = max(1, total // (options.size or size))
            corpus = lab.corpus(min(maximum, options.documents or maximum), size, alphabet)
            case = f"{shingle}, {corpus.what}" + ("" if alphabet == "ASCII" else f", {alphabet}")
            for engine in names:
                # Its words end at white space: Chinese text has none, and few words cost little.
                if engine == "gaoya" and shingle.startswith("word") and alphabet == "Chinese":
                    continue
                limit = engines.enough(engine, corpus.documents)
                one = partial(_sketch, lab, engine, shingle, corpus.path, limit)
                jobs.append(Job(case, limit, one, engine))
            if shingle in _AIMS:
                usual = (size, alphabet) == _KINDS[0]
                lab.aim(case, SPEED, _AIMS[shingle] / (1 if usual else 2))
    lab.measure(jobs)


def _sketch(lab: Lab, engine: str, shingle: str, path: object, limit: int) -> Values:
    seconds = 0.05 if lab.options.quick else 0.5
    done = lab.task(
        "kernels",
        variables=_ONE_CORE,
        engine=engine,
        shingle=shingle,
        path=path,
        limit=limit,
        seconds=seconds,
    )
    return done.result
