"""kernels: normalising, shingling and sketching in memory, on one core."""

from __future__ import annotations

from typing import Any, Final

import engines
from figures import OWN, SPEED, Aim, Figure
from lab import SIZE, Lab, Options, size_name

NAME: Final = "kernels"
_AIMS: Final = {"char:5": 80.0, "word:3": 100.0}
"""MB/s for ASCII documents of 3 KB; half of it for the other sizes and alphabets."""
_SIZES: Final = (SIZE, 200, 200_000)
_ALPHABETS: Final = ("accented", "Cyrillic", "Chinese")
_SLOW: Final = 0.2
"""Of the documents, how many are enough for a peer whose shingles are made in Python."""
_ONE_CORE: Final = dict.fromkeys(
    ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)


def run(lab: Lab) -> list[Figure]:
    """Every engine goes through all cases in one process; speed is in bytes of UTF-8."""
    cases = _cases(lab)
    lab.say(f"kernels: {len(cases)} cases")
    names = [kind for name in lab.options.engines for kind in engines.sketchers(name)]

    def measured(engine: str) -> dict[str, float]:
        share = 1.0 if engine in (OWN, "lshdb numpy", "gaoya") else _SLOW
        own: list[dict[str, Any]] = [
            {**case, "limit": max(1, round(case["documents"] * share))}
            for case in cases
            if _able(engine, case["case"])
        ]
        seconds = 0.05 if lab.options.quick else 0.5
        done = lab.run(task=NAME, engine=engine, cases=own, seconds=seconds, variables=_ONE_CORE)
        return dict(done.result)

    runs = lab.alternate(names, measured)
    return [
        Figure(
            NAME,
            case["case"],
            engine,
            SPEED,
            case["documents"],
            tuple(values[case["case"]] for values in runs[engine]),
        )
        for case in cases
        for engine in names
        if _able(engine, case["case"])
    ]


def _able(engine: str, case: str) -> bool:
    """Gaoya's words end at white space: Chinese text has none, and few words are soon hashed."""
    return not (engine == "gaoya" and case.startswith("word") and case.endswith("Chinese"))


def _cases(lab: Lab) -> list[dict[str, Any]]:
    options = lab.options
    total = 1_000_000 if options.quick else 4_000_000
    own_documents = options.input is not None or options.size is not None
    kinds = [(options.size or SIZE, "ASCII")]
    if not own_documents:
        kinds = [(size, "ASCII") for size in _SIZES] + [(SIZE, kind) for kind in _ALPHABETS]
    found: list[dict[str, Any]] = []
    for shingle in options.shingles():
        for size, alphabet in kinds:
            most = max(1, total // size)
            corpus = lab.corpus(min(most, options.documents or most), size, alphabet)
            name = _case(shingle, options.what() if own_documents else size_name(size), alphabet)
            found.append(
                {
                    "case": name,
                    "shingle": shingle,
                    "path": str(corpus.path),
                    "documents": corpus.documents,
                }
            )
    return found


def _case(shingle: str, what: str, alphabet: str) -> str:
    return f"{shingle}, {what}" + ("" if alphabet == "ASCII" else f", {alphabet}")


def aims(options: Options) -> list[Aim]:
    """Of the generated documents only."""
    if options.input is not None or options.size is not None:
        return []
    found: list[Aim] = []
    for shingle, bound in _AIMS.items():
        for size in _SIZES:
            least = bound if size == SIZE else bound / 2
            found.append(Aim(NAME, _case(shingle, size_name(size), "ASCII"), SPEED, least))
        found += [
            Aim(NAME, _case(shingle, size_name(SIZE), alphabet), SPEED, bound / 2)
            for alphabet in _ALPHABETS
        ]
    return [aim for aim in found if aim.case.partition(",")[0] in options.shingles()]
