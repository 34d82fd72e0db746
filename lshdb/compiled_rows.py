"""Rows that compiled code gives to a statement of SQLite: the kernel `rows` (see lshdb.compiled).

Of SQLite only its documented functions are used, by their addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, Final, cast

import numba
from llvmlite import ir
from numba.extending import intrinsic

from lshdb.columns import BLOB, INTEGER, TEXT
from lshdb.compiled_parts import Hashes, Offsets

_ROW: Final = 100
_DONE: Final = 101
_MISUSE: Final = 21
_UTF8: Final = 1
_STATIC: Final = 0


def _c_function(*widths: int) -> Any:
    """What calls a C function that takes integers and addresses of so many bits, and gives an int.

    Its arguments are the function's address and what the function takes.
    """
    integers = [ir.IntType(width) for width in widths]
    function = ir.FunctionType(ir.IntType(32), integers)

    def call(*_context_and_arguments: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            target = builder.inttoptr(arguments[0], function.as_pointer())
            values = [
                value if integer.width == 64 else builder.trunc(value, integer)
                for value, integer in zip(arguments[1:], integers, strict=True)
            ]
            return builder.sext(builder.call(target, values), ir.IntType(64))

        types = numba.types
        return types.int64(types.uint64, *[types.int64] * len(widths)), generate

    # numba asks for names of arguments, one for each.
    names = ["context", "address", *(f"argument_{place}" for place in range(len(widths)))]
    call.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    )
    return intrinsic(call)


_on_statement = cast(Callable[..., int], _c_function(64))
_bind_integer = cast(Callable[..., int], _c_function(64, 32, 64))
_bind_text = cast(Callable[..., int], _c_function(64, 32, 64, 64, 64, 32))
_bind_blob = cast(Callable[..., int], _c_function(64, 32, 64, 64, 64))


def rows(
    functions: Hashes,
    statement: int,
    first: int,
    begin: int,
    end: int,
    count: int,
    at_once: int,
    columns: int,
    kinds: Offsets,
    values: Offsets,
    code: Offsets,
) -> None:
    """Run a statement for each `at_once` rows of `count`, from `begin` to `end`.

    The functions are those of lshdb.columns.SQLITE, kinds and values those of its `matrix`. A
    row's values are bound to the parameters from `first` on, the next row's to those behind. The
    first `code` is SQLite's, 0 if all is well.
    """
    bind_integer, bind_text, bind_blob = functions[0], functions[1], functions[2]
    step, reset = functions[3], functions[4]
    row = begin
    code[0] = 0
    while row < end:
        parameter = first
        for _ in range(at_once):
            for column in range(columns):
                place = column * (count + 1) + row
                value = values[place]
                failed = 0
                if kinds[column] == INTEGER:
                    failed = _bind_integer(bind_integer, statement, parameter, value)
                elif kinds[column] == TEXT:
                    size = values[place + 1] - value
                    failed = _bind_text(
                        bind_text, statement, parameter, value, size, _STATIC, _UTF8
                    )
                elif kinds[column] == BLOB:
                    size = values[place + 1] - value
                    failed = _bind_blob(bind_blob, statement, parameter, value, size, _STATIC)
                if failed != 0:
                    code[0] = failed
                    return
                parameter += 1
            row += 1
        done = _on_statement(step, statement)
        if done != _DONE:
            code[0] = done if done != _ROW else _MISUSE
            return
        _on_statement(reset, statement)
