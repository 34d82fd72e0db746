"""Files of a directory that git ignores or does not track.

The command `git` answers. A repository may come from a stranger, and git runs programs that its
configuration names. None of these runs: settings that git reads for the commands here are
overridden, also in submodules, filters are found and overridden by their names, nothing is fetched
and no hook runs. Programs that the user's own configuration or the system's names are trusted, such
as the filter of git-lfs.
"""

import os
import subprocess
from collections.abc import Sequence

from lshdb.errors import InputError
from lshdb.read.paths import printable_path

_SAFE = (
    "--no-optional-locks",  # the index is not written, after which a hook would run
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
)
_VARIABLES = {
    # Where objects are missing, git would fetch them: by no protocol, whatever the configuration
    # allows, so by none of the programs that it names.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # Messages are read here.
    "LC_ALL": "C",
    "LANGUAGE": "",
}
_OF_USER = ("GIT_CONFIG", "GIT_ATTR_NOSYSTEM", "GIT_EXEC_PATH", "GIT_CEILING", "GIT_DISCOVERY")
"""How variables begin that are the user's. Git sets others for a hook: they name its repository,
whatever directory is given, and how to read paths."""
NAME = ".git"
"""The directory or file that makes a directory a repository."""
ITSELF = "./"
"""How git writes the directory that it is asked about."""


class Refused(InputError):
    """Git is missing, or fails before it answers."""


def run(
    directory: str,
    *arguments: str,
    settings: Sequence[str] = (),
    stdin: bytes = b"",
    empty_status: int = 0,
) -> bytes:
    """The output of git in a directory; no program runs that the repository names.

    Args:
        directory: where. Its repository is asked, whatever one the environment names.
        arguments: of git.
        settings: more of its settings, each as NAME=VALUE.
        stdin: the input of git.
        empty_status: its exit status, besides 0, where there is nothing to print.

    Raises:
        Refused: it is not installed, or fails without output.
        InputError: it fails later; the message is its own, with its hints.
    """
    more = [word for setting in settings for word in ("-c", setting)]
    command = ["git", *_SAFE, *more, "-C", directory, *arguments]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_OF_USER)
    }
    try:
        process = subprocess.run(
            command, input=stdin, capture_output=True, check=False, env=environment | _VARIABLES
        )
    except OSError:
        raise Refused("git is not installed: put it on the PATH") from None
    if process.returncode not in (0, empty_status):
        printed = process.stderr.decode(errors="backslashreplace").split("\n")
        reason = "; ".join(filter(None, map(str.strip, printed))) or "git failed"
        has_begun = process.stdout or process.returncode < 0  # a signal ended it
        error = InputError if has_begun else Refused
        raise error(f"{printable_path(directory)}: {reason}")
    return process.stdout


def is_repository(directory: str) -> bool:
    """Whether a directory is the top of a repository, as far as names say."""
    return os.path.lexists(os.path.join(directory, NAME))


def repository_of(directory: str) -> str | None:
    """The real path of the nearest directory with a .git, from a directory upwards, if any."""
    inner = os.path.realpath(directory)
    while not is_repository(inner):
        inner, below = os.path.dirname(inner), inner
        if inner == below:
            return None
    return inner


def untracked(directory: str) -> set[str]:
    """What git does not track of a directory; see `ignored`. ITSELF if it tracks nothing in it."""
    return names_in(run(directory, "ls-files", "-o", "--directory", "-z"))


def ignored(directory: str) -> set[str] | None:
    """What git ignores of a directory, by all rules that it knows.

    The rest is what `git ls-files -co --exclude-standard` lists. Git is not asked for that, as it
    lacks without an error what is in a directory that git cannot read, which is then not gone.

    Returns:
        The paths of files from there, and those of directories, with a slash at the end, in which
        no file counts, whatever its name. Nested repositories
        have to be asked themselves. None if the directory itself is one of these.

    Raises:
        Refused: git is missing, or refuses: no repository, or that of another user.
        InputError: it fails later.
    """
    # Below an ignored directory, git has an internal error at the next command.
    if not is_repository(directory) and _matched(directory, [os.path.realpath(directory)]):
        return None
    # Git before 2.31, which leaves out some names, has no --deduplicate.
    options = ("-oi", "--exclude-standard", "--directory", "--deduplicate", "-z")
    names = names_in(run(directory, "ls-files", *options)) - {ITSELF}
    # A directory is also listed where only its files are ignored, each by its name. With a slash at
    # its end its own patterns would be read for an empty name in it.
    directories = {name for name in names if name.endswith("/")}
    try:
        matched = _matched(directory, [f"./{name[:-1]}" for name in directories])
    except Refused as error:
        raise InputError(str(error)) from None
    return names - directories | {f"{name[2:]}/" for name in matched}


def _matched(directory: str, paths: Sequence[str]) -> set[str]:
    """Which of the paths a pattern matches."""
    check = ("check-ignore", "--no-index", "-z", "--stdin")
    given = os.fsencode("\0".join(paths))
    return names_in(run(directory, *check, stdin=given, empty_status=1)) if paths else set()


def names_in(printed: bytes) -> set[str]:
    """The paths that git prints with NUL bytes between them."""
    return {*os.fsdecode(printed).split("\0")} - {""}
