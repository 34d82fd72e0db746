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

NOT_YET = {"passages", "programs"}
"""Apps that the core cannot be without today. The list only shrinks."""


@pytest.mark.parametrize("app", APPS)
def test_the_rest_works_without(app: str) -> None:
    """Without an app and those that need it; each rest in one process."""
    gone = with_needing(app, APPS)
    done = subprocess.run(
        [sys.executable, ROOT / "tests/smoke.py", "--block", *gone],
        env=unmeasured(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode > 0) == (app in NOT_YET), done.stdout + done.stderr
