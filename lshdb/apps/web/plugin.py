"""The pages in Datasette, which finds this module by its entry point.

Without the extra `datasette` there are none, and Datasette works as without lshdb.
"""

from contextlib import suppress

with suppress(ModuleNotFoundError):
    from lshdb.apps.web.in_datasette import (  # noqa: F401
        asgi_wrapper,
        database_actions,
        prepare_connection,
        register_routes,
        skip_csrf,
    )
