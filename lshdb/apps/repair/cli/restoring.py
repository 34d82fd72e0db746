"""`lshdb backup --restore`: put a backup in the place of the database."""

from pathlib import Path

from lshdb.apps.repair.restoring import restore_backup
from lshdb.cli import messages, running
from lshdb.errors import UsageError
from lshdb.formatting import counted
from lshdb.options import BackupOptions


def restore(backup: Path, db: Path, options: BackupOptions) -> None:
    """Restore the database, and print how many documents it has."""
    if options.replace:
        raise UsageError("--replace is for a copy: --restore always replaces the database")
    restored = restore_backup(backup, db, timeout=running.timeout, progress=options.progress)
    documents = counted(restored.documents, "document")
    messages.message(f"{db} restored from {backup}: {documents}")
