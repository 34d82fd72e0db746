"""A process that signs parts of batches for another one (lshdb.ingest.workers), which starts it.

A message has a length, a header in JSON and any number of byte strings, whose lengths the header
tells. The first one gives the settings; then each asks for a part or brings it back. There is no
pickle in them.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, BinaryIO, Final

import numpy as np

from lshdb.acceleration import kernels, load_kernels, speed_up, use_fast_json
from lshdb.columns import Blobs, Texts
from lshdb.ingest.parts import Part, SignedPart, sign_part
from lshdb.model import Construction, Settings, Shingling
from lshdb.processes import step_back
from lshdb.shingling.content import DIGEST_BYTES, encoded, from_stored
from lshdb.sketching.signing import Signed
from lshdb.sources.parsing import Rows
from lshdb.sources.records import Failure, Lines, RecordParser
from lshdb.sources.row_files import RowFile, Stretch

MAKE_KERNELS: Final = "make-kernels"
"""The argument of a process that makes the compiled kernels if there are none yet."""
_LENGTH: Final = 8


def send(
    pipe: BinaryIO, header: dict[str, object], data: Sequence[bytes | memoryview] = ()
) -> None:
    """Write a message."""
    start = json.dumps(header | {"sizes": [len(one) for one in data]}).encode()
    size = _LENGTH + len(start) + sum(map(len, data))
    pipe.write(size.to_bytes(_LENGTH, "little") + len(start).to_bytes(_LENGTH, "little") + start)
    for one in data:
        pipe.write(one)
    pipe.flush()


def receive(pipe: BinaryIO) -> bytes:
    """Read a message; EOFError if there is none, or not all of one."""
    return _read(pipe, int.from_bytes(_read(pipe, _LENGTH), "little"))


def unpacked(message: bytes) -> tuple[dict[str, Any], list[memoryview]]:
    """The header and the byte strings of a message."""
    rest = memoryview(message)
    begin = _LENGTH + int.from_bytes(rest[:_LENGTH], "little")
    header = json.loads(message[_LENGTH:begin])
    bounds = accumulate(header["sizes"], initial=begin)
    return header, [rest[start:end] for start, end in pairwise(bounds)]


def _read(pipe: BinaryIO, count: int) -> bytes:
    data = pipe.read(count)
    if len(data) != count:
        raise EOFError
    return data


def send_settings(pipe: BinaryIO, settings: Settings, parser: RecordParser | None) -> None:
    """What a worker must know before the first part."""
    header: dict[str, object] = {
        "shingle": str(settings.shingling),
        "permutations": settings.permutations,
        "construction": str(settings.construction),
        "sketch": settings.sketch,
        "seed": settings.seed,
        "content": settings.content,
    }
    if parser is not None:
        header["parser"] = parser.options()
    send(pipe, header)


def _receive_settings(pipe: BinaryIO) -> tuple[Settings, RecordParser | None]:
    fields, _ = unpacked(receive(pipe))
    settings = Settings(
        threshold=1.0,
        recall=1.0,
        shingling=Shingling.parse(fields["shingle"]),
        permutations=fields["permutations"],
        construction=Construction.parse(fields["construction"]),
        sketch=fields["sketch"],
        seed=fields["seed"],
        content=fields["content"],
    )
    parser = RecordParser(**fields["parser"]) if "parser" in fields else None
    return settings, parser


def send_part(pipe: BinaryIO, part: Part) -> None:
    """Ask for a part."""
    header: dict[str, object] = {"sign": part.sign}
    if part.lines is not None:
        header |= {
            "name": part.lines.name,
            "first": part.lines.first,
            "count": part.lines.count,
            "format": part.lines.format,
            "columns": part.lines.columns,
        }
        if (stretch := part.lines.stretch) is not None:
            header["file"] = [stretch.file.path, stretch.file.identity]
            header["stretch"] = [stretch.group, stretch.start, stretch.size]
        send(pipe, header, [part.lines.data])
    else:
        send(pipe, header, _packed([encoded(content) for _, content in part.documents]))


def _receive_part(pipe: BinaryIO, settings: Settings) -> Part:
    header, data = unpacked(receive(pipe))
    if "name" in header:
        place = header["name"], header["first"], header["count"]
        stretch = None
        if "stretch" in header:
            path, identity = header["file"]
            stretch = Stretch(RowFile(path, tuple(identity)), *header["stretch"])
        lines = Lines(*place, bytes(data[0]), header["format"], tuple(header["columns"]), stretch)
        return Part((), lines, header["sign"])
    contents = [from_stored(one, settings.shingling) for one in _texts(data)]
    return Part([("", content) for content in contents], None, header["sign"])


def send_signed(pipe: BinaryIO, part: Part, signed: SignedPart) -> None:
    """Bring a part back; the other side has the documents already unless they came as lines."""
    if signed.unread:
        send(pipe, {"unread": True})
        return
    data: list[bytes | memoryview] = [Blobs.packed(signed.digests).matrix.tobytes()]
    if part.lines is not None:
        data += _packed(signed.keys)
        data += _packed(signed.stored)
        data.append(np.array(signed.lines, dtype=np.int64).tobytes())
        if signed.metadata:
            data += _packed([one or "" for one in signed.metadata])
    if signed.signed is not None:
        arrays = signed.signed.signatures, signed.signed.shingles, signed.signed.bucket_keys
        data += [array.tobytes() for array in arrays]
    failures = [[failure.where, failure.reason] for failure in signed.failures]
    header = {
        "replaced": signed.replaced,
        "failures": failures,
        "metadata": bool(signed.metadata),
        "unread": False,
    }
    send(pipe, header, data)


def signed_part(message: bytes, part: Part, settings: Settings) -> SignedPart:
    """The part, signed, that a message brings back."""
    header, data = unpacked(message)
    if header["unread"]:
        return SignedPart.not_read(part)
    digests = Blobs(bytes(data[0]), DIGEST_BYTES)
    rest = data[1:]
    keys: Sequence[str]
    stored: Sequence[str]
    lines: Sequence[int] = ()
    metadata = part.metadata
    if part.lines is not None:
        keys, stored = _texts(rest[:2]), _texts(rest[2:4])
        lines = rest[4].cast("q")
        rest = rest[5:]
        if header["metadata"]:
            metadata, rest = [one or None for one in _texts(rest[:2])], rest[2:]
    else:
        keys = [key for key, _ in part.documents]
        wanted = settings.content or not part.sign
        stored = [encoded(content) for _, content in part.documents] if wanted else []
    signed = None
    if part.sign:
        n = len(digests)
        signed = Signed(
            np.frombuffer(rest[0], np.uint32).reshape(n, settings.permutations),
            np.frombuffer(rest[1], np.int64),
            np.frombuffer(rest[2], np.int64).reshape(n, settings.construction.bands),
            settings.construction,
        )
    failures = [Failure(where, reason) for where, reason in header["failures"]]
    replaced = header["replaced"]
    return SignedPart(keys, stored, digests, signed, failures, replaced, lines, metadata, part.rows)


def _packed(texts: Sequence[str]) -> list[bytes | memoryview]:
    """The lengths of texts and the texts, in UTF-8."""
    packed = Texts.packed(texts)
    return [packed.sizes.tobytes(), packed.data]


def _texts(data: Sequence[memoryview]) -> Texts:
    sizes, joined = data
    return Texts(joined, np.frombuffer(sizes, np.int64))


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until there are no more."""
    try:
        settings, parser = _receive_settings(requests)
        send(replies, {"kernels": kernels() is not None})  # all that is needed is loaded
        rows = Rows()
        while True:
            part = _receive_part(requests, settings)
            send_signed(replies, part, sign_part(part, settings, parser, rows))
    except EOFError:
        return


def main() -> None:
    """Serve the process that started this one."""
    # There are many objects here and no cycles: looking for those takes some percent of the time.
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()
    step_back()
    use_fast_json()
    if MAKE_KERNELS in sys.argv:
        # numba would load all of scipy.linalg, where there is one, to see whether it is there.
        sys.modules.setdefault("scipy", None)  # type: ignore[arg-type]
        speed_up()
    else:
        load_kernels()
    serve(sys.stdin.buffer, sys.stdout.buffer)
