"""The one row of the table of settings."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from lshdb.errors import DamagedFile, LshdbError
from lshdb.model import Construction, Settings, Shingling
from lshdb.store import statements as sql


class SettingsRow:
    """The settings as a connection saw them last.

    Another process may reindex the file while it is open here. What is read of the index, and
    what is written, must fit the settings of the same moment: `refresh` at the start of each
    transaction. It takes 4 us, a hundredth of a query.

    Attributes:
        settings: typed and checked.
    """

    settings: Settings

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._values: Any = ()
        self.refresh()

    def refresh(self) -> None:
        """Read the row, and if it is another one than before, what it says.

        Raises:
            DamagedFile: the settings are not legal.
            sqlite3.Error: to be translated by the caller.
        """
        values = self._connection.execute(sql.SELECT_SETTINGS).fetchone()
        if values != self._values:
            self.settings = settings_of(values, self._path)
            self._values = values


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


def insert_settings(connection: sqlite3.Connection, settings: Settings) -> None:
    """Write the settings of a new file, within the caller's transaction."""
    values = (
        settings.threshold,
        settings.recall,
        str(settings.shingling),
        settings.permutations,
        str(settings.construction),
        settings.sketch,
        settings.seed,
        int(settings.content),
    )
    connection.execute(sql.INSERT_SETTINGS, values)


def update_index_settings(connection: sqlite3.Connection, settings: Settings) -> None:
    """Write what describes the index, within the caller's transaction; the rest stays."""
    values = (settings.threshold, settings.recall, str(settings.construction))
    connection.execute(sql.UPDATE_INDEX_SETTINGS, values)
