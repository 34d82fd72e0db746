"""`lshdb clusters`: group similar documents, and show which one to keep."""

from typing import Annotated

from lshdb import offers
from lshdb.cli import messages, results
from lshdb.cli.options import DatabaseFile, Form, Null
from lshdb.database import store_of
from lshdb.errors import UsageError
from lshdb.groups import Option
from lshdb.options import ClustersOptions


def clusters(
    *,
    file: DatabaseFile,
    options: ClustersOptions,
    drop_list: Annotated[
        bool,
        Option("Print only keys of documents that can be removed."),
    ] = False,
    files: Annotated[
        bool,
        Option("With --drop-list: print the files of the documents that can be deleted."),
    ] = False,
    null: Null = False,
    form: Form,
) -> None:
    """Group similar documents, and show which one of each group to keep.

    A cluster is all documents that similar pairs connect. Members less similar to the kept one than
    the threshold are "below"; --star makes clusters without them. A line has the number of the
    cluster, the similarity to the kept one, the role (or the decision), and the key.

    --drop-list prints keys, for lshdb remove or lshdb decide; at threshold 1, those of files with
    the same bytes as the kept one, not of others with the same text. With --files it prints paths
    from here, of files that can be deleted: each has the bytes that were compared, and so has the
    kept file. Both are read now. Others are named with the reason, with exit status 1.

    Example: lshdb clusters --star --drop-list -0 | lshdb remove --from - -0

    Example: lshdb clusters --star --drop-list --files -0 | xargs -0 -r rm
    """
    join = options.join
    if files and not (drop_list and form.is_text):
        raise UsageError("--files goes with --drop-list, and prints paths only")
    if null and not (drop_list and form.is_text):
        raise UsageError("--null is for --drop-list as text")
    if drop_list and join.similar.fields:
        raise UsageError("give one of --drop-list and --fields")
    with file.reading(form, temporary=join.group_by is not None) as database:
        minimum = messages.noted_minimum(database.settings, join.similar.threshold)
        similar_clusters = database.clusters(options)
        if drop_list:
            print_dropped = offers.offered(offers.OF_OPTIONS, "drop_list")
            print_dropped(database, similar_clusters, minimum, form, files=files, null=null)
            return
        results.write_results(
            similar_clusters.columns,
            similar_clusters.rows(),
            form,
            shown=("cluster", "similarity", "exact", "role", "key"),
            fields=join.similar.fields,
            noun=("document in clusters", "documents in clusters"),
            none="no document that matches"
            if options.min_size == 1
            else f"no two documents with similarity {minimum:g} or more",
            store=store_of(database),
            has_words=join.group_by is None,
        )
