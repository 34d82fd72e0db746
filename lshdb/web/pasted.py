"""Texts that visitors pasted, under names for addresses: Back and Reload then work.

Only the newest are kept, in memory.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Final

MAX_BYTES: Final = 20_000_000
"""Characters kept in all."""

_lock: Final = threading.Lock()
_texts: Final[OrderedDict[str, str]] = OrderedDict()


def keep(text: str, most: int = MAX_BYTES) -> str:
    """Keep a text; return its name, which cannot be guessed without the text."""
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with _lock:
        _texts[name] = text
        _texts.move_to_end(name)
        size = sum(map(len, _texts.values()))
        while size > most and len(_texts) > 1:
            size -= len(_texts.popitem(last=False)[1])
    return name


def kept(name: str) -> str | None:
    """The text of a name; None if it is not kept any more."""
    with _lock:
        return _texts.get(name)
