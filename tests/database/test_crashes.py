"""Processes killed with SIGKILL while they change a file: what was acknowledged is there, whole.

The short form of scripts/measure/torture/crashes.py, which says how it is judged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import measure
import pytest

SCRIPTS = Path(measure.__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.app("dedup", "passages", "review")
def test_a_killed_process_leaves_whole_batches(tmp_path: Path) -> None:
    """In a process of its own, which forks."""
    code = (
        f"import sys, json, dataclasses; sys.path.insert(0, {str(SCRIPTS)!r})\n"
        "from measure.torture import crashes\n"
        "tally = crashes.work(seconds=600, directory=sys.argv[1], number=1, kill_points=5, "
        "documents=400)\nprint(json.dumps(dataclasses.asdict(tally)))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["notes"] == []
    assert (found["lost"], found["wrong"], found["tracebacks"]) == (0, 0, 0)
    assert found["faults"] == 5
    assert found["operations"] >= 2 * found["faults"], "each is done again"
