"""The compiled kernels: kept as machine code in a file, loaded, and called with arrays.

lshdb.compiled has numba make the code, which takes some seconds; it needs neither numba nor Python
afterwards. llvmlite loads it from its file in a twentieth of a second, where importing numba alone
would take ten times as long.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

ARGUMENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "fast_signatures": "u8* i8* i8 u8 u8* u4* u4* i8 u8* u8* u4* u4* u4*",
        "spans": "u1* i8* i8* i8 u8 u8 u8 u8 u8*",
        "fold_words": "u1* i8 u1*",
        "words": "u1* i8* i8 i8 u8 u8 u8 u8 u8* i8*",
        "windows": "u1* i8* i8* i8 i8 u8 u8 u8 u8*",
        "word_sums": "u8* i8* i8 u8* i8 u8*",
        "digests": "u1* i8* i8 i8 u8* u8* u8* u8* i8* i8* u8*",
        "rows": "u8* u8 i8 i8 i8 i8 i8 i8 i8* i8* i8*",
    }
)
"""The types of each kernel's arguments, as numpy writes them; `*` marks an array of them."""

LANES: Final = 8
"""Messages that are digested at once: eight words of 64 bits fill the widest vector register."""

_SCALARS: Final = MappingProxyType({"i8": ctypes.c_int64, "u8": ctypes.c_uint64})
_FILE: Final = "kernels-{}.code"
_PACKAGE: Final = Path(__file__).parent
_SOURCES: Final = (
    Path(__file__),
    _PACKAGE / "columns.py",
    *sorted(_PACKAGE.glob("compiled*.py")),
)
"""What the code depends on."""


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code: the bytes of an object file, and each kernel's symbol in it."""

    symbols: Mapping[str, str]
    content: bytes


class Kernels:
    """Callable as methods, by the names in ARGUMENTS; each fills arrays that it is given.

    What they compute is told in lshdb.compiled. The interpreter's lock is free meanwhile.

    Attributes:
        lanes: LANES.
    """

    lanes = LANES

    def __init__(self, code: Code) -> None:
        llvm = _llvm()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        # Kept, as the code is freed with it.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.content))
        self._engine.finalize_object()
        for name, arguments in ARGUMENTS.items():
            address = self._engine.get_function_address(code.symbols[name])
            setattr(self, name, _callable(address, arguments))


def _callable(address: int, arguments: str) -> Callable[..., None]:
    kinds = arguments.split()
    types = [_SCALARS.get(kind, ctypes.c_void_p) for kind in kinds]
    # As numba calls functions: where to put a result and an error, which there are none of, first.
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)(address)
    dtypes = [np.dtype(kind[:-1]) if kind.endswith("*") else None for kind in kinds]
    return partial(_call, function, dtypes)


def _call(function: Any, dtypes: list[np.dtype[Any] | None], *arguments: Any) -> None:
    unused = np.empty(2, dtype=np.uint64)
    address = _address(unused)
    values = [address, address + 8]
    for dtype, argument in zip(dtypes, arguments, strict=True):
        if dtype is None:
            values.append(int(argument))
        elif argument.dtype != dtype or not argument.flags.c_contiguous:
            raise TypeError(f"{argument.dtype} array where a contiguous one of {dtype} is wanted")
        else:
            values.append(_address(argument))
    function(*values)


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def load() -> Kernels | None:
    """The kernels, if their code is in a file; ImportError where llvmlite is not installed."""
    name = _FILE.format(_key())
    for directory in _directories():
        with suppress(OSError, ValueError, KeyError):
            return Kernels(_parsed(_read(directory / name)))
    return None


def make() -> Kernels:
    """The kernels, compiled anew; their code is kept in a file where that is possible."""
    code: Code = import_module("lshdb.compiled").compiled()
    name = _FILE.format(_key())
    for directory in _directories():
        with suppress(OSError):
            _write(directory, name, _formatted(code))
            break
    return Kernels(code)


def _directories() -> Iterable[Path]:
    """Where code may be kept: where Python keeps its own, or among the user's cached files."""
    yield Path(importlib.util.cache_from_source(__file__)).parent
    with suppress(RuntimeError):  # no home
        caches = os.environ.get("XDG_CACHE_HOME", "")
        yield (Path(caches) if os.path.isabs(caches) else Path.home() / ".cache") / "lshdb"


def _key() -> str:
    """What the code depends on, as a name: its source and the processor."""
    llvm = _llvm()
    processor = [
        sys.platform,
        llvm.get_default_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    ]
    sources = [source.read_text("utf-8") for source in _SOURCES]
    everything = "\0".join([*processor, *sources])
    return hashlib.blake2b(everything.encode(), digest_size=10).hexdigest()


def _formatted(code: Code) -> bytes:
    """The bytes of a file: a line of JSON, and the object file."""
    header = {"digest": _digest(code.content), "symbols": dict(code.symbols)}
    return json.dumps(header).encode() + b"\n" + code.content


def _parsed(data: bytes) -> Code:
    """The code in a file; ValueError or KeyError if it is not as it was written."""
    start, _, content = data.partition(b"\n")
    header = json.loads(start)
    if header["digest"] != _digest(content):
        raise ValueError("damaged")
    return Code(header["symbols"], content)


def _read(path: Path) -> bytes:
    """A file's bytes; PermissionError if it is neither this user's nor of the sources' owner.

    A command that is run as root with a user's home must not run what that user left there.
    """
    with open(path, "rb") as file:
        owner = os.fstat(file.fileno()).st_uid
        if hasattr(os, "geteuid") and owner not in (os.geteuid(), _SOURCES[0].stat().st_uid):
            raise PermissionError(path)
        return file.read()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _write(directory: Path, name: str, data: bytes) -> None:
    """Write a file that is whole at every moment."""
    directory.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, directory / name)
    except BaseException:
        os.unlink(temporary)
        raise


def _llvm() -> Any:
    llvm = import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm
