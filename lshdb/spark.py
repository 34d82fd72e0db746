"""`import lshdb.spark`: the app `lshdb.apps.spark` under the name that users know."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("lshdb.apps.spark")
