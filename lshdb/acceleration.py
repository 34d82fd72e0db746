"""Whether the extra `speed` is in use: kernels that numba compiles, and orjson.

They give the same results as numpy and json in less time, and take a fifth of a second to load:
too long for a query, nothing for a long job. The first load after installation compiles the
kernels, which takes some seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import ModuleType

_SWITCH: Final = "LSHDB_SPEED"
"""Environment variable; 0 keeps to numpy and json."""

_kernels: ModuleType | None = None
_loads: Callable[[bytes | memoryview], object] | None = None


def kernels() -> Any:
    """The module lshdb.compiled if it is loaded, else None: then numpy does the work."""
    return _kernels


def fast_json() -> Callable[[bytes | memoryview], object] | None:
    """orjson.loads if it is loaded, else None.

    It refuses some of what json.loads takes, and reads integers beyond 64 bits as floats.
    """
    return _loads


def use_fast_json() -> None:
    """Use orjson from now on, where it is installed: a quick load."""
    global _loads
    if os.environ.get(_SWITCH) != "0":
        try:
            _loads = import_module("orjson").loads
        except ImportError:
            _loads = None


def has_kernels() -> bool:
    """Whether `speed_up` may find kernels; it is known only when it has loaded them."""
    return os.environ.get(_SWITCH) != "0" and find_spec("numba") is not None


def speed_up() -> bool:
    """Use what there is of the extra from now on; whether the kernels are there.

    Safe to call from another thread while signatures are made.
    """
    global _kernels
    if os.environ.get(_SWITCH) == "0":
        return False
    use_fast_json()
    if _kernels is None and find_spec("numba"):
        try:
            _kernels = import_module("lshdb.compiled")
        except Exception:
            # A numba that does not fit this Python or processor, or may not write its cache.
            return False
    return _kernels is not None


def slow_down() -> None:
    """Keep to numpy and json from now on."""
    global _kernels, _loads
    _kernels = _loads = None
