"""The compiled kernels are made once, kept, and done without where they cannot be had."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lshdb import acceleration
from lshdb.columns import Texts
from lshdb.shingling.content import digests

pytest.importorskip("numba", reason="the extra `speed` is not installed")

SPEED_UP = """
import sys
from lshdb import acceleration
print(acceleration.load_kernels(), acceleration.speed_up(), "numba" in sys.modules)
"""
LOAD = "from lshdb import acceleration; print(acceleration.load_kernels())"


def run(code: str, directory: Path, **environment: str) -> str:
    """What a process prints that has its own directory for code."""
    places = {"PYTHONPYCACHEPREFIX": str(directory), "XDG_CACHE_HOME": str(directory / "caches")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | places | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A directory in which kernels were made, and the file with their code."""
    directory = tmp_path_factory.mktemp("made")
    assert run(SPEED_UP, directory) == "False True True"
    (file,) = directory.rglob("kernels-*")
    return directory, file


def test_kernels_are_made_once(made: tuple[Path, Path]) -> None:
    assert run(SPEED_UP, made[0]) == "True True False"


@pytest.mark.parametrize("change", ["cut", "other", "no header", "empty"])
def test_a_damaged_file_is_not_run(made: tuple[Path, Path], tmp_path: Path, change: str) -> None:
    data = made[1].read_bytes()
    middle = len(data) // 2
    changed = {
        "cut": data[:-1],
        "other": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
        "no header": data.partition(b"\n")[2],
        "empty": b"",
    }
    file = tmp_path / made[1].relative_to(made[0])
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    assert run(LOAD, tmp_path) == "True"
    file.write_bytes(changed[change])
    assert run(LOAD, tmp_path) == "False"
    if change == "cut":
        assert run(SPEED_UP, tmp_path) == "False True True"
        assert file.read_bytes() == data, "it is made anew"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
def test_code_of_another_user_is_not_run(made: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / made[1].relative_to(made[0])
    file.parent.mkdir(parents=True)
    file.write_bytes(made[1].read_bytes())
    assert run(LOAD, tmp_path) == "True"
    os.chown(file, 12345, -1)
    assert run(LOAD, tmp_path) == "False"


def test_where_python_keeps_no_code_the_user_s_caches_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    caches = tmp_path / "caches"
    environment = {"PYTHONPYCACHEPREFIX": str(tmp_path / "file"), "XDG_CACHE_HOME": str(caches)}
    assert run(SPEED_UP, tmp_path, **environment) == "False True True"
    assert [*(caches / "lshdb").iterdir()]
    assert run(LOAD, tmp_path, **environment) == "True"


def test_where_nothing_can_be_kept_they_are_made_all_the_same(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    environment = {"PYTHONPYCACHEPREFIX": str(nowhere), "XDG_CACHE_HOME": str(nowhere)}
    assert run(SPEED_UP, tmp_path, **environment) == "False True True"


@pytest.mark.parametrize("library", ["numba", "llvmlite"])
@pytest.mark.parametrize(
    "broken", ["raise ImportError('not for this processor')", "raise RuntimeError('no cache')"]
)
def test_a_library_that_does_not_load_is_done_without(
    tmp_path: Path, library: str, broken: str
) -> None:
    (tmp_path / f"{library}.py").write_text(broken)
    found = run(SPEED_UP, tmp_path, PYTHONPATH=str(tmp_path))
    assert found.startswith("False False")


@settings(deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=40), st.sampled_from([1, 16, 127, 128, 129]))
@example([b""] * 9, 1)
@example([b"a" * 128] * 8 + [b"b" * 256, b""], 128)
def test_digests_are_those_of_hashlib(messages: list[bytes], times: int) -> None:
    assert acceleration.speed_up()
    messages = [message * (times if i % 3 else 1) for i, message in enumerate(messages)]
    found = digests(Texts(b"".join(messages), np.array([*map(len, messages)], dtype=np.int64)))
    acceleration.slow_down()
    assert found == [hashlib.blake2b(message, digest_size=16).digest() for message in messages]


def test_an_array_of_another_kind_is_refused() -> None:
    assert acceleration.speed_up()
    kernels = acceleration.kernels()
    out = np.zeros(4, dtype=np.uint8)
    octets = np.frombuffer(b"aB ~", dtype=np.uint8)
    kernels.fold_words(octets, 4, out)
    assert out.tobytes() == b"ab\0\0"
    for wrong in (octets.astype(np.int64), np.repeat(octets, 2)[::2]):
        with pytest.raises(TypeError):
            kernels.fold_words(wrong, 4, out)
    with pytest.raises(ValueError, match="shorter"):
        kernels.fold_words(octets, 4)
    acceleration.slow_down()
