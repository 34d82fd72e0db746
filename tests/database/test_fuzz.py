"""Whatever comes in: no traceback, no hang, no lost document, nothing that acts on a terminal."""

from __future__ import annotations

from pathlib import Path

from measure.torture import fuzz


def test_a_share_of_the_long_form(tmp_path: Path) -> None:
    tally = fuzz.work(0, 600, str(tmp_path), inputs=800)
    assert tally.faults >= 500
    assert tally.commands
    assert tally.clean, "\n".join(tally.notes)
