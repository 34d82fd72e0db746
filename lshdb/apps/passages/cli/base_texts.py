"""What `--base` names: texts that count nowhere, such as a task or a template."""

import os
from collections.abc import Sequence

from lshdb.cli import documents
from lshdb.errors import InputError
from lshdb.keys import distinct_key
from lshdb.model import Failure
from lshdb.read.paths import printable_path
from lshdb.text.content import digest
from lshdb.text.shingling import Shingling


def base_texts(paths: Sequence[str], shingling: Shingling) -> dict[str, str]:
    """The texts of files and directories by their keys, as `add` reads them.

    Raises:
        InputError: there is none, or one cannot be read.
    """
    root = os.path.realpath(os.curdir)
    session = documents.session_for(shingling, archives=True, root=root)
    texts: dict[str, str] = {}
    digests: dict[str, bytes] = {}
    for document in session.read(paths):
        if isinstance(document, Failure):
            raise InputError(f"--base {document.where}: {document.reason}")
        content = str(document.content)
        content_digest = digest(content.encode())
        key = distinct_key(document.key, content_digest, digests.get)  # rows may have one key
        texts[key], digests[key] = content, content_digest
    documents.report_skipped_files(session.counts.skipped.counts(), "base: ")
    if not texts:
        raise InputError(f"--base {', '.join(map(printable_path, paths))}: no text is there")
    return texts
