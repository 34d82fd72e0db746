"""`lshdb pairs`: find all pairs of similar documents."""

from lshdb.cli import messages, results
from lshdb.cli.options import DatabaseFile, Form
from lshdb.database import store_of
from lshdb.options import PairsOptions


def pairs(
    *,
    file: DatabaseFile,
    options: PairsOptions,
    form: Form,
) -> None:
    """Find all pairs of similar documents.

    Similarities are exact where the database keeps contents, else estimates. Each pair comes
    once, in the order of addition, as soon as it is found; Ctrl-C or a closed pipe ends it. With
    --top the most similar ones come when all are found. Pairs marked different are left out.

    A line has the similarity of a pair, then exact, estimate, identical (the same bytes) or same
    text, then both keys. With --where both must match.

    --sample prints some pairs drawn at random, the most similar first, and from how many they were
    drawn. Read those around a similarity to see whether duplicates begin there. The same seed
    gives the same pairs.

    Example: lshdb pairs -d code.db --threshold 0.9 --top 20

    Example: lshdb pairs --threshold 0.75 --max-similarity 0.85 --sample 20
    """
    join = options.join
    with file.reading(form, temporary=join.group_by is not None) as database:
        minimum = messages.noted_minimum(database.settings, join.similar.threshold)
        matching_pairs = database.pairs(options)
        results.write_results(
            matching_pairs.columns,
            matching_pairs.rows(),
            form,
            shown=(*filter(None, [options.weighted.sort]), "similarity", "exact", "a", "b"),
            fields=join.similar.fields,
            noun=("pair",),
            none=f"no pair with similarity {minimum:g} "
            + (f"to {options.max_similarity:g}" if options.max_similarity else "or more"),
            store=store_of(database),
            has_words=join.group_by is None,
        )
    if matching_pairs.drawn_from:
        messages.message(matching_pairs.sample.words())
