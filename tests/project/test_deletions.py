"""Whether the rest works without an app: here with its imports blocked, for a quick answer.

`scripts/check --deletions` deletes the folders in copies of the package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT, unmeasured
from project.test_architecture import APPS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_rest_works_without_each_app(tmp_path: Path) -> None:
    """Without each app and those that need it, one alone, and all; see tests/smoke.py."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests/smoke.py", "--block"],
        env=unmeasured() | {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("without ") == len(APPS) + 2  # also all, and programs alone
