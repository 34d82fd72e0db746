"""One collection in several files, each written by one task; queries merge the matches of all."""

import contextlib
import glob
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lshdb import errors
from lshdb.database import Database
from lshdb.errors import TIMEOUT
from lshdb.model import Match
from lshdb.opening import open as open_database
from lshdb.options import QueryOptions
from lshdb.search import result_tables
from lshdb.search.query import best


@contextlib.contextmanager
def opened(path: Path, timeout: float = TIMEOUT) -> Iterator[list[Database]]:
    """The files of a name, open for reading: one file, or those of a pattern like `dir/*.db`.

    Raises:
        InputError: nothing matches the pattern.
        SettingsMismatch: a file has other settings than the first.
    """
    paths = [path]
    if not path.exists() and glob.has_magic(str(path)):
        paths = sorted(map(Path, glob.glob(str(path))))
    if not paths:
        raise errors.InputError(f"no file matches {path}")
    with contextlib.ExitStack() as stack:
        files: list[Database] = []
        for file_path in paths:
            file = stack.enter_context(open_database(file_path, mode="read", timeout=timeout))
            files.append(file)
            if file.settings != files[0].settings:
                raise errors.SettingsMismatch(
                    f"{file_path} has other settings than {paths[0]}: ask files of one collection"
                )
        yield files


def query_files(files: Sequence[Database], options: QueryOptions) -> result_tables.Matches:
    """The matches of `Database.query` in several files together, best first.

    Equal matches come in the order of the files. A key is looked up in all files; other documents
    with the same key in other files may be matches.

    Raises:
        KeyNotFound: no file has the key.
        UsageError: a key is given, and the files keep no contents.
    """
    home, elsewhere = files[0], options
    if options.key is not None and files[1:]:
        home = next((file for file in files if options.key in file), home)
        content = home.get(options.key).content
        if content is None:
            raise errors.UsageError(
                "the files keep no contents, and a document of one cannot be looked for in "
                "the others by its key: give the document itself"
            )
        elsewhere = replace(options, key=None, content=content)
    matches: list[Match] = []
    for file in files:
        matches += file.query(options if file is home else elsewhere)
    ranking = options.ranking
    return result_tables.Matches(best(matches, ranking), result_tables.match_columns(ranking))
