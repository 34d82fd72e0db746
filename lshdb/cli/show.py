"""`lshdb show`: show one document: sizes, metadata, signature, buckets."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from lshdb.cli import documents, options, results
from lshdb.model import Bucket


def show(
    *,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Its key, or a path.")],
    as_keys: options.AsKeys = False,
    file: options.DatabaseFile,
    form: options.Form,
) -> None:
    """Show one document: its sizes, its metadata, its signature, its buckets.

    A bucket is a line: the number of its band, its key, how many documents are in it.

    Example: lshdb show -d code.db src/main.py
    """
    with file.reading(form) as database:
        [key] = documents.stored_keys(database, [key], as_keys=as_keys)
        document = database.get(key)
        buckets = database.buckets(key)
        # Unknown for signatures made elsewhere.
        shingles = None if database.settings.shingling.foreign else document.shingles
    content = document.content
    lanes = [] if document.signature is None else document.signature.tolist()
    record: dict[str, Any] = {"key": document.key, "doc_id": document.doc_id}
    if isinstance(content, str):
        record |= {"characters": len(content), "bytes": len(content.encode())}
    elif content is not None:
        record["elements"] = len(content)
    record |= {
        "shingles": shingles,
        "metadata": document.metadata,
        "signature": lanes,
        "buckets": [asdict(bucket) for bucket in buckets],
    }
    signed = f"{len(lanes)} lanes" if lanes else "none: no shingle, similar to nothing"
    results.write_record(record, form, {**record, "signature": signed, "buckets": len(buckets)})
    if form.is_text and buckets:
        results.write_results(Bucket, buckets, form)
