"""Files that are no texts are known by their first bytes, as Python's own modules write them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import zipfile

import numpy as np
import pytest

from lshdb.read.kinds import binary_kind


def zipped(*names: str) -> bytes:
    with zipfile.ZipFile(data := io.BytesIO(), "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return data.getvalue()


def numpy_file() -> bytes:
    np.save(data := io.BytesIO(), np.arange(3))
    return data.getvalue()


WRITTEN = {
    "bzip2": [bz2.compress(b"text", level) for level in range(1, 10)],
    "gzip": [gzip.compress(b"text")],
    "xz": [lzma.compress(b"text")],
    "pickle": [pickle.dumps(["text"], protocol) for protocol in range(2, 6)],
    "ZIP": [zipped()],
    "NumPy": [numpy_file()],
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_python_writes_is_known(kind: str) -> None:
    assert {binary_kind(data) for data in WRITTEN[kind]} == {kind}


def test_a_text_is_no_such_file() -> None:
    for text in ("", "BZh is no header", "PK", "a text", "\x80"):
        assert binary_kind(text.encode()) is None
