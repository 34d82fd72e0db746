"""Whether the rest works without an app: here with its imports blocked, for a quick answer.

`scripts/check --deletions` deletes the folders in copies of the package.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers import ROOT, unmeasured
from smoke import with_needing
from test_architecture import APPS


@pytest.mark.parametrize("app", [*APPS, "all"])
def test_the_rest_works_without(app: str) -> None:
    """Without an app and those that need it; each rest in one process."""
    gone = [*APPS] if app == "all" else with_needing(app, APPS)
    done = subprocess.run(
        [sys.executable, ROOT / "tests/smoke.py", "--block", *gone],
        env=unmeasured(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
