"""The command dedup, and add --on-similar skip, as scripts and people use them."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import signal
from pathlib import Path

import pytest
from helpers import (
    FORK,
    Command,
    forked,
    limited,
    status_of,
    text_families,
    until,
)

LINES = (
    b'{"id": "a",  "text": "caf\\u00e9 one two three four five six seven"} \t\r\n',
    b'{"id": 7, "text": "\xc3\xa9clair, eight nine ten eleven twelve"}\n',
    b"\n",
    b'{"id": "c", "text": "Caf\xc3\xa9 one two three four five six seven!"}\n',
    b'{"id": "a", "text": "another text under the same key, for a change"}\n',
    b'{"text": "a line that has no key at all, which is fine"}\r\n',
    b'{"id": 7, "text": "Another TEXT under the same key, for a change"}\n',
    b'{"id": "last", "text": "and one at the end without a newline"}',
)
KEPT = b"".join(LINES[i] for i in (0, 1, 4, 5, 7))


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "in.jsonl").write_bytes(b"".join(LINES))
    return Command(tmp_path)


def files(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def family_lines(count: int = 40) -> list[bytes]:
    texts = text_families(seed=4, families=count, copies=3, words=40, most_edits=6)
    return [json.dumps({"id": k, "text": t}).encode() + b"\n" for k, t in texts.items()]


def test_a_report_as_json_says_what_a_limit_left_out(command: Command) -> None:
    header = " ".join(f"header{word}" for word in range(12))
    for rows, left_out in ((129, 0), (140, 11)):
        texts = [
            f"{header} {' '.join(f'{row}x{word}' for word in range(20))}" for row in range(rows)
        ]
        command.write("in.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts))
        done = command.done("dedup", "in.jsonl", "-o", "out.jsonl", "--cut", "8", "--json")
        report = json.loads(done.out)
        assert (report["kept"], len(report["notes"])) == (rows, bool(left_out))
        for note in report["notes"]:
            assert f"a run of words, with more than 128 others: {left_out};" in note
            assert re.search(
                rf"{left_out} of them share the run of in.jsonl:1 .* words\): header", note
            )
            assert note in done.err


def test_lines_stay_byte_for_byte_and_in_order(command: Command) -> None:
    done = command.done(
        *("dedup", "in.jsonl", "-o", "out.jsonl", "--dropped", "dropped.jsonl"),
        says="kept 5, dropped 2, failed 0\n",
    )
    assert done.out == ""
    assert command.path("out.jsonl").read_bytes() == KEPT
    assert records(command.path("dropped.jsonl")) == [
        {"key": key, "file": "in.jsonl", "line": n, "kept": "a", "kept_file": "in.jsonl"}
        | {"kept_line": kept, "similarity": 1.0, "exact": True, "identical": False}
        | {"same_text": False, "reference": None}
        for key, n, kept in (("c", 4, 1), ("7", 7, 5))
    ]
    assert files(command.directory) == {"in.jsonl", "out.jsonl", "dropped.jsonl"}
    # A newline is added only between files.
    command.done("dedup", "in.jsonl", "-", "-o", "out.jsonl", stdin=b'{"text": "one more line"}')
    assert command.path("out.jsonl").read_bytes() == KEPT + b'\n{"text": "one more line"}'
    counts = command.done("dedup", "in.jsonl", "--json").err
    assert json.loads(counts)["kept"] == 5, "not among the lines"
    with_variable = Command(command.directory, {"LSHDB_PATH": "seen.db"})
    assert with_variable.done("dedup", "in.jsonl").out.encode() == KEPT
    assert not command.path("seen.db").exists(), "the variable names no database for dedup"


def test_standard_input_and_output_and_gzip(command: Command) -> None:
    assert command.done("dedup", "-", stdin=b"".join(LINES)).out.encode() == KEPT
    command.write("in.jsonl.gz", gzip.compress(b"".join(LINES)))
    command.done("dedup", "in.jsonl.gz", "-o", "out.gz", "--dropped", "dropped.gz")
    packed = command.path("out.gz").read_bytes()
    assert gzip.decompress(packed) == KEPT
    assert gzip.decompress(command.path("dropped.gz").read_bytes()).count(b"\n") == 2
    command.path("again").mkdir()
    command.done("dedup", "in.jsonl", "-o", "again/out.gz")
    assert command.path("again/out.gz").read_bytes() == packed, "equal files"
    command.write("cut.jsonl.gz", packed[:-20])
    result = command("dedup", "cut.jsonl.gz", "-o", "cut.out")
    assert (result.status, "cut.jsonl.gz: gzip that is cut off" in result.err) == (1, True)


def test_todays_lines_against_all_that_were_seen(command: Command) -> None:
    lines = family_lines()
    days = [b"".join(lines[day::4]) for day in range(4)]
    seen = ("dedup", "-d", "seen.db", "-")
    by_days = "".join(command.done(*seen, stdin=day).out for day in days)
    kept = by_days.splitlines()
    assert 40 <= len(kept) < len(lines)
    assert command.keys("seen.db") == sorted(json.loads(line)["id"] for line in kept)
    command.write("all.jsonl", b"".join(lines))
    again = command.done(*seen[:-1], "all.jsonl", "-o", "again", "--json").record
    assert (again["kept"], again["dropped"], again["stored"]) == (0, len(lines), len(kept))
    # The same decision as in one go, in the order of the days.
    assert command.done("dedup", "-", stdin=b"".join(days)).out == by_days
    # A key with new content is another document: both stay.
    new = '{"id": "0/base", "text": "nothing of this was ever seen before, as it seems"}\n'
    assert command.done(*seen, stdin=new).out == new
    assert len(command.keys("seen.db")) == len(kept) + 1
    assert command.done(*seen, stdin=new).out == ""
    result = command(*seen, stdin='{"text": "a line without a key"}')
    assert (result.status, result.out, "--auto-key" in result.err) == (1, "", True)


def test_errors_leave_nothing_that_looks_complete(command: Command) -> None:
    if Path("/dev/full").exists():
        full = command.fails("dedup", "in.jsonl", "-o", "/dev/full")
        assert full == "/dev/full: no space left on device"
    command.write("out", b"of yesterday\n")

    large = b'{"text": "%s"}\n' % (b"words " * 700_000)
    command.write("large.jsonl", large)
    with limited(resource.RLIMIT_FSIZE, 3 << 20):  # Python ignores the signal
        reason = command.fails("dedup", "large.jsonl", "-o", "out", "--estimate")
    assert reason == "out: file too large"
    assert command.path("out").read_bytes() == b"of yesterday\n"
    assert files(command.directory) == {"in.jsonl", "large.jsonl", "out"}


def test_ctrl_c_leaves_nothing_that_looks_complete(command: Command) -> None:
    lines = b"".join(family_lines(200))
    for options in (("-o", "out"), ("-o", "out", "-d", "seen.db")):
        ours, theirs = os.pipe()
        process = command.forked("dedup", "-", *options, streams={0: ours})
        os.write(theirs, lines)
        until(lambda: [name for name in files(command.directory) if ".partial" in name])
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)
        assert status_of(process) == 130
        for end in (ours, theirs):
            os.close(end)
        left = files(command.directory)
        assert "out" not in left
        assert {name for name in left if ".partial" not in name} <= {"in.jsonl", "seen.db"}
    partial = [command.path(name).read_bytes() for name in left if ".partial" in name]
    if "seen.db" in left and partial:
        kept = [json.loads(line)["id"] for line in partial[0].splitlines()]
        assert command.keys("seen.db") == sorted(kept)


def test_add_skips_what_is_similar(command: Command) -> None:
    lines = family_lines()
    command.write("all.jsonl", b"".join(lines))
    command.done("dedup", "all.jsonl", "-o", "out", "--dropped", "dropped")
    skip = ("add", "all.jsonl", "--on-similar", "skip")
    *rows, counts = command.done(*skip, "--json").records
    assert rows == records(command.path("dropped"))
    assert counts["skipped"] == len(rows) > 0
    assert counts["added"] == len(lines) - len(rows)
    again = command.done(*skip)
    said = f"unchanged {counts['added']}, skipped {len(rows)}, failed 0\n"
    assert again.err == f"added 0, updated 0, {said}"
    assert again.lines[0] == f"1.000000\tidentical\t{rows[0]['key']}\t{rows[0]['kept']}"
    command.fails(*skip[:-1], "drop", status=2)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak")
def test_a_long_line_takes_a_few_times_its_size(command: Command) -> None:
    text = (" ".join(map(str, range(1_000_000, 1_060_000))) + " ") * 20 + "\U0001f600"

    def peak(lines: list[str]) -> int:
        command.write("in", ({"text": line} for line in lines))
        peaks = FORK.SimpleQueue()

        def run() -> None:
            Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
            command.done("dedup", "in", "-o", "out", "--keep", "last")
            status = Path("/proc/self/status").read_text()
            peaks.put(*map(int, re.findall(r"VmHWM:\s+(\d+) kB", status)))

        assert status_of(forked(run)) == 0
        assert command.path("out").read_bytes() == command.path("in").read_bytes()
        return 1024 * int(peaks.get())

    # Beside it stand SQLite's pages and what the allocator keeps, with modules compiled or not.
    short = "a short text of some words"
    assert peak([text, short]) - peak([short]) < 12 * len(text)


def test_rows_whose_ids_give_no_key_are_counted_and_have_their_place_for_one(
    command: Command,
) -> None:
    ids = (1e300, "a\0b", "\ud800", "good")
    rows = [json.dumps({"id": key, "text": f"{key!a} text"}) + "\n" for key in ids]
    command.write("in.jsonl", "".join(rows))
    done = command.done("dedup", "in.jsonl", "-o", "out.jsonl")
    assert "3 ids give no key, such as floats from 2^53 on, which may be rounded" in done.err


def test_names_of_one_file_are_no_rows_of_an_earlier_run(command: Command) -> None:
    command.write("new/a.txt", "the fox and the grapes")
    command.write("old/b.txt", "another text in another folder")
    command.path("new/h.txt").hardlink_to(command.path("new/a.txt"))
    command.done("add", "-d", "seen.db", "old")
    for known in (["-d", "seen.db"], ["--against", "old"], []):
        says = command.done("dedup", "new", *known).err
        assert "dropped 1, failed 0\n" in says
        assert "left 1 document: already one file: new/h.txt\n" in says
