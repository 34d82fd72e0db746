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

from lshdb.folding import fold
from lshdb.hashing import PADDING, constants, span_hash
from lshdb.minhash import make_sketch
from lshdb.model import Content, Shingles, Shingling, SketchName
from lshdb.shingling import shingle

MIXED = "Der Gr\xf6\xdfte \uff0c\u4f60\u597d\u4e16\u754c \uff76\uff9e\u00bd \U0001f600 caf\u0065\u0301!"
ENGLISH = "It is a truth universally acknowledged, that a single man"


def digest(array: npt.NDArray[np.generic]) -> str:
    little_endian = array.astype(array.dtype.newbyteorder("<"))
    return hashlib.sha256(little_endian.tobytes()).hexdigest()


def test_the_table_of_characters() -> None:
    table = resources.files("lshdb").joinpath("unicode14.bin").read_bytes()
    assert hashlib.sha256(table).hexdigest() == (
        "75c4debd0d67c839d4cdae0458a9b087f1f5676be55d99727ef76a8c56c83992"
    )


def test_the_folding_of_every_character() -> None:
    """Python's Unicode version must not show."""
    folded = "".join(fold(chr(code_point)) for code_point in range(0x110000))
    assert hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest() == (
        "c6a4890c80f7d14be342377d95c5dd1a23e8a834f0e52327a954dcef8f7ef5e5"
    )


@pytest.mark.parametrize(
    ("seed", "label", "expected"),
    [
        (0, "span char", [8012283910781090889, 6523187571858582259]),
        (1, "span char", [4774045780985176355, 13970505732632951457]),
        (1, "span word", [10867381894777977195, 17135403436774061587]),
        (1, "span string", [12686365090056342605, 13794967165235377147]),
        (1, "span integer", [89801497783524553, 4823955003262972945]),
        (1, "span big integer", [7698062372511791927, 3203087767423256997]),
        (1, "word places", [18281589022067717125, 2656335550797715429]),
        (1, "fast first round", [2741496372867333995, 15086005327786243475]),
        (1, "fast rounds", [3689200832033181951, 9389753899930493229]),
        (1, "fast multipliers", [9680929504813488417, 6330342732937573419]),
        (1, "minhash multipliers", [13843673957186749203, 17488509476354315611]),
        (1, "minhash factors", [6098115523505488575, 8512330467084624673]),
        (1, "minhash terms", [11471354528054578141, 15286136462402053407]),
        ((1 << 63) - 1, "minhash terms", [6571785870459551957, 12608156588100423589]),
    ],
)
def test_constants(seed: int, label: str, expected: list[int]) -> None:
    assert constants(seed, label, 2).tolist() == expected


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (b"", 10719896725609251273),
        (b"a", 3175382488522204835),
        (b"a\0", 1796840579913344290),
        (b"12345678", 6113448443236336304),
        (b"123456789", 3101167003411129496),
        (bytes(range(24)), 5530919667835564580),
        (bytes(range(256)), 18122315000084555578),
        (bytes(range(256)) + b"\xff", 5115728061111429567),
        (b"lshdb" * 1000, 17826986906159822433),
    ],
)
def test_span_hashes(span: bytes, expected: int) -> None:
    starts, lengths = np.array([0]), np.array([len(span)])
    assert span_hash(1, "char").spans(span + bytes(PADDING), starts, lengths) == [expected]


