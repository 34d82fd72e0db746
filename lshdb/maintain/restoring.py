"""Putting a backup in the place of a database, completely or not at all."""

from dataclasses import dataclass
from pathlib import Path

from lshdb import errors
from lshdb.groups import takes
from lshdb.maintain.check import check
from lshdb.options import RestoreOptions
from lshdb.progress import shown
from lshdb.read.identity import is_same_file
from lshdb.results import Result
from lshdb.store import replacing


@dataclass(frozen=True, slots=True)
class Restored(Result):
    """The result of `lshdb.restore_backup`.

    Attributes:
        documents: how many documents the database has now.
        replaced: the file with the old database; None if there was none.
    """

    documents: int
    replaced: Path | None


@takes(RestoreOptions)
def restore_backup(options: RestoreOptions) -> Restored:
    """Put a backup in the place of a database that nobody has open, also of a damaged one.

    The backup is copied beside the database, and the copy is checked, as by `check`. Then the copy
    takes the database's name, in one step: whenever the process is killed, the database is the old
    one or the new one. The old one stays beside it, as NAME.replaced, until you delete it,
    together with changes that a killed process left in its log.

    Raises:
        UsageError: the backup is the database itself.
        NotADatabase: one of the two files is another program's.
        DamagedFile: the backup is not whole; nothing is changed, as after every error.
        Busy: another process, or this one, has the database open.
        StoreError: the backup cannot be read, or the database not be replaced.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    ...     db.backup("friday.db")
    ...     report = db.add("ant", "The ant and the dove")
    >>> lshdb.restore_backup("friday.db", "fables.db").documents
    1
    """
    backup, path = Path(options.backup), Path(options.path)
    if is_same_file(backup, path):
        raise errors.UsageError(f"{backup} is the database itself: name a backup of it")
    with (
        shown(options.progress, "copying") as progress,
        replacing.copy_of(backup, path, options.timeout, progress) as copy,
    ):
        # Not the backup itself, which others may change meanwhile.
        report = check(copy.path, progress=options.progress)
        if not report.ok:
            kinds = ", ".join(sorted(report.counts))
            raise errors.DamagedFile(
                f"{backup} is not whole ({kinds}), and nothing is restored: "
                f"lshdb check -d {backup} says more"
            )
        replaced = replacing.replace_database(path, copy, options.timeout)
    return Restored(report.documents, replaced)
