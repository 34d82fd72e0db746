"""The kernels that most of the time goes to, compiled by numba; the extra `speed` installs it.

Each gives the very same bits as the numpy code that calls it, which says what it computes. They
take addresses of arrays, and their lengths where those are needed, so that what is compiled needs
nothing of Python; lshdb.kernels has their arguments' types, keeps the code, and calls it. Only
that imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np

from lshdb import compiled_digests, compiled_rows
from lshdb.compiled_parts import (
    NOTHING,
    Hashes,
    Narrow,
    Octets,
    Offsets,
    first_bytes,
    part,
    word_at,
)
from lshdb.kernels import ARGUMENTS, Code

_1 = np.uint64(1)
_32 = np.uint64(32)
_56 = np.uint64(56)
_EACH = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


def compiled() -> Code:
    """The machine code of all kernels, for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    symbols = {}
    module = llvm.parse_assembly("")
    for name, arguments in ARGUMENTS.items():
        assembly = _assembly(_KERNELS[name], arguments)
        own = llvm.parse_assembly(assembly)
        module.triple = own.triple
        (symbols[name],) = (
            function.name
            for function in own.functions
            if not function.is_declaration and function.linkage == llvm.Linkage.external
        )
        module.link_in(own)
    machine = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
    )
    return Code(symbols, machine.emit_object(module))


def _assembly(function: Callable[..., None], arguments: str) -> str:
    """What numba makes of a kernel, in LLVM's language, with nothing around it for Python."""
    types: Any = numba.types
    values = {"u1": types.uint8, "u4": types.uint32, "u8": types.uint64, "i8": types.int64}
    signature = types.void(
        *(
            types.CPointer(values[kind[:-1]]) if kind.endswith("*") else values[kind]
            for kind in arguments.split()
        )
    )
    # What is not in its types: nothing to call it from Python, and no memory of Python's.
    bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    options: dict[str, Any] = {"error_model": "numpy", "boundscheck": False} | bare
    dispatcher: Any = numba.njit(signature, **options)(function)
    assembly: str = dispatcher.inspect_llvm(dispatcher.signatures[0])
    return assembly


@part
def _mix(x: np.uint64, multiplier_1: np.uint64, multiplier_2: np.uint64) -> np.uint64:
    x = x * multiplier_1
    return (x ^ (x >> _32)) * multiplier_2


@part
def _zeros(chunk: np.uint64) -> np.uint64:
    """The highest bit of the first octet that is zero, and some bits above; 0 where none is."""
    return (chunk - _EACH) & ~chunk & _HIGH


@part
def _chained(
    h: np.uint64,
    octets: Octets,
    at: int,
    left: int,
    multiplier_1: np.uint64,
    multiplier_2: np.uint64,
) -> np.uint64:
    """Mix `left` octets from `at` on into the start of a span's hash."""
    while True:
        h = _mix(h ^ (word_at(octets, at) & first_bytes(left)), multiplier_1, multiplier_2)
        if left <= 8:
            return h
        left -= 8
        at += 8


@part
def _narrow_hash(
    y: np.uint32, constant: np.uint32, multiplier_1: np.uint32, multiplier_2: np.uint32
) -> np.uint32:
    g = np.uint32((y ^ constant) * multiplier_1)
    g ^= g >> np.uint32(16)
    return np.uint32(g * multiplier_2)


@part
def _distinct(y: Narrow, count: int, other: Narrow, ends: Hashes) -> int:
    """Sort y uint32[count], leave out what is repeated, and tell how many are left.

    Octet by octet, the lowest first; `other` has room for as many, `ends` for 256.
    """
    for shift in range(0, 32, 8):
        shift_by = np.uint32(shift)
        for octet in range(256):
            ends[octet] = 0
        for i in range(count):
            ends[(y[i] >> shift_by) & np.uint32(255)] += _1
        total = np.uint64(0)
        for octet in range(256):
            own = ends[octet]
            ends[octet] = total
            total += own
        for i in range(count):
            octet = (y[i] >> shift_by) & np.uint32(255)
            other[ends[octet]] = y[i]
            ends[octet] += _1
        for i in range(count):
            y[i] = other[i]
    used = 1
    for i in range(1, count):
        if y[i] != y[used - 1]:
            y[used] = y[i]
            used += 1
    return used


