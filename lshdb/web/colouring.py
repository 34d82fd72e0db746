"""The colours of source code: which words of a text are comments, strings, keywords.

The lexer, of Pygments, is chosen by the name of the file, never by its contents. It runs in a
separate process, as the text may come from anyone: a lexer's expression may take exponential time
for some text, which nothing in the same process could end. The process takes a tenth of a second,
once per comparison.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

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


def words_of(texts: Sequence[tuple[str, str]]) -> list[Words | None]:
    """The words of some texts, each with the key of its document; None if it is not code.

    Also None if Pygments is not installed, or takes too long.
    """
    found: list[Words | None] = [None] * len(texts)
    named = [(place, _file_name(key)) for place, (key, _) in enumerate(texts)]
    asked = [(place, name) for place, name in named if _is_code(name)]
    if not asked:
        return found
    given = json.dumps([[name, texts[place][1][:COLOURED]] for place, name in asked])
    try:
        # Without the directory of the program among those of modules: ours have common names.
        done = subprocess.run(
            [sys.executable, "-P", str(_LEXING)],
            input=given.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=True,
        )
        lexed = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return found
    for (place, _), words in zip(asked, lexed, strict=True):
        found[place] = None if words is None else list(_threes(words))
    return found


def _threes(flat: list[Any]) -> Iterator[tuple[int, int, str]]:
    return zip(flat[::3], flat[1::3], flat[2::3], strict=True)


def _file_name(key: str) -> str:
    return key.replace("\\", "/").rpartition("/")[2][-_LONGEST_NAME:]


def _is_code(name: str) -> bool:
    try:
        from pygments.lexers import find_lexer_class_for_filename
    except ImportError:
        return False
    lexer = find_lexer_class_for_filename(name)
    return lexer is not None and lexer.name not in _PROSE
