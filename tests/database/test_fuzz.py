"""Whatever comes in: no traceback, no hang, no lost document, nothing that acts on a terminal."""

from __future__ import annotations

from pathlib import Path

from measure.torture import fuzz
from measure.torture.trial import fault_in, run, run_installed


def test_a_share_of_the_long_form(tmp_path: Path) -> None:
    tally = fuzz.work(0, 600, str(tmp_path), inputs=800)
    assert tally.faults >= 500
    assert tally.commands
    assert tally.clean, "\n".join(tally.notes)


def test_a_traceback_would_be_seen(tmp_path: Path) -> None:
    """The judge itself: it must not let everything pass."""
    for way in (run, run_installed):
        ended = way(["info", "-d", str(tmp_path / "no.db")])
        assert (ended.status, ended.defect) == (1, "")
        assert "no.db" in ended.err
    assert fault_in("a\x1b[31m", "", 0)
    assert fault_in("", "", 1)
    assert fault_in("", "lshdb: x", 3)
    assert fault_in("", "Traceback (most recent call last)", 1)
    assert not fault_in("a\tb\n", "lshdb: x", 1)
