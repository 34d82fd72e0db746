"""Pairs of directories that share files, against a brute-force search of all of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest
from helpers import database_of

from lshdb.apps.folders.folders import folder_pairs
from lshdb.database import store_of
from lshdb.options import ClustersOptions


def is_below(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder}/")


@pytest.mark.parametrize("seed", range(6))
def test_folder_pairs_are_those_of_a_search_of_all_directories(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = [f"{a}{b}{c}" for a in ("a", "a-b", "e") for b in ("", "/c", "/d") for c in ("", "/e")]
    texts = [" ".join(rng.choices("abcdefghijklmnop", k=40)) for _ in range(12)]
    contents = {
        f"{rng.choice(names)}/{number}": rng.choice(texts) + " and more" * rng.randrange(2)
        for number in range(rng.randrange(10, 60))
    } | {"top": texts[0]}
    with database_of(tmp_path / "lsh.db", contents, threshold=0.8) as db:
        cluster = {key: one.cluster for one in db.clusters() for key in one.members}
        found = folder_pairs(store_of(db), ClustersOptions())
        assert folder_pairs(store_of(db), ClustersOptions(top=1)) == found[:1]
    folders = sorted({str(above) for key in contents for above in PurePosixPath(key).parents})
    below = {folder: [key for key in contents if is_below(key, folder)] for folder in folders}

    def shared(one: str, other: str, group: Mapping[str, object]) -> list[str]:
        its = {group[key] for key in below[other] if key in group}
        return [key for key in below[one] if key in group and group[key] in its]

    ranked = []
    for one in folders:
        for other in folders:
            if is_below(one, other) or is_below(other, one) or one > other:
                continue
            own, its = len(shared(one, other, cluster)), len(shared(other, one, cluster))
            shares = own / len(below[one]), its / len(below[other])
            if max(shares) >= 0.5:
                size = len(below[one]) + len(below[other])
                length = -len(one.strip(".")) - len(other.strip("."))
                ranked.append((-(own + its) * sum(shares), size, length, one, other))
    chosen: list[tuple[str, str]] = []
    for *_, one, other in sorted(ranked):
        if not any(
            (is_below(one, a) or is_below(a, one)) and (is_below(other, b) or is_below(b, other))
            for pair in chosen
            for a, b in (pair, pair[::-1])
        ):
            chosen.append((one, other))
    assert {tuple(sorted((row.a, row.b))) for row in found} == set(chosen)
    assert [row.bytes for row in found] == sorted((row.bytes for row in found), reverse=True)
    for row in found:
        files, others = shared(row.a, row.b, cluster), shared(row.b, row.a, cluster)
        assert row.files == len(files)
        assert row.a_share == len(files) / len(below[row.a]) >= row.b_share
        assert row.b_share == len(others) / len(below[row.b])
        assert row.bytes == sum(len(contents[key]) for key in files)
        assert row.a_size_share == row.bytes / sum(len(contents[key]) for key in below[row.a])
        same = [key for key in files if key in shared(row.a, row.b, contents)]
        assert row.identical == len(same)
        assert row.identical_bytes == sum(len(contents[key]) for key in same)
