"""Methods of `Database` that apps have."""

from __future__ import annotations

import inspect
import pydoc
from pathlib import Path

import pytest

import lshdb
from lshdb import offers
from lshdb.errors import UsageError


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.app(offers.app_of(offer)))
        for name, offer in offers.METHODS.items()
    ],
)
def test_a_method_of_an_app_is_like_any_other(name: str) -> None:
    """Help pages show its arguments and its docstring, and it is found where one looks."""
    function = getattr(lshdb.Database, name)
    assert inspect.isfunction(function)
    assert (inspect.getdoc(function) or "").splitlines()[0].endswith(".")
    assert f"{name}(db: " in pydoc.plain(pydoc.render_doc(function))
    assert f" |  {name}(db: " in pydoc.plain(pydoc.render_doc(lshdb.Database))


def test_what_belongs_to_a_missing_app_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offers, "is_there", lambda app: not app)
    monkeypatch.delitem(vars(lshdb), "Service", raising=False)
    with lshdb.open(tmp_path / "x.db") as db:
        assert db.add("fox", "The fox and the grapes").added == 1
        with pytest.raises(
            UsageError, match=r"^'passages' belongs to the app 'passages', which is"
        ):
            db.passages("The fox and the grapes")
        with pytest.raises(UsageError, match=r"^'on_similar' belongs to the app 'dedup'"):
            db.add_many([("ant", "The ant")], on_similar="skip")
        assert db.keys() == ["fox"]
    with pytest.raises(UsageError, match=r"^'Service' belongs to the app 'service'"):
        _ = lshdb.Service
