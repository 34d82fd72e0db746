"""Whether two paths lead to one file: a link to it, a mount, `d/a.txt` and `./d/a.txt`.

What moves, removes or compares files asks here, for names alone do not say it.
"""

import os
import stat


def is_same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one regular file, of which there is only one copy.

    The real paths are equal; or the file has one name only, so that another path with its device
    and inode is a mount of its directory. Two hard links are two files: each can be removed alone.
    An inode of 0, as of some network file systems, says nothing.
    """
    try:
        status, other_status = os.stat(path), os.stat(other)
        if not (stat.S_ISREG(status.st_mode) and stat.S_ISREG(other_status.st_mode)):
            return False
        if os.path.realpath(path) == os.path.realpath(other):
            return True
        return status.st_nlink == 1 and status.st_ino != 0 and os.path.samefile(path, other)
    except (OSError, ValueError):  # one is gone, or no path at all
        return False
