"""500 queries in one process, by the library: many_queries.py DATABASE QUERIES.jsonl.

Runs in the environment of either version that bench/against.py compares: it imports lshdb alone.
"""

import json
import sys

import lshdb


def main() -> None:
    database, queries = sys.argv[1:]
    with open(queries, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    with lshdb.open(database, mode="read") as db:
        print(sum(len(db.query(text)) for text in texts), "matches")


if __name__ == "__main__":
    main()
