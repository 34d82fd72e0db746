"""The methods of `Database` that apps have; type checkers read app_methods.pyi instead."""

from typing import Any

from lshdb.offers import METHODS, offered


class _Method:
    """A method of an app, which is loaded when it is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, database: object, kind: type) -> Any:
        return offered(METHODS, self.name).__get__(database, kind)


class AppMethods:
    """The methods of all apps, in `lshdb.offers.METHODS`; UsageError if the app is missing."""


for _name in METHODS:
    setattr(AppMethods, _name, _Method(_name))
