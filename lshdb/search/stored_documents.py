"""Stored documents by their keys: their fields and buckets."""

from lshdb import model
from lshdb.read.metadata import from_json
from lshdb.search.lookup import buckets_of
from lshdb.search.query import row_of_key
from lshdb.store.store import Store
from lshdb.text.content import from_stored


def stored_document(store: Store, key: str) -> model.StoredDocument:
    """The document of a key; KeyNotFound if there is none."""
    with store.reading():
        row = row_of_key(store, key)
        buckets = None if row.signature is None else buckets_of(store, row.signature)
    content = None
    if row.content is not None:
        content = from_stored(row.content, store.settings.shingling)
    metadata = from_json(row.metadata)
    return model.StoredDocument(
        row.doc_id, row.key, content, row.shingles, row.signature, buckets, metadata
    )


def buckets_of_key(store: Store, key: str) -> list[model.Bucket]:
    """The buckets of a document; see Database.buckets."""
    with store.reading():
        store.warn_of_unindexed("buckets")
        row = row_of_key(store, key)
        if row.signature is None:
            return []
        return store.bucket_sizes(buckets_of(store, row.signature))
