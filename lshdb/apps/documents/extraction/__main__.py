"""Starts the process that takes text out of documents, without running lshdb's own `__init__`.

The package is named here instead of found: its parent folder on Python's path might hide modules of
its library that have the same names.
"""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

folder = os.path.abspath(__file__)
for _ in range(4):
    folder = os.path.dirname(folder)
spec = spec_from_file_location(
    "lshdb", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
)
assert spec is not None
sys.modules["lshdb"] = module_from_spec(spec)

from lshdb.apps.documents.extraction.process import main  # noqa: E402

if __name__ == "__main__":
    main()
