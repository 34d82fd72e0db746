"""Processes killed with SIGKILL while they change a file: what was acknowledged is there, whole.

The short form of scripts/measure/torture/crashes.py, which says how it is judged.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from functools import partial
from pathlib import Path

import measure
import pytest
from helpers import FORK, forked, status_of
from measure.torture import crashes

SCRIPTS = Path(measure.__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.app("dedup", "passages", "review")
def test_a_killed_process_leaves_whole_batches(tmp_path: Path) -> None:
    done = FORK.SimpleQueue()
    work = partial(crashes.work, seconds=600, directory=str(tmp_path), number=1)
    process = forked(lambda: done.put(asdict(work(kill_points=5, documents=400))))
    assert status_of(process) == 0
    found = done.get()
    assert found["notes"] == []
    assert (found["lost"], found["wrong"], found["tracebacks"]) == (0, 0, 0)
    assert found["faults"] == 5
    assert found["operations"] >= 2 * found["faults"], "each is done again"
