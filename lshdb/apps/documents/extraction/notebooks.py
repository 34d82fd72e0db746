"""Notebooks of Jupyter, by Python's JSON: the sources of their cells, not what these print."""

import json
from collections.abc import Iterator

from lshdb.apps.documents.extraction.kinds import Metadata


def cells(path: str, _: Metadata) -> Iterator[str]:
    """The source of each cell, of the formats 3 and 4."""
    with open(path, encoding="utf-8-sig") as file:
        notebook = json.load(file)
    for sheet in notebook.get("worksheets", [notebook]):
        for cell in sheet["cells"]:
            yield "".join(cell["input"] if "input" in cell else cell["source"])
