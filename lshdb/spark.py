"""`import lshdb.spark`: the app `lshdb.apps.spark` under the name that users know."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lshdb.apps.spark import *  # noqa: F403

sys.modules[__name__] = import_module("lshdb.apps.spark")
