"""`lshdb init`: make a database with settings of your own."""

from dataclasses import replace

from lshdb.cli import documents, messages
from lshdb.cli.options import (
    BasePaths,
    DatabaseFile,
)
from lshdb.options import SettingsOptions
from lshdb.tuning.resolve import resolve


def init(*, at: DatabaseFile, settings: SettingsOptions, base: BasePaths = None) -> None:
    """Make a database with settings of your own.

    Not needed before add, which makes one with the defaults. A file that exists stays as it is:
    of the settings given, those of its index (threshold, recall, bands and rows) may differ, and a
    note says so; others are refused.

    Example: lshdb init -d code.db --threshold 0.7 --shingle char:5

    Example: lshdb init -d class.db --for programs --base template/
    """
    if base:
        texts = documents.base_texts(base, resolve(settings).shingling)
        settings = replace(settings, base=texts)
    existed = at.is_filled
    with at.open(settings=settings) as database:
        made = database.settings
        done = "exists already" if existed else "made"
        messages.message(f"{at.db} {done}: shingle {made.shingling}, {messages.shape(made)}")
        messages.warn_of_low_recall(made, settings)
