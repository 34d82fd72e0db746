"""Answers of tools: short, free of control characters, and the same as text and as JSON.

Some clients show only the text of a result, and some only its structure.
"""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from lshdb.formatting import shortened
from lshdb.read.paths import escaped

_MAX_TEXT = 2_000
"""Maximum characters of a text in an answer."""
_MAX_ITEMS = 100
"""Maximum number of items of a list in an answer."""
_MAX_ANSWER = 50_000
"""Characters of an answer: the item that exceeds them is the last."""


def shown(line: str, result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The shortened text and structure of a result; the text is a line, then the structure."""
    answer = _Answer()
    structure = answer.of(result)
    line = clean(line)
    if answer.is_cut or len(line) > _MAX_TEXT:
        structure["note"] = "shortened: ask for fewer results, or read a document by its uri"
    return "\n".join([shortened(line, _MAX_TEXT), *_lines(structure)]), structure


@dataclasses.dataclass
class _Answer:
    """Makes the answer of a tool short, and free of control characters.

    Attributes:
        left: number of characters that may still follow.
        is_cut: whether something was shortened or left out.
    """

    left: int = _MAX_ANSWER
    is_cut: bool = False

    def of(self, value: Any) -> Any:
        """A value as it is shown."""
        if isinstance(value, dict):
            return {self.of(name): self.of(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            shown: list[Any] = []
            for item in value:
                if self.left <= 0 or len(shown) == _MAX_ITEMS:
                    self.is_cut = True
                    break
                shown.append(self.of(item))
            return shown
        text = clean(value) if isinstance(value, str) else value
        if isinstance(text, str) and len(text) > _MAX_TEXT:
            self.is_cut = True
            text = shortened(text, _MAX_TEXT)
        self.left -= len(str(text))
        return text


def clean(text: str) -> str:
    """A text with its lines and tabs, but all other control characters as escapes."""
    return "\n".join("\t".join(map(escaped, line.split("\t"))) for line in text.split("\n"))


def reason(error: Exception) -> str:
    """The message of an error, shortened."""
    return shortened(clean(str(error)), _MAX_TEXT)


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """The lines of a structure: a name and a value each, and a dash before each item of a list."""
    items = value.items() if isinstance(value, dict) else (("-", item) for item in value)
    for name, item in items:
        head = f"{indent}{name}" if name == "-" else f"{indent}{name}:"
        if isinstance(item, dict | list) and item:
            inner = [*_lines(item, indent + "  ")]
            if name == "-":  # the first line follows the dash
                inner[0] = f"{head} {inner[0].lstrip(' ')}"
            else:
                yield head
            yield from inner
        else:
            text = item if isinstance(item, str) else json.dumps(item) if item != [] else "none"
            first, *more = text.split("\n")
            yield f"{head} {first}"
            yield from (f"{indent}  {line}" for line in more)
