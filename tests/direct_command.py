"""The command of `helpers` by its earlier name."""

from helpers import Command as DirectCommand

__all__ = ["DirectCommand", "command"]
from conftest import command
