"""How characters fold may never change, under any version of Python: files hold hashes of it.

A change here orphans users' files: documents added before and after it no longer find each other.
If a test of this file fails, the code is wrong, not the test. Known answers have all other values.
"""

from __future__ import annotations

import hashlib
from importlib import resources

from lshdb.text.folding import fold


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def test_the_table_of_characters() -> None:
    table = resources.files("lshdb").joinpath("text/unicode14.bin").read_bytes()
    assert digest(table) == "61e16ce502c0818985c58cb60508292a"


def test_the_folding_of_every_character() -> None:
    """Python's Unicode version must not show."""
    # Each between two that never combine, as a call for each takes ten times as long.
    folded = "\0" + fold("\0".join(map(chr, range(1, 0x110000)))).replace("\0", "")
    assert digest(folded.encode("utf-8", "surrogatepass")) == "69a19cd7ac4158a790574766d83e10c1"
