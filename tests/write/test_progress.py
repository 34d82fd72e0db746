"""Progress of long jobs: calls to a function, or shown as a bar."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rich.console
from rich.console import Console

import lshdb
from lshdb import Limits
from lshdb.model import AddReport
from lshdb.offers import is_there

Call = tuple[int, int | None, str]
DOCUMENTS = [(f"key {n}", f"the text of number {n}") for n in range(25)]


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterable[lshdb.Database]:
    monkeypatch.chdir(tmp_path)
    lines = [f'{{"id": "{key}", "text": "{text}"}}\n' for key, text in DOCUMENTS]
    Path("in.jsonl").write_text("".join(lines) + "not JSON\n")
    Path("notes").mkdir()
    for key, text in DOCUMENTS:
        (Path("notes") / f"{key}.txt").write_text(text)
    with lshdb.open("x.db", limits=Limits(batch_documents=10)) as db:
        yield db


@pytest.mark.usefixtures("db")
def test_band_rows_come_after_the_documents_of_many_files(tmp_path: Path) -> None:
    unindexed: list[int] = []
    limits = Limits(batch_documents=10, late_from=10)
    with lshdb.open(tmp_path / "late.db", limits=limits) as late:
        late.add_files(["notes"], on_batch=lambda _: unindexed.append(late.info().unindexed))
        assert (unindexed, late.info().unindexed) == ([0, 10, 15], 0)


@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_each_job_says_how_far_it_is(db: lshdb.Database) -> None:
    """Documents of all, if their number is known; bytes of all, if the size is known."""
    calls: list[Call] = []

    def of(job: Callable[..., object], *given: Any, **options: Any) -> list[Call]:
        calls.clear()
        done = job(*given, progress=lambda *now: calls.append(now), **options)
        if isinstance(done, Iterator):
            assert calls == []
            list(done)
        return calls

    reports: list[AddReport] = []
    batch: dict[str, Any] = {"on_batch": reports.append, "workers": 0}
    steps = (10, 20, 25)
    assert of(db.add_many, DOCUMENTS, **batch) == [(done, 25, "documents") for done in steps]
    assert [report.added for report in reports] == [10, 10, 5]
    assert of(db.add_many, iter(DOCUMENTS), **batch)[-1] == (25, None, "documents")
    size = Path("in.jsonl").stat().st_size
    of_all = [(size, size, "bytes"), (26, None, "documents")]
    assert of(db.add_files, ["in.jsonl"])[-2:] == of_all
    if is_there("folders"):
        assert of(db.sync, ["notes"])[-1] == (25, None, "documents")
    if is_there("dedup"):
        assert of(db.dedup_files, ["in.jsonl"], threshold=1.0)[-2:] == of_all
        last = {"keep": "last", "workers": 0}
        units = dict.fromkeys(unit for *_, unit in of(db.dedup_files, ["in.jsonl"], **last))
        assert [*units] == ["bytes", "rows read", "documents decided", "rows written"]
    queries = of(db.query_many, DOCUMENTS * 21)
    assert queries == [(done, 525, "queries") for done in (500, 525)]
    ends = {unit: (done, total) for done, total, unit in of(lshdb.check, db.path)}
    assert ends.keys() == {"pages", "documents", "rows of bands"}
    assert all(ends[unit][0] == ends[unit][1] for unit in ("documents", "rows of bands"))


def test_a_bar_is_shown_and_goes(db: lshdb.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()

    def console(**_: bool) -> Console:
        return Console(file=screen, force_terminal=True, width=100)

    monkeypatch.setattr(rich.console, "Console", console)
    db.add_many(DOCUMENTS, progress=True)
    shown = screen.getvalue()
    assert "25 documents" in shown
    assert shown.endswith("\x1b[2K"), "the bar is cleared away"


def test_a_bar_ends_where_a_job_fails_or_is_left(db: lshdb.Database) -> None:
    for _ in range(2):  # rich has one bar at a time
        with pytest.raises(lshdb.ContentError):
            db.add_many([*DOCUMENTS, None], progress=True)  # type: ignore[list-item]
        answers = db.query_many(DOCUMENTS, progress=True)
        next(answers)
        del answers
    assert db.add_many(DOCUMENTS, progress=True).documents == 25
