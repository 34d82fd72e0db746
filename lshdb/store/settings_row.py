"""The one row of the table of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lshdb.errors import DamagedFile, LshdbError
from lshdb.model import Construction, Settings, Shingling


def settings_of(values: Any, path: Path) -> Settings:
    """The settings that a row says; DamagedFile if it is none, or says what is not legal."""
    try:
        threshold, recall, shingle, permutations, construction, sketch, seed, content = values
        return Settings(
            threshold,
            recall,
            Shingling.parse(shingle),
            permutations,
            Construction.parse(construction),
            sketch,
            seed,
            bool(content),
        )
    except (LshdbError, TypeError) as error:
        raise DamagedFile(f"{path} has settings that are not legal: {error}") from error
