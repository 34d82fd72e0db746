"""Starts the process that takes text out of documents, without importing lshdb.

The modules beside this one are loaded as a package of their own: their folder on Python's path
would hide modules of its library that have the same names.
"""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location

folder = os.path.dirname(os.path.abspath(__file__))
spec = spec_from_file_location(
    "documents", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
)
assert spec is not None
sys.modules["documents"] = module_from_spec(spec)

from documents.process import main  # type: ignore[import-not-found]  # noqa: E402

if __name__ == "__main__":
    main()