def fast_signatures(
    hashes: Hashes,
    offsets: Offsets,
    documents: int,
    constant: np.uint64,
    wide: Hashes,
    rounds: Narrow,
    narrow: Narrow,
    lanes: int,
    table: Hashes,
    later: Hashes,
    y: Narrow,
    other: Narrow,
    out: Narrow,
) -> None:
    """FastSketch.signatures, into `out`; rounds of a document end when no lane is empty.

    `table` and `later` have room for as many as there are lanes, 256 at least, `y` and `other` for
    the shingles of any document.
    """
    k = np.uint64(lanes)
    # Read once: for all that the compiler knows, what is written to may be these.
    multiplier_1, multiplier_2, multiplier_3 = wide[0], wide[1], wide[2]
    narrow_1, narrow_2 = narrow[0], narrow[1]
    for document in range(documents):
        begin = offsets[document]
        count = offsets[document + 1] - begin
        own = document * lanes
        for lane in range(lanes):
            table[lane] = NOTHING
        for first in range(0, count, 256):
            # Hashes by the hundred, so that these loops run in vector registers.
            many = min(256, count - first)
            for i in range(many):
                later[i] = _mix(hashes[begin + first + i] ^ constant, multiplier_1, multiplier_2)
            for i in range(many):
                h = later[i]
                place = ((h >> _32) * k) >> _32
                table[place] = min(table[place], h)
        empty = 0
        for lane in range(lanes):
            out[own + lane] = np.uint32(table[lane])
            empty += table[lane] == NOTHING
        if empty == 0 or count == 0:
            continue
        for i in range(count):
            y[i] = np.uint32((hashes[begin + i] * multiplier_3) >> _32)
        if count > 8 * lanes:
            # It has few distinct shingles, or no lane would be empty; all would take k rounds.
            count = _distinct(y, count, other, later)
        for lane in range(lanes):
            later[lane] = NOTHING if table[lane] == NOTHING else np.uint64(0)
        for number in range(1, lanes):
            constant_2 = rounds[number]
            for i in range(count):
                g = _narrow_hash(y[i], constant_2, narrow_1, narrow_2)
                place = (np.uint64(g) * k) >> _32
                later[place] = min(later[place], (np.uint64(number) << _32) | np.uint64(g))
            empty = 0
            for lane in range(lanes):
                empty += later[lane] == NOTHING
            if empty == 0:
                break
        for lane in range(lanes):
            if table[lane] != NOTHING:
                continue
            if later[lane] == NOTHING:
                for i in range(count):
                    g = _narrow_hash(y[i], rounds[lanes + lane], narrow_1, narrow_2)
                    later[lane] = min(later[lane], np.uint64(g))
            out[own + lane] = np.uint32(later[lane])


def spans(
    octets: Octets,
    starts: Offsets,
    lengths: Offsets,
    count: int,
    start: np.uint64,
    length: np.uint64,
    multiplier_1: np.uint64,
    multiplier_2: np.uint64,
    out: Hashes,
) -> None:
    """SpanHash.spans of at most LONGEST_CHAINED bytes, into `out`."""
    for i in range(count):
        h = start + np.uint64(lengths[i]) * length
        out[i] = _chained(h, octets, starts[i], lengths[i], multiplier_1, multiplier_2)


def fold_words(octets: Octets, count: int, out: Octets) -> None:
    """ASCII folded for words, as lshdb.shingling.shingles's table for words does it, into `out`."""
    for i in range(count):
        octet = octets[i]
        # Comparisons alone, so that the loop runs in vector registers.
        upper = (octet >= 65) & (octet <= 90)
        lower = (octet >= 97) & (octet <= 122)
        digit = (octet >= 48) & (octet <= 57)
        folded = np.uint8(octet | (np.uint8(upper) << 5))
        out[i] = folded if upper | lower | digit | (octet == 95) else 0


def words(
    octets: Octets,
    bounds: Offsets,
    texts: int,
    longest: int,
    start: np.uint64,
    length: np.uint64,
    multiplier_1: np.uint64,
    multiplier_2: np.uint64,
    hashes: Hashes,
    counts: Offsets,
) -> None:
    """The hashes of the words of texts, into `hashes`, and how many each has, into `counts`.

    Texts begin at `bounds`, one for each text and the end; words are runs of octets that are not
    zero, and a zero stands before each bound. Where a word is longer than `longest`, the last of
    `counts` becomes -1, and nothing else is of use.
    """
    used = 0
    for text in range(texts):
        first = used
        at, end = bounds[text], bounds[text + 1]
        while at < end:
            if octets[at] == 0:
                at += 1
                continue
            begin = at
            chunk = word_at(octets, at)
            zero = _zeros(chunk)
            while zero == 0:
                at += 8
                chunk = word_at(octets, at)
                zero = _zeros(chunk)
            # Bits below the first zero octet: counted by multiplication.
            inside = zero ^ (zero - _1)
            at += np.int64(((inside & _EACH) * _EACH) >> _56) - 1
            left = at - begin
            if left > longest:
                counts[texts - 1] = -1
                return
            h = start + np.uint64(left) * length
            hashes[used] = _chained(h, octets, begin, left, multiplier_1, multiplier_2)
            used += 1
        counts[text] = used - first


def windows(
    octets: Octets,
    starts: Offsets,
    counts: Offsets,
    texts: int,
    width: int,
    state: np.uint64,
    multiplier_1: np.uint64,
    multiplier_2: np.uint64,
    out: Hashes,
) -> None:
    """SpanHash.windows, into `out`."""
    used = 0
    for text in range(texts):
        begin, count = starts[text], counts[text]
        mask = first_bytes(width)
        for i in range(count):
            own = (word_at(octets, begin + i) & mask) ^ state
            out[used + i] = _mix(own, multiplier_1, multiplier_2)
        for done in range(8, width, 8):
            mask = first_bytes(width - done)
            for i in range(count):
                own = out[used + i] ^ (word_at(octets, begin + done + i) & mask)
                out[used + i] = _mix(own, multiplier_1, multiplier_2)
        used += count


def word_sums(
    hashes: Hashes, lengths: Offsets, texts: int, places: Hashes, size: int, out: Hashes
) -> None:
    """The shingles of texts of `lengths` words, into `out`; see lshdb.shingling.shingles."""
    used = 0
    first = 0
    for text in range(texts):
        length = lengths[text]
        # A text of fewer words than a shingle has one shingle, of all its words.
        whole = max(length - size + 1, 1 if length > 0 else 0)
        for i in range(whole):
            out[used + i] = 0
        for place in range(min(size, length)):
            for i in range(whole):
                out[used + i] += hashes[first + place + i] * places[place]
        used += whole
        first += length


_KERNELS = {
    function.__name__: function
    for function in (
        fast_signatures,
        spans,
        fold_words,
        words,
        windows,
        word_sums,
        compiled_digests.digests,
        compiled_rows.rows,
    )
}
