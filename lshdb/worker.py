"""Signing in processes of their own, so that it overlaps with parsing and with SQLite.

Threads would not do: parsing and SQLite's binding of rows hold the interpreter's lock in turns
of microseconds, and each of the kernels' short numpy calls would have to wait for it.

The parent starts `python -m lshdb.worker` and talks to it through pipes. A request is one header
of int64 numbers, the number of documents and the length of each in bytes, then the documents in
their stored form; a reply is the arrays of their signatures. There is no pickle in it, and a
worker that dies costs no more than time: its batch is signed by the parent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

from lshdb.content import digest, from_stored
from lshdb.model import Construction, Settings, Shingling
from lshdb.signing import Signed, sign

_DIGEST: Final = 16
_PIPE_BYTES: Final = 1 << 20
_MOST: Final = 3
"""Workers that one writer to SQLite can keep busy."""


@dataclass(frozen=True, slots=True)
class SignedBatch:
    """Documents signed, with their digests, bytes each."""

    signed: Signed
    digests: list[bytes]

    @classmethod
    def joined(cls, parts: Sequence[SignedBatch]) -> SignedBatch:
        """Batches one after the other as one; at least one."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            Signed(
                np.concatenate([part.signed.signatures for part in parts]),
                np.concatenate([part.signed.shingles for part in parts]),
                np.concatenate([part.signed.bucket_keys for part in parts]),
            ),
            [one for part in parts for one in part.digests],
        )


def sign_here(stored: Sequence[str], settings: Settings) -> SignedBatch:
    """Sign documents, given in their stored form, in this process."""
    contents = [from_stored(one, settings.shingling) for one in stored]
    return SignedBatch(sign(contents, settings), [digest(one.encode()) for one in stored])


def default_workers() -> int:
    """As many as there are processors besides this process's own, three at the most."""
    return min(_MOST, len(os.sched_getaffinity(0)) - 1) if hasattr(os, "sched_getaffinity") else 1


class Signers:
    """Signs batches, in worker processes once there is enough to do. Use as a context manager.

    Attributes:
        workers: how many processes; 0 signs in this one.
    """

    def __init__(self, settings: Settings, workers: int) -> None:
        self.workers = workers if _python_is_python() else 0
        self._settings = settings
        self._threads: list[ThreadPoolExecutor] = []
        self._processes: list[_Process | None] = []
        self._submitted = 0

    def __enter__(self) -> Signers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # End the processes first: a thread may be waiting for its process's reply.
        for process in self._processes:
            if process is not None:
                process.stop()
        for thread in self._threads:
            thread.shutdown(wait=True, cancel_futures=True)

    def submit(self, stored: Sequence[str], *, alone: bool) -> Future[SignedBatch]:
        """Sign a batch of documents in their stored form; `alone` says that no more will come."""
        if not self._threads:
            if not alone:
                for _ in range(self.workers):
                    self._threads.append(ThreadPoolExecutor(1, "lshdb-signer"))
                    self._processes.append(_start(self._settings))
            # The first one is done here while the others start.
            done: Future[SignedBatch] = Future()
            done.set_result(sign_here(stored, self._settings))
            return done
        place = self._submitted % self.workers
        self._submitted += 1
        return self._threads[place].submit(self._ask, place, stored)

    def _ask(self, place: int, stored: Sequence[str]) -> SignedBatch:
        process = self._processes[place]
        if process is not None:
            try:
                return process.sign(stored)
            except (OSError, EOFError):
                self._processes[place] = None
                process.stop()
        return sign_here(stored, self._settings)


class _Process:
    """A worker process and the pipes to it."""

    def __init__(self, process: subprocess.Popen[bytes], settings: Settings) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._requests: BinaryIO = process.stdin  # type: ignore[assignment]
        self._replies: BinaryIO = process.stdout  # type: ignore[assignment]
        self._settings = settings

    def sign(self, stored: Sequence[str]) -> SignedBatch:
        joined = "".join(stored)
        parts = stored if joined.isascii() else [one.encode() for one in stored]
        lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        self._requests.write(np.append(len(parts), lengths).astype(np.int64).tobytes())
        self._requests.write(joined.encode())
        self._requests.flush()
        n, lanes = len(stored), self._settings.permutations
        signatures = np.frombuffer(_read(self._replies, n * lanes * 4), np.uint32)
        shingles = np.frombuffer(_read(self._replies, n * 8), np.int64)
        bands = self._settings.construction.bands
        bucket_keys = np.frombuffer(_read(self._replies, n * bands * 8), np.int64)
        digests = _read(self._replies, n * _DIGEST)
        signed = Signed(signatures.reshape(n, lanes), shingles, bucket_keys.reshape(n, bands))
        return SignedBatch(
            signed, [digests[i : i + _DIGEST] for i in range(0, len(digests), _DIGEST)]
        )

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._replies):
            try:
                pipe.close()
            except OSError:
                continue  # what was not sent has nobody to read it


def _python_is_python() -> bool:
    """Whether sys.executable can run a module: in a frozen program or a web server it may not."""
    name = Path(sys.executable or "").name
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def _start(settings: Settings) -> _Process | None:
    """Start a worker; None if the system will not."""
    package = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "lshdb.worker", _settings_text(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # numpy's BLAS, which nothing here uses, would keep a thread of its own spinning.
            env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            # Pipes of 1 MB where the system has them: fewer turns for the same bytes.
            pipesize=_PIPE_BYTES,
            # Ctrl-C goes to all processes of a terminal's group; this one ends with its pipe.
            process_group=0 if os.name == "posix" else None,
        )
    except OSError:
        return None
    return _Process(process, settings)


def _settings_text(settings: Settings) -> str:
    """What a worker needs of the settings, as one argument."""
    return json.dumps(
        {
            "shingle": str(settings.shingling),
            "permutations": settings.permutations,
            "construction": str(settings.construction),
            "sketch": settings.sketch,
            "seed": settings.seed,
        }
    )


def _settings_of(text: str) -> Settings:
    fields = json.loads(text)
    return Settings(
        threshold=1.0,
        recall=1.0,
        shingling=Shingling.parse(fields["shingle"]),
        permutations=fields["permutations"],
        construction=Construction.parse(fields["construction"]),
        sketch=fields["sketch"],
        seed=fields["seed"],
        content=True,
    )


def _read(pipe: BinaryIO, count: int) -> bytes:
    data = pipe.read(count)
    if len(data) != count:
        raise EOFError
    return data


def _numbers(pipe: BinaryIO, count: int) -> npt.NDArray[np.int64]:
    return np.frombuffer(_read(pipe, count * 8), dtype=np.int64)


def serve(requests: BinaryIO, replies: BinaryIO, settings: Settings) -> None:
    """Answer requests until there are no more."""
    while True:
        try:
            (count,) = _numbers(requests, 1).tolist()
            bounds = [0, *np.cumsum(_numbers(requests, count)).tolist()]
            documents = _read(requests, bounds[-1])
        except EOFError:
            return
        view = memoryview(documents)
        stored = [str(view[start:end], "utf-8") for start, end in pairwise(bounds)]
        contents = [from_stored(one, settings.shingling) for one in stored]
        signed = sign(contents, settings)
        replies.write(signed.signatures.tobytes())
        replies.write(signed.shingles.tobytes())
        replies.write(signed.bucket_keys.tobytes())
        replies.write(b"".join(digest(view[start:end]) for start, end in pairwise(bounds)))
        replies.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer, _settings_of(sys.argv[1]))
