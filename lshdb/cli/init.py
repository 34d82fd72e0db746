"""`lshdb init`: make a database with settings of your own."""

from dataclasses import replace

from lshdb import offers
from lshdb.cli import messages, options
from lshdb.maintain.resolve import resolve
from lshdb.options import Root, SettingsOptions
from lshdb.sketch.settings import purpose_in_words


def init(
    *,
    file: options.DatabaseFile,
    settings: SettingsOptions,
    root: Root = None,
    base: options.BasePaths = None,
) -> None:
    """Make a database with settings of your own.

    Prints what the database finds. Not needed before add, which makes one with the defaults. A file
    that exists stays as it is: settings of its index (threshold, recall, bands and rows) may differ
    from those given, and a note says so; other settings that differ are refused.

    Example: lshdb init -d code.db --threshold 0.7 --shingle char:5

    Example: lshdb init -d class.db --for programs --base template/
    """
    if base:
        texts_of = offers.offered(offers.OF_OPTIONS, "base")
        settings = replace(settings, base=texts_of(base, resolve(settings).shingling))
    existed = file.is_filled
    with file.open(settings=settings, root=root) as database:
        actual = database.settings
        outcome = "exists already" if existed else "made"
        messages.message(f"{file.db} {outcome}: {purpose_in_words(actual)}")
        messages.warn_of_low_recall(actual, settings.shape)
