"""Archives as directories: what is read of them is what is read of the same files unpacked."""

from __future__ import annotations

import io
import os
import random
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import Command, new_session

import lshdb
from lshdb.limits import Limits
from lshdb.model import Document, Failure
from lshdb.options import WalkingOptions


@pytest.fixture(autouse=True)
def _root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, data: bytes) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(data)


def make_zip(path: str, members: Iterable[tuple[str | zipfile.ZipInfo, bytes]]) -> bytearray:
    """A ZIP file of these members, and its bytes."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data, zipfile.ZIP_DEFLATED)
    return bytearray(Path(path).read_bytes())


def make_tar(path: str, members: Iterable[tuple[str, bytes | tarfile.TarInfo]]) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    packing = os.path.splitext(path)[1][1:].replace("tgz", "gz").replace("tar", "")
    with tarfile.open(path, f"w:{packing}") as archive:  # type: ignore[call-overload]
        for name, data in members:
            info = data if isinstance(data, tarfile.TarInfo) else tarfile.TarInfo(name)
            content = b"" if isinstance(data, tarfile.TarInfo) else data
            info.size = info.size or len(content)
            archive.addfile(info, io.BytesIO(content))


def read(path: str, limits: Limits | None = None) -> list[Document | Failure]:
    return [*new_session(False, archives=True, limits=limits or Limits()).read([path])]


def name_of(item: Document | Failure) -> str:
    return item.key if isinstance(item, Document) else item.where


def names_of(items: Iterable[Document | Failure], kind: type) -> set[str]:
    return {name_of(item) for item in items if isinstance(item, kind)}


def trees(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    names = ("a.py", "b.txt", ".c.py", "d", "__MACOSX", ".git", "e.csv", "f.json")
    for number in range(40):
        path = "/".join([*rng.choices(("d", "s", ".h", "v", ".git"), k=rng.randrange(4))])
        name = f"{path}{'/' * bool(path)}{number}{rng.choice(names)}"
        text = f"the text of {number}, ".encode() * rng.randrange(20)
        if name.endswith(".csv"):
            text = f"id,text\n{number},a row of the table\n".encode()
        yield name, rng.choice([text] * 4 + [text.decode().encode("utf-16"), b"\0" + text, b"\xff"])


@pytest.mark.filterwarnings("ignore::lshdb.IgnoreWarning")  # .git with something else in it
@pytest.mark.parametrize("suffix", ["zip", "tar", "tgz", "tar.bz2", "tar.xz"])
def test_a_packed_tree_is_read_as_the_tree(suffix: str) -> None:
    rng = random.Random(suffix)
    rules: list[dict[str, Any]] = [
        {},
        {"hidden": True},
        {"exclude": ["v/", "*.txt", "!*b.txt"]},
        {"include": ["*.py", "s/"], "hidden": True},
        {"max_filesize": 200},
    ]
    for number in range(2):
        files = dict(trees(rng))
        for name, data in files.items():
            write(f"{number}/x/{name}", data)
        packed = f"{number}p/x.{suffix}"
        make = make_zip if suffix == "zip" else make_tar
        make(packed, rng.sample([*files.items()], len(files)))
        assert read(packed) == read(f"{number}p"), "also if it is named"
        for rule in rules:
            found = []
            for path, prefix in ((f"{number}/x", f"{number}/x"), (f"{number}p", packed)):
                reader = new_session(False, archives=True, rules=WalkingOptions(**rule))
                contents = {
                    name_of(item).removeprefix(prefix): getattr(item, "content", None)
                    for item in reader.read([path])
                }
                found.append((contents, reader.counts.skipped["large"]))
            assert found[0] == found[1]
    assert {path.name for path in Path().iterdir()} == {"0", "0p", "1", "1p"}


def test_names_that_lead_elsewhere_and_what_is_no_file() -> None:
    link = zipfile.ZipInfo("link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    nul = make_zip("nul.zip", [("nulX.py", b"x")])
    write("nul.zip", bytes(nul.replace(b"nulX.py", b"nul\0.py")))
    bad = ("../../evil.py", "/abs.py", "a/../../b.py", "..\\up.py")
    good = [
        ("ok.py", b"one"),
        ("ok.py", b"the last"),
        ("./win\\c.py", b"two"),
        ("a", b"3"),
        ("a/b", b"4"),
    ]
    with pytest.warns(UserWarning, match="Duplicate name"):
        make_zip("x.zip", [*((name, b"bad") for name in bad), (link, b"/etc/passwd"), *good])
    others = []
    for kind in (b"1", b"2", b"3", b"5", b"6"):  # links, a device, a directory, a pipe
        info = tarfile.TarInfo(f"other{kind!r}")
        info.type, info.linkname = kind, "/etc/passwd"
        others.append((info.name, info))
    make_tar("x.tar", [*((name, b"bad") for name in bad), *others, *good])
    for path, skipped in (("x.zip", 1), ("x.tar", 4)):
        reader = new_session(False, archives=True)
        found = [*reader.read([path])]
        failures = {item.where: item.reason for item in found if isinstance(item, Failure)}
        assert {name.replace("\\", "/") for name in failures} == {
            f"{path}/{name}".replace("\\", "/") for name in bad
        }
        assert {*failures.values()} == {"its name leads out of the archive"}
        texts = {item.key: item.content for item in found if isinstance(item, Document)}
        wanted = {"ok.py": "the last", "win/c.py": "two", "a": "3", "a/b": "4"}
        assert texts == {f"{path}/{name}": text for name, text in wanted.items()}
        assert reader.counts.skipped.total() == skipped
    assert not Path("../evil.py").exists()


@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_damaged_encrypted_and_lying_archives_cost_one_line_each() -> None:
    members = [(f"{name}.py", f"the text of {name} ".encode() * 50) for name in "abc"]
    whole = make_zip("d/whole.zip", members)
    entry = whole.index(b"PK\1\2")
    for name, index, value in (
        ("encrypted", entry + 8, 1),
        ("crc", entry + 16, 255 - whole[entry + 16]),
        ("longer", entry + 26, 200),  # the size
    ):
        changed = bytearray(whole)
        changed[index] = value
        write(f"d/{name}.zip", bytes(changed))
    write("d/half.zip", bytes(whole[: len(whole) // 2]))
    make_tar("d/whole.tar", members)
    make_tar("d/whole.tgz", members)
    tar, packed = Path("d/whole.tar").read_bytes(), Path("d/whole.tgz").read_bytes()
    for cut in (1700, 2148, 2600):  # in a member, in the next one's head, in that member
        write(f"d/cut{cut}.tar", tar[:cut])
    write("d/half.tgz", packed[: len(packed) // 2])
    write("d/other.tgz", b"no archive")
    write("d/broken.tar", tar[:1536] + b"x" * 512 + tar[2048:])
    found = read("d")
    failures = {one.where: one.reason for one in found if isinstance(one, Failure)}
    of_files = {"d/encrypted.zip/a.py", "d/crc.zip/a.py"}
    names = "broken.tar cut1700.tar cut2148.tar cut2600.tar half.tgz half.zip other.tgz"
    assert failures.keys() == of_files | {f"d/{name}" for name in names.split()}
    assert "password" in failures["d/encrypted.zip/a.py"]
    wanted = {f"d/{name}.zip/{part}.py" for name in ("encrypted", "crc") for part in "bc"}
    for name in ("whole.zip", "whole.tar", "whole.tgz", "longer.zip"):
        wanted |= {f"d/{name}/{part}.py" for part in "abc"}
    assert names_of(found, Document) == wanted
    with lshdb.open("x.db") as db:
        assert db.add_files(["d"], archives=True, workers=0).added == len(wanted)
        assert db.add_files(["d"], workers=0).added == 1, "without the option: one is a text"


def test_what_an_archive_unpacks_to_is_bounded_by_what_is_read() -> None:
    limits = Limits(largest_archive=100_000, archive_contents=10_000, largest_document=40_000)
    bomb = make_zip("d/bomb.zip", [(f"{n}.py", b"ab " * 13_000) for n in range(5)])
    assert len(bomb) < 2_000
    make_zip("d/large.zip", [("a.py", b"ab " * 20_000), ("b.py", b"text")])
    make_zip("d/pictures.zip", [*((f"{n}.bin", b"\0" * 50_000) for n in range(9)), ("t.py", b"t")])
    make_tar("d/bomb.tar.xz", [("a.py", b"ab " * 40_000), ("b.py", b"text")])
    make_zip("d/names.zip", [("x" * 9_000 + str(n), b"") for n in range(3)])
    long = tarfile.TarInfo("././@LongLink")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    write("d/names.tar", long.tobuf() + b"x" * 100_000)
    found = read("d", limits)
    bombs = [f"d/bomb.zip/{n}.py" for n in range(5)]
    taken = {*bombs[:2], "d/large.zip/b.py", "d/pictures.zip/t.py"}
    assert names_of(found, Document) == taken
    others = {"d/large.zip/a.py", "d/bomb.tar.xz", "d/names.zip", "d/names.tar"}
    assert names_of(found, Failure) == {*bombs[2:], *others}


def test_names_in_zip_are_read_in_their_encoding() -> None:
    members = []
    for name, in_field, made_for in (("??.py", "日本.py", b"??.py"), ("old.py", "new.py", b"x.py")):
        member = zipfile.ZipInfo(name)
        field = b"\1" + zlib.crc32(made_for).to_bytes(4, "little") + in_field.encode()
        member.extra = b"XX\1\0-up" + len(field).to_bytes(2, "little") + field
        members.append((member, b"text"))
    data = make_zip("d/x.zip", [*members, *((name, b"text") for name in ("ñ.py", "A_.py", "B.py"))])
    write("d/x.zip", bytes(data.replace(b"A_.py", "ö.py".encode()).replace(b"B.py", b"\x94.py")))
    names = {name_of(item).removeprefix("d/x.zip/") for item in read("d")}
    assert names == {"日本.py", "old.py", "ñ.py", "ö.py"}
    assert len(read("d")) == 4


def test_members_are_documents_of_other_kinds_too() -> None:
    mail = b"From: ann@example.org\nSubject: hello\nMessage-ID: <1@x>\n\nThe text of a mail.\n"
    make_zip("d/x.zip", [("in/a.eml", mail), ("b.mbox", b"From x\n" + mail), ("c.zip", b"PK\3\4x")])
    found = {one.key: one for one in read("d") if isinstance(one, Document)}
    assert {key: one.content for key, one in found.items()} == dict.fromkeys(
        ("d/x.zip/b.mbox#<1@x>", "d/x.zip/in/a.eml"), "The text of a mail."
    )
    assert found["d/x.zip/in/a.eml"].metadata["subject"] == "hello"  # type: ignore[index]


@pytest.mark.filterwarnings("ignore::lshdb.FailureWarning")
def test_sync_sees_archives_as_directories() -> None:
    def synced() -> tuple[int, ...]:
        with lshdb.open("x.db") as db:
            done = db.sync(["d"], archives=True, workers=0)
            assert sorted(db.keys()) == sorted(expected)
        return (done.added, done.updated, done.moved, done.removed, done.unchanged, done.failed)

    def packed(members: dict[str, bytes], age: int) -> None:
        make_zip("d/x.zip", members.items())
        os.utime("d/x.zip", (age, age))

    expected = ["d/x.zip/a.py", "d/x.zip/s/b.py"]
    packed({"a.py": b"the first text", "s/b.py": b"the second text"}, 1_000)
    assert synced() == (2, 0, 0, 0, 0, 0)
    assert synced() == (0, 0, 0, 0, 2, 0)
    packed({"a.py": b"the first text", "s/b.py": b"another text", "c.py": b"new"}, 2_000)
    expected.append("d/x.zip/c.py")
    assert synced() == (1, 1, 0, 0, 1, 0)
    shutil.copy("d/x.zip", "kept")
    write("d/x.zip", b"broken")
    assert synced() == (0, 0, 0, 0, 0, 1), "as of a directory that cannot be read"
    os.remove("d/x.zip")
    make_zip("d/y.zip", [("n.py", b"another text")])
    expected = ["d/y.zip/n.py"]
    assert synced()[:4] == (0, 0, 1, 2)


def test_archives_without_files_and_mailboxes_without_messages_are_counted(
    command: Command,
) -> None:
    command.write("d/mail.mbox", "")
    make_zip(str(command.path("d/none.zip")), [])
    for arguments in (["d"], ["d/mail.mbox", "d/none.zip"]):
        said = command.done("add", *arguments, "--archives").err
        assert said.endswith("failed 0\nskipped: 2 empty\n")
