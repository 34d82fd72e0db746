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
from measure.torture import crashes

SCRIPTS = Path(measure.__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_a_killed_process_leaves_whole_batches() -> None:
    found = crashes.run(kill_points=5, documents=400)
    assert found["notes"] == []
    assert (found["lost"], found["wrong"], found["tracebacks"]) == (0, 0, 0)
    assert found["faults"] == 5
    assert found["operations"] >= 2 * found["faults"], "each is done again"


BREAKS = {
    "no transactions": (
        "import contextlib, lshdb.store.store as store\n"
        "store.Transaction = lambda *arguments: contextlib.nullcontext()\n"
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
        "import lshdb.database as database\n"
        "own = database.Database.add_many\n"
        "def add_many(self, documents, *, on_batch=None, **options):\n"
        "    documents = list(documents)\n"
        "    for _ in documents[::15] if on_batch else ():\n"
        "        on_batch(database.AddReport(added=15))\n"
        "    return own(self, documents, **options)\n"
        "database.Database.add_many = add_many\n",
        "lost",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_the_sweep_sees_what_breaks_the_promise(name: str) -> None:
    patch, figure = BREAKS[name]
    code = (
        f"import sys, json, dataclasses; sys.path.insert(0, {str(SCRIPTS)!r})\n{patch}"
        "from measure.torture import crashes\n"
        "crashes._TIMED = 1 << 60\n"
        "print(json.dumps(dataclasses.asdict(crashes.sweep(5, 600, seed=4))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[figure] > 0
