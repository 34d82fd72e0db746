"""Texts that visitors pasted, under names for addresses: Back and Reload then work.

Only the newest are kept, in memory.
"""

import hashlib
import threading

from lshdb.errors import KeyNotFound

_KEPT = 100
"""Texts kept: some 20 million characters of the longest."""

_lock = threading.Lock()
_texts: dict[str, str] = {}


def keep(text: str) -> str:
    """Keep a text; return its name, which cannot be guessed without the text."""
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with _lock:
        _texts.pop(name, None)
        _texts[name] = text
        if len(_texts) > _KEPT:
            del _texts[next(iter(_texts))]
    return name


def kept(name: str) -> str:
    """The text of a name; KeyNotFound if it is not kept any more."""
    with _lock:
        if name in _texts:
            return _texts[name]
    raise KeyNotFound("the text of this address is not kept any more: paste it again")
