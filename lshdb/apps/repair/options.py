"""Options of `lshdb.restore_backup`; see lshdb.groups."""

from dataclasses import field
from typing import Annotated

from lshdb.errors import TIMEOUT
from lshdb.groups import Options, argument
from lshdb.options import DatabasePath, FileName, OnProgress, Timeout


class RestoreOptions(Options):
    """Options of `lshdb.restore_backup`."""

    backup: Annotated[FileName, argument("The file that `backup` made.")] = field(kw_only=False)
    path: DatabasePath = field(default="lsh.db", kw_only=False)
    timeout: Timeout = TIMEOUT
    progress: OnProgress = False
