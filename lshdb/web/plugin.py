"""The pages in Datasette, which finds this module by its entry point.

Without the extra `datasette` there are none, and Datasette works as without lshdb.
"""

from contextlib import suppress

with suppress(ModuleNotFoundError):
    pass
