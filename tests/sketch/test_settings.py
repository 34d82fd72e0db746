"""What settings say to people."""

from __future__ import annotations

from lshdb.maintain.resolve import resolve
from lshdb.options import SettingsOptions
from lshdb.sketch.settings import purpose_in_words


def test_a_recall_below_the_usual_one_is_said() -> None:
    finds = "finds texts that share 80% or more of their runs of 3 words"
    for recall, more in ((0.99, ""), (0.9, " (90.0% of those at 80%)")):
        assert purpose_in_words(resolve(SettingsOptions(recall=recall))) == finds + more
