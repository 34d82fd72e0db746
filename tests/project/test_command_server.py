"""The processes that tests copy to run a command."""

from __future__ import annotations

import os
from pathlib import Path

import command_server
import pytest


def test_one_that_does_not_start_is_one_sentence(tmp_path: Path) -> None:
    null, other, third = (os.open(os.devnull, os.O_RDWR) for _ in range(3))
    with pytest.raises(RuntimeError, match=r"ended: ModuleNotFoundError: .*'absent'$"):
        command_server.start(["info"], tmp_path, {}, 60, (null, other, third), ("absent",))
    with pytest.raises(OSError, match="descriptor"):
        os.close(null)
