"""The colours of source code: which words of a text are comments, strings, keywords.

The lexer, of Pygments, is chosen by the name of the file, never by its contents. It runs in a
separate process, as the text may come from anyone: a lexer's expression may take exponential time
for some text, which nothing in the same process could end. The process takes a tenth of a second,
once per comparison.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from lshdb.json_text import dumps, loads

Words: TypeAlias = list[tuple[int, int, str]]
"""Start, end and class of each word that has a colour, ascending."""

COLOURED: Final = 200_000
"""Characters of a text that get colours: a third of a second."""
_LONGEST_NAME: Final = 100
_SECONDS: Final = 10.0
"""Seconds for two texts; a page without colours is better than none."""
_LEXING: Final = Path(__file__).parent / "lexing.py"
_PROSE: Final = frozenset(["Text only", "Markdown", "reStructuredText", "TeX", "Org Mode"])
"""Lexers for texts that are not code."""


def words_of(texts: Sequence[tuple[str, str]], seconds: float = _SECONDS) -> list[Words | None]:
    """The words of some texts, each with the key of its document; None if it is not code.

    Also None if Pygments is not installed, or takes too long.
    """
    named = [(_file_name(key), text[:COLOURED]) for key, text in texts]
    asked = [[name, text] if _is_code(name) else None for name, text in named]
    if not any(asked):
        return [None] * len(texts)
    try:
        # Without the directory of the program among those of modules: ours have common names.
        done = subprocess.run(
            [sys.executable, "-P", str(_LEXING)],
            input=dumps(asked).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=True,
        )
        lexed = loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return [None] * len(texts)
    return [None if words is None else list(map(tuple, words)) for words in lexed]


def _file_name(key: str) -> str:
    return key.replace("\\", "/").rpartition("/")[2][-_LONGEST_NAME:]


def _is_code(name: str) -> bool:
    try:
        from pygments.lexers import find_lexer_class_for_filename
    except ImportError:
        return False
    lexer = find_lexer_class_for_filename(name)
    return lexer is not None and lexer.name not in _PROSE