@pytest.mark.parametrize(
    ("content", "shingling", "seed", "count", "first", "whole"),
    [
        (
            ENGLISH, "word:3", 1, 8,
            [16372163123741562939, 2965914829187221440],
            "a79a29570cf58a44dbc1263a192603ee7878d532ca3e9d80cd5d11b119a99211",
        ),
        (
            ENGLISH, "word:3", 20, 8,
            [2793328408474026495, 6778970534464922969],
            "7f51e059731bf9de07d98f86110ca777f840280d17118bb3d1096202a92ee03c",
        ),
        (
            MIXED, "word:3", 1, 8,
            [13736574321092823563, 11550661226420177063],
            "a18e23436eb9f79f3a82f73f8d74c34ecce6bcae2997a5082361e952618cf54a",
        ),
        (
            MIXED, "word:3", 20, 8,
            [9155408118672145297, 14711712344448623861],
            "20adfb4bcaf2b9002b387dd655c01a7aec08eec9a882a4d3eec3c97c41b74602",
        ),
        (
            ENGLISH, "char:5", 1, 53,
            [16894596594292970651, 12629865770344310807],
            "57f37a5bf87e7251e5aaacf272c00a849dbaf8038c0bad656eecfa474c42c655",
        ),
        (
            ENGLISH, "char:5", 20, 53,
            [589369963121478497, 7342428387835582870],
            "bdadef6d6df61f525a57ad6c8fcedfd27a9bfed5bad48c2074cac792d5d59503",
        ),
        (
            MIXED, "char:5", 1, 26,
            [7463883416748825822, 15314903534078708283],
            "9b461d9f9ba7843982eabf90b69ef60e1e06ecc21eddd4841966ce44222db6d1",
        ),
        (
            MIXED, "char:5", 20, 26,
            [1819937320133120031, 4685628480775018055],
            "a7f184436cf2cb3914fe213b480863c023cdf637c4613a356c65f3663dafc122",
        ),
        (
            MIXED * 9, "char:40", 1, 231,
            [14991095736502245925, 5658093742350196279],
            "d1be0f2c26fe6caa518ced592133f2184699a5fa19ff56bd4160578a45680682",
        ),
        (
            "two words", "word:3", 1, 1,
            [1878436352529929285],
            "eaa73dcb4dddb16be6178bad6a31ed7282c98a830a184ddda186088eca60c509",
        ),
        (
            "f\xfcnf", "char:5", 1, 1,
            [17913856729542485287],
            "52c224a040d985630dbeea34b4dfc287abf36daf0ddee1716354b12ca7bafdf5",
        ),
        (
            ["", "a", "\xe9", "x" * 300], "set", 1, 4,
            [10387412416665565552, 6696666133314554579],
            "6fcab085b54541a23abab94cfbc3a059e671967a08c4723d6b476c78d9939029",
        ),
        (
            ["", "a", "\xe9", "x" * 300], "set", 20, 4,
            [9918281578710483827, 6055053293700736340],
            "f39e7d4ca323b392cb2bc513ab36b1fd628278cdff01c7157a4c7311a4fe56d0",
        ),
        (
            [1, "1", -1, 0, -(1 << 63), 1 << 63, -(1 << 99)], "set", 1, 7,
            [7597843125807115584, 6836553463011084604],
            "b047fe3467eba3af92b44e30d576d0b3969b1f7bc7a343ccc0c699451514dac7",
        ),
        (
            [1, "1", -1, 0, -(1 << 63), 1 << 63, -(1 << 99)], "set", 20, 7,
            [14000494341135655775, 14582426790376424560],
            "b841a5158e55360cbd5d8035cbb35cb0d05d611d222ad50a6a507cc298e5f09d",
        ),
    ],
)
def test_shingle_hashes(
    content: Content, shingling: str, seed: int, count: int, first: list[int], whole: str
) -> None:
    hashes = shingle([content], Shingling.parse(shingling), seed).hashes
    assert (len(hashes), hashes[:2].tolist(), digest(hashes)) == (count, first, whole)


@pytest.mark.parametrize(
    ("name", "lanes", "seed", "first", "whole"),
    [
        (
            "fast", 128, 1, [3219590, 45498894, 72078906, 114551269],
            "ad5f57a9b5e66d7694aad03c1cd9792f7ddf7ceb34dea38cfa5341cfaf23d13c",
        ),
        (
            "fast", 100, 1, [3219590, 72078906, 114551269, 160030373],
            "0cd864795c5b2e619878efd4984da21c2b32e49aea54b65b7d82ea210f6da113",
        ),
        (
            "fast", 128, 20, [26372455, 35419116, 98307541, 116967595],
            "af47d89d12a14afa398f8cfa1eeedf719d668a537348660079f31b681ae79ce6",
        ),
        (
            "minhash", 128, 1, [141575674, 460200137, 1312622346, 423681974],
            "afadbcf65954b61d30bdc294ae8b931711474339ea51260747c37493f05b68fb",
        ),
        (
            "minhash", 100, 1, [141575674, 460200137, 1312622346, 423681974],
            "cd5029944323b12c921424d6911df3495412ffa0ee8b12d666dccc41771e7132",
        ),
        (
            "minhash", 128, 20, [515894570, 246970255, 1110794709, 267304356],
            "111ff1ee71fb674296a49f645d314e0860875f2043f00a8919867dec4324cc96",
        ),
    ],
)
def test_signatures(
    name: SketchName, lanes: int, seed: int, first: list[int], whole: str
) -> None:
    """Of documents of no, one, seven, 90 and 3,000 shingles; the first lanes are the seven's."""
    counts = [0, 1, 7, 90, 3000]
    hashes = np.arange(sum(counts), dtype=np.uint64) ** np.uint64(5)
    shingles = Shingles(hashes, np.cumsum([0, *counts]))
    signatures = make_sketch(name, lanes, seed).signatures(shingles)
    assert (signatures[2, :4].tolist(), digest(signatures)) == (first, whole)


def test_from_text_to_signature() -> None:
    shingles = shingle([ENGLISH, MIXED], Shingling.parse("char:5"), 1)
    signatures = make_sketch("fast", 128, 1).signatures(shingles)
    assert digest(signatures) == (
        "9a4d5918434b7333f44e3c26f4f2d335bda6796cfdbc7d852c36ac395535de8a"
    )
