"""The pages in Datasette, which finds this module by its entry point; none without the extra.

Whoever has Datasette for other files, and lshdb without the extra `datasette`, has it as before.
"""

from contextlib import suppress

with suppress(ModuleNotFoundError):
    from lshdb.web.in_datasette import (  # noqa: F401
        asgi_wrapper,
        database_actions,
        handle_exception,
        prepare_connection,
        register_routes,
        skip_csrf,
    )
