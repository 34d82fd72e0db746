"""The process that reads files of strangers: one answer for each document.

It reads jobs from standard input and writes what it finds to standard output, each a JSON object on
a line. What loads long is imported when a file needs it.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module

from lshdb.apps.documents.extraction import kinds, mail
from lshdb.apps.documents.extraction.kinds import LIBRARIES, Metadata, Refused
from lshdb.apps.documents.extraction.text import normalized
from lshdb.read.kinds import KINDS, PROBE

_MEMORY = 2 << 30
"""Bytes of memory of this process, where the system can limit them."""
_REFUSED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")
"""Events that no document needs."""
_HEAD = 4096
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STREAMS = {
    "EncryptedPackage": "encrypted: it asks for a password",
    "WordDocument": "an old Word file (.doc): give --convert a program that reads it",
    "PowerPoint Document": "an old PowerPoint file (.ppt): give --convert a program that reads it",
}
"""What old files of Office have in them, and files of Office that are locked."""
_PAGE = (b"<!doctype html", b"<html", b"<table", b"<head", b"<body")


def actual_kind(path: str, kind: str) -> str:
    """The kind of a file by its first bytes, whatever its suffix says.

    Raises:
        Refused: it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    real_kind = kinds.kind_of_start(head)
    small = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if kind in ("eml", "mbox", "ipynb"):
        real_kind = None
    elif b"%pdf-" in small[:PROBE]:
        real_kind = "pdf"
    elif head.startswith(_OLD_OFFICE):
        with open(path, "rb") as file:
            data = file.read()
        for stream, message in _STREAMS.items():
            if stream.encode("utf-16-le") in data:
                raise Refused(message)
        real_kind = "xlsx" if kind != "zip" else None
    elif real_kind is None and kind not in ("html", "rtf") and any(tag in small for tag in _PAGE):
        real_kind = "html"
    if real_kind == "zip":
        from lshdb.apps.documents.extraction.packages import Package, kind_of

        real_kind = kind_of(Package(path))
    return kind if real_kind is None or real_kind == "mbox" else real_kind


def pages_within(pages: Iterable[str], largest: int) -> list[str]:
    """All pages, if they are not larger than the limit."""
    pages_read, size = [], 0
    for page in pages:
        pages_read.append(page)
        size += len(page)
        if size > largest:
            raise Refused(f"its text is larger than {largest:,} bytes, the limit: split it")
    return pages_read


def answers(job: Metadata) -> Iterator[Metadata]:
    """The answers about a file: each document, or why there is none.

    Before each message of a mailbox goes its name, and the byte after it: another process goes on
    there if this one does not survive the message.
    """
    if job["kind"] != "mbox":
        yield _document(job)
        return
    for data, size, after in mail.messages(job["path"], job["start"]):
        yield {"message": mail.name_of(data), "after": after}
        if size > mail.LARGEST_MESSAGE:
            yield {"refused": f"larger than {mail.LARGEST_MESSAGE:,} bytes, the limit of a message"}
        else:
            yield _document(job, data)


def _document(job: Metadata, message: bytes | bytearray | None = None) -> Metadata:
    """The text and metadata of a file, or of a message in it; or why it is refused."""
    from importlib.metadata import version

    path, kind = job["path"], job["kind"]
    about: Metadata = {}
    try:
        if "sheet" in job:
            from lshdb.apps.documents.extraction import sheets

            rows = pages_within(sheets.rows(path, job["sheet"]), job["largest"])
            return {"text": "\n".join(rows), "metadata": {}, "extracted": {}}
        if message is None:
            kind = actual_kind(path, kind)
            module, _, function = LIBRARIES[kind].reader.partition(".")
            pages = getattr(import_module(f".{module}", __package__), function)(path, about)
        else:
            pages = [mail.text_of(message, about)]
        library = LIBRARIES[kind].name
        by = f"{library} {version(library)}" if library else f"Python {sys.version.split()[0]}"
        texts = pages_within(pages, job["largest"])
        if kind in ("eml", "mbox") and not job["quotes"]:
            texts[0] = mail.QUOTED.sub("", normalized(texts[:1], of_paper=False))
        text = normalized(texts, of_paper=kind == "pdf")
        about["scanned"] = kind == "pdf" and not text
        known_fields = {name: value for name, value in about.items() if value}
        extracted = {"by": by}
        if message is not None:
            extracted["message"] = mail.digest_of(message)
        return {"text": text, "metadata": {"type": kind, **known_fields}, "extracted": extracted}
    except Exception as error:
        return {"refused": reason(error, kind)}


def reason(error: Exception, kind: str) -> str:
    """Why a file of a kind is refused, in words for the user."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, MemoryError):
        return f"it takes more than {_MEMORY:,} bytes of memory"
    why = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"no {KINDS[kind].name} that can be read ({why:.200})"


def restrict() -> None:
    """Limit memory, and refuse connections and programs: a document has no use for them."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def refuse(event: str, _: object) -> None:
        if event.startswith(_REFUSED):
            raise Refused("it wants to run a program or use the network")

    sys.addaudithook(refuse)


def main() -> None:
    """Do the jobs on standard input, or of a descriptor that is named, one after the other."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    restrict()
    jobs = open(int(sys.argv[1]), "rb") if sys.argv[1:] else sys.stdin.buffer  # noqa: SIM115
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer

    def send(answer: Metadata) -> None:
        out.write(json.dumps(answer).encode() + b"\n")
        out.flush()

    alarm = getattr(signal, "alarm", int)  # which Windows lacks
    for line in jobs:
        job = json.loads(line)
        # The parent ends this process in time, unless it was killed meanwhile. It may take as long
        # as it likes until it reads an answer.
        seconds = int(job["seconds"]) + 5
        last: Metadata = {"end": True}
        try:
            alarm(seconds)
            for answer in answers(job):
                alarm(0)
                send(answer)
                alarm(seconds)
        except Exception as error:  # of reading a mailbox, not of a message
            last["refused"] = reason(error, job["kind"])
        alarm(0)
        send(last)
