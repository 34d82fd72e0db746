"""Whether the extra `speed` is in use: kernels that numba compiles, and orjson.

They give the same results as numpy and json in less time. To load the kernels takes a twentieth of
a second: too long for a query, nothing for a long job. To make them, once after installation, takes
some seconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lshdb.kernels import Kernels

_SWITCH: Final = "LSHDB_SPEED"
"""Environment variable; 0 keeps to numpy and json."""

_kernels: Kernels | None = None
_loads: Callable[[bytes | memoryview], object] | None = None


def kernels() -> Any:
    """The compiled kernels if they are in use, else None: then numpy does the work."""
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


def load_kernels() -> bool:
    """Use the compiled kernels from now on if they were made before: a quick load."""
    global _kernels
    if _kernels is None and _may_have_kernels("llvmlite"):
        # A broken llvmlite, or one that does not know this processor.
        with suppress(Exception):
            _kernels = import_module("lshdb.kernels").load()
    return _kernels is not None


def can_make_kernels() -> bool:
    """Whether `speed_up` may make kernels; it is known only when it has done so."""
    return _may_have_kernels("numba")


def speed_up() -> bool:
    """Use what there is of the extra from now on; whether the kernels are there.

    Safe to call from another thread while signatures are made.
    """
    global _kernels
    if os.environ.get(_SWITCH) == "0":
        return False
    use_fast_json()
    if not load_kernels() and can_make_kernels():
        # A numba that does not fit this Python or processor.
        with suppress(Exception):
            _kernels = import_module("lshdb.kernels").make()
    return _kernels is not None


def _may_have_kernels(library: str) -> bool:
    wanted = os.environ.get(_SWITCH) != "0" and sys.byteorder == "little"
    return wanted and find_spec(library) is not None


def slow_down() -> None:
    """Keep to numpy and json from now on."""
    global _kernels, _loads
    _kernels = _loads = None
