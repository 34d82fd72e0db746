"""Putting a backup in the place of a database, completely or not at all."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lshdb import errors
from lshdb.apps.repair.options import RestoreOptions
from lshdb.maintain.check import check
from lshdb.progress import shown
from lshdb.read.files import is_same_file
from lshdb.results import Result
from lshdb.store import backup, connection, partial_files
from lshdb.store.guard import Connection
from lshdb.taking import takes


@dataclass(frozen=True, slots=True)
class Restored(Result):
    """The result of `lshdb.restore_backup`.

    Attributes:
        documents: how many documents the database has now.
    """

    documents: int


@takes(RestoreOptions)
def restore_backup(options: RestoreOptions) -> Restored:
    """Put a backup in the place of a database, also of a damaged one.

    The backup is copied beside the database, and the copy is checked, as by `check`. Then the
    database gets what the copy has, in one transaction: whenever the process is killed, the
    database is the old one or the new one. Others may have it open, and read the old one until
    then.

    Raises:
        UsageError: the backup is the database itself.
        NotADatabase: one of the two files is another program's, or no database at all.
        DamagedFile: the backup is not whole; nothing is changed, as after every error.
        Busy: another process writes to the database for longer than the timeout.
        StoreError: the backup cannot be read, or the database not be written.

    >>> import lshdb
    >>> with lshdb.open("fables.db") as db:
    ...     report = db.add("fox", "The fox and the grapes")
    ...     db.backup("friday.db")
    ...     report = db.add("ant", "The ant and the dove")
    >>> lshdb.restore_backup("friday.db", "fables.db").documents
    1
    """
    source, path = Path(options.backup), Path(options.path)
    if is_same_file(source, path):
        raise errors.UsageError(f"{source} is the database itself: name a backup of it")
    reader = connection.connect(source, "read", options.timeout)
    with (
        shown(options.progress, "copying") as progress,
        partial_files.file_errors(f"{path} cannot be written"),
        backup.copied(reader, path, progress) as copy,
    ):
        # Not the backup itself, which others may change meanwhile.
        report = check(copy.path, progress=options.progress)
        if not report.ok:
            kinds = ", ".join(sorted(report.counts))
            raise errors.DamagedFile(
                f"{source} is not whole ({kinds}), and nothing is restored: "
                f"lshdb check -d {source} says more"
            )
        new = connection.connect(Path(copy.path), "read", options.timeout)
        with closing(new), closing(_opened(path, options.timeout)) as old, old.errors():
            backup.copy_pages(new, old, path, progress)
    return Restored(report.documents)


def _opened(path: Path, timeout: float) -> Connection:
    """The database that is to be replaced, which may be damaged or missing."""
    try:
        return connection.connect(path, "create", timeout, whole=False)
    except errors.DamagedFile as error:
        raise errors.DamagedFile(
            f"{path} is too damaged to be opened: move it and its {path.name}-wal away, and "
            "restore again"
        ) from error
