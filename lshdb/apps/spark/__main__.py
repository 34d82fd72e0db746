"""The commands on Spark by themselves: python -m lshdb.spark, or what spark-submit is given.

spark-submit --master yarn .../lshdb/apps/spark/__main__.py INPUT OUTPUT --threshold 0.8
spark-submit --master yarn .../lshdb/apps/spark/__main__.py spark-passages INPUT OUTPUT
"""

import sys


def main() -> None:
    """Run the command that is named, or else spark-dedup."""
    from lshdb.cli.app import main as run

    if sys.argv[1:2] not in (["spark-dedup"], ["spark-passages"]):
        sys.argv.insert(1, "spark-dedup")
    run()


if __name__ == "__main__":
    main()
