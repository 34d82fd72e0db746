"""`lshdb spark-passages`: find copied passages in more texts than a machine holds."""

from __future__ import annotations

from typing import Annotated

import typer

from lshdb import groups, options
from lshdb.apps.passages.cli.base_texts import base_texts
from lshdb.apps.passages.options import Base, CommonOptions, CopiedOptions, TextFieldOptions
from lshdb.apps.spark.cli import on_spark
from lshdb.apps.spark.options import SparkOptions, SparkPassagesOptions


class Copying(groups.Options):
    """Which passages are found."""

    runs: CommonOptions

    words: Annotated[
        int | None,
        groups.Option(
            "Shortest run that is surely found. [default: 8]",
            min=1,
            metavar="WORDS",
            flags=("--passages",),
        ),
    ] = None
    base: Base = None


def spark_passages(
    *,
    input: on_spark.SparkInput,
    output: Annotated[
        str, typer.Argument(metavar="OUTPUT", help="A new directory for the passages.")
    ],
    copying: Copying,
    settings: options.ShingleOptions,
    spark: on_spark.Spark,
    fields: TextFieldOptions,
) -> bool:
    """Find copied passages among more documents than a machine holds, on Spark.

    A row of OUTPUT is a passage that two documents share, with the columns of lshdb passages
    --all -o FILE, in the format of INPUT. Keys must be distinct. Rows without a key or a text
    and broken lines are left out and named, and the status is 1.

    Needs Java 17 or newer, and the extra spark. On a cluster:
    spark-submit --master URL PATH/TO/lshdb/apps/spark/__main__.py spark-passages INPUT OUTPUT

    Example: lshdb spark-passages crawl/ copied/ --master "local[*]"
    """
    on_spark.check_names(input, output)
    words = 8 if copying.words is None and spark.settings_from is None else copying.words
    wanted = spark.settings(options.SettingsOptions(**groups.values_of(settings), passages=words))
    base = copying.base and base_texts(copying.base, wanted.shingling)
    with spark.session(output) as running:
        from lshdb.apps.spark import frame_documents
        from lshdb.spark import Counts, passage_pairs

        counts = Counts(running)
        columns = {"key": fields.key_field, "text": fields.text_field}
        data = SparkOptions(wanted, **columns, counts=counts)
        copied = CopiedOptions(runs=copying.runs, base=tuple((base or {}).values()))
        source = spark.read(running, input, columns)
        passages = passage_pairs(source.rows, SparkPassagesOptions(data=data, copied=copied))
        passages.write.option("ignoreNullFields", "false").save(output, source.format)
        written = running.read.schema(passages.schema).load(output, source.format)
        pairs = written.select("a", "b").distinct().count()
        unusable = None
        if counts.unusable:
            unusable = frame_documents.failures(
                frame_documents.documents(source.rows, data), wanted.shingling
            )
        failed = on_spark.report_failures(source.broken, unusable)
        numbers = {"pairs": pairs, "passages": written.count(), "failed": failed}
        spark.report(numbers, counts, "bad_keys", "bad_documents", "cut_passages")
        return failed > 0
