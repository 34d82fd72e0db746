# What type checkers read of spark.py.
# ruff: noqa: F403
from lshdb.apps.spark import *
