"""The text of notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from documents import refused, text_of


@pytest.mark.extra("documents")
def test_the_text_of_a_notebook_is_that_of_its_cells(tmp_path: Path) -> None:
    page = {"cell_type": "markdown", "source": ["# Ferries\n", "<table> at noon"]}
    program = {"cell_type": "code", "outputs": [{"text": ["printed"]}]}
    third = {"worksheets": [{"cells": [page, {**program, "input": ["x = 1\n", "x"]}]}]}
    fourth = {"cells": [page, {**program, "source": "x = 1\nx"}], "metadata": {}}
    for notebook in (third, fourth):
        words = text_of(tmp_path / "a.ipynb", json.dumps(notebook).encode())
        assert words == "# Ferries\n<table> at noon\nx = 1\nx"
    assert refused(tmp_path / "a.ipynb", b"{}").startswith("no notebook that can be read")
