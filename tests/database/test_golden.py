"""Values that may never change, on any platform, under any version of Python or numpy.

Shingle hashes, signatures and what they are built on are part of the file format: users' files
hold signatures and bucket keys made of them. A change here orphans those files: documents added
before and after it no longer find each other. If a test of this file fails, the code is wrong,
not the test.
"""

from __future__ import annotations

import hashlib
from importlib import resources

import numpy as np
import numpy.typing as npt
import pytest
from helpers import shingle

from lshdb.shingling.folding import fold
from lshdb.shingling.shingling import Content, Shingles, Shingling
from lshdb.sketching.minhash import make_sketch
from lshdb.sketching.settings import SketchName

ENGLISH = "It is a truth universally acknowledged, that a single man"
MIXED = "Der Gr\xf6\xdfte \uff0c\u4f60\u597d\u4e16\u754c \uff76\uff9e\xbd \U0001f600 cafe\u0301!"
SHORT = "f\xfcnf"
STRINGS = ["", "a", "\xe9", "x" * 300]
INTEGERS = [1, "1", -1, 0, -(1 << 63), 1 << 63, -(1 << 99)]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def array_digest(array: npt.NDArray[np.generic]) -> str:
    return digest(array.astype(array.dtype.newbyteorder("<")).tobytes())


def test_the_table_of_characters() -> None:
    table = resources.files("lshdb").joinpath("shingling/unicode14.bin").read_bytes()
    assert digest(table) == "61e16ce502c0818985c58cb60508292a"


def test_the_folding_of_every_character() -> None:
    """Python's Unicode version must not show."""
    # Each between two that never combine, as a call for each takes ten times as long.
    folded = "\0" + fold("\0".join(map(chr, range(1, 0x110000)))).replace("\0", "")
    assert digest(folded.encode("utf-8", "surrogatepass")) == "69a19cd7ac4158a790574766d83e10c1"


@pytest.mark.parametrize(
    ("content", "shingling", "seed", "count", "first", "all_of_them"),
    [
        (ENGLISH, "word:3", 1, 8, 16372163123741562939, "a79a29570cf58a44dbc1263a192603ee"),
        (ENGLISH, "word:3", 20, 8, 2793328408474026495, "7f51e059731bf9de07d98f86110ca777"),
        (MIXED, "word:3", 1, 8, 13736574321092823563, "a18e23436eb9f79f3a82f73f8d74c34e"),
        (MIXED, "word:3", 20, 8, 9155408118672145297, "20adfb4bcaf2b9002b387dd655c01a7a"),
        (ENGLISH, "char:5", 1, 53, 16894596594292970651, "57f37a5bf87e7251e5aaacf272c00a84"),
        (ENGLISH, "char:5", 20, 53, 589369963121478497, "bdadef6d6df61f525a57ad6c8fcedfd2"),
        (MIXED, "char:5", 1, 26, 7463883416748825822, "9b461d9f9ba7843982eabf90b69ef60e"),
        (MIXED, "char:5", 20, 26, 1819937320133120031, "a7f184436cf2cb3914fe213b480863c0"),
        (MIXED * 9, "char:40", 1, 231, 14991095736502245925, "d1be0f2c26fe6caa518ced592133f218"),
        ("two words", "word:3", 1, 1, 1878436352529929285, "eaa73dcb4dddb16be6178bad6a31ed72"),
        (SHORT, "char:5", 1, 1, 17913856729542485287, "52c224a040d985630dbeea34b4dfc287"),
        (STRINGS, "set", 1, 4, 10387412416665565552, "17cf39d97ce622c8ed7369c9a19d718a"),
        (STRINGS, "set", 20, 4, 9918281578710483827, "58fc64f69aa111f445ce1b88510c58ad"),
        (INTEGERS, "set", 1, 7, 7597843125807115584, "b047fe3467eba3af92b44e30d576d0b3"),
        (INTEGERS, "set", 20, 7, 14000494341135655775, "b841a5158e55360cbd5d8035cbb35cb0"),
    ],
)
def test_shingle_hashes(
    content: Content, shingling: str, seed: int, count: int, first: int, all_of_them: str
) -> None:
    hashes = shingle([content], Shingling.parse(shingling), seed).hashes
    assert (len(hashes), hashes[0], array_digest(hashes)) == (count, first, all_of_them)


@pytest.mark.parametrize(
    ("name", "lanes", "seed", "first_lanes", "all_of_them"),
    [
        ("fast", 128, 1, [3219590, 45498894], "ad5f57a9b5e66d7694aad03c1cd9792f"),
        ("fast", 100, 1, [3219590, 72078906], "0cd864795c5b2e619878efd4984da21c"),
        ("fast", 128, 20, [26372455, 35419116], "af47d89d12a14afa398f8cfa1eeedf71"),
        ("minhash", 128, 1, [251905020, 2834300289], "fdcaae0f72b236d46e7db9689fedf502"),
        ("minhash", 100, 1, [251905020, 2834300289], "8da6451ac1facda297f4f5359f30a068"),
        ("minhash", 128, 20, [2764514727, 4203704749], "2e1c976cb36080ec4759211155ce7ef1"),
    ],
)
def test_signatures(
    name: SketchName, lanes: int, seed: int, first_lanes: list[int], all_of_them: str
) -> None:
    """Of documents of no, one, seven, 90 and 3,000 shingles; the first lanes are the seven's."""
    counts = [0, 1, 7, 90, 3000]
    hashes = np.arange(sum(counts), dtype=np.uint64) ** np.uint64(5)
    shingles = Shingles(hashes, np.cumsum([0, *counts]))
    signatures = make_sketch(name, lanes, seed).signatures(shingles)
    assert signatures[2, :2].tolist() == first_lanes
    assert array_digest(signatures) == all_of_them
