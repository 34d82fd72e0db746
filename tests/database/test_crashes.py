"""Processes killed with SIGKILL while they change a file: what was acknowledged is there, whole.

The short form of scripts/measure/torture/crashes.py, which says how it is judged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import measure
import pytest

SCRIPTS = Path(measure.__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def swept(directory: Path, arguments: str, patch: str = "") -> dict[str, Any]:
    """The figures of kills, in a process of their own, which forks."""
    code = (
        f"import sys, json, dataclasses; sys.path.insert(0, {str(SCRIPTS)!r})\n{patch}"
        "from measure.torture import crashes\n"
        f"tally = crashes.work(seconds=600, directory={str(directory)!r}, {arguments})\n"
        "print(json.dumps(dataclasses.asdict(tally)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_killed_process_leaves_whole_batches(tmp_path: Path) -> None:
    found = swept(tmp_path, "number=1, kill_points=5, documents=400")
    assert found["notes"] == []
    assert (found["lost"], found["wrong"], found["tracebacks"]) == (0, 0, 0)
    assert found["faults"] == 5
    assert found["operations"] >= 2 * found["faults"], "each is done again"


BREAKS = {
    "no transactions": (
        "import contextlib, lshdb.store.store as store\n"
        "store.transactions.Transaction = lambda *arguments: contextlib.nullcontext()\n"
        # Each row is then a transaction, and to bring each to the disk would take most of the time.
        "own = store.connect\n"
        "def connect(*arguments, **options):\n"
        "    connection = own(*arguments, **options)\n"
        "    connection.execute('PRAGMA synchronous = OFF')\n"
        "    return connection\n"
        "store.connect = connect\n",
        "wrong",
    ),
    "reported too early": (
        "import lshdb\nimport lshdb.database as database\n"
        "own = database.Database.add_many\n"
        "def add_many(self, documents, *, on_batch=None, **options):\n"
        "    documents = list(documents)\n"
        "    for _ in documents[::15] if on_batch else ():\n"
        "        on_batch(lshdb.AddReport(added=15))\n"
        "    return own(self, documents, **options)\n"
        "database.Database.add_many = add_many\n",
        "lost",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_the_sweep_sees_what_breaks_the_promise(name: str, tmp_path: Path) -> None:
    patch, figure = BREAKS[name]
    never = "import measure.torture.crashes\nmeasure.torture.crashes._TIMED = 1 << 60\n"
    assert swept(tmp_path, "number=4, kill_points=5", patch + never)[figure] > 0
