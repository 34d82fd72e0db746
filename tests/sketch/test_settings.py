"""What settings say to people, and which signatures can be compared."""

from __future__ import annotations

import pytest

import lshdb
from lshdb.apps.signatures.signature_sets import check_comparable
from lshdb.errors import SettingsMismatch
from lshdb.maintain.resolve import resolve
from lshdb.options import SettingsOptions
from lshdb.sketch.settings import purpose_in_words


def test_a_recall_below_the_usual_one_is_said() -> None:
    finds = "finds texts that share 80% or more of their runs of 3 words"
    for recall, more in ((0.99, ""), (0.9, " (90.0% of those at 80%)")):
        assert purpose_in_words(resolve(SettingsOptions(recall=recall))) == finds + more


def test_signatures_of_other_programs_are_not_compared() -> None:
    made, other = (lshdb.Sketching.foreign(name, 128) for name in "xy")
    check_comparable("lsh.db", made, made)
    says = "lsh.db has shingle foreign:x, and the documents are compared by foreign:y"
    with pytest.raises(SettingsMismatch, match=says):
        check_comparable("lsh.db", made, other)
