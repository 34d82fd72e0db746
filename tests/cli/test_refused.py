"""What makes no sense, or is not there: one line that says so, and nothing is changed."""

from __future__ import annotations

import shlex

import inspection
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from extras import app_of, if_there
from helpers import Command, database_of

import lshdb

FILES = {
    "in.jsonl": '{"id": 1, "text": "a b c"}\n',
    "in.csv": "id,text,url\n1,a b c,x\n",
    "body.csv": "id,body\n1,a\n",
    "in.txt": "keep a\n",
    "keep.csv": "verdict,key\nkeep,a\n",
    "maybe.csv": "verdict,key\nmaybe,a\n",
    "gone.csv": "verdict,key\nkeep,a\nkeep,gone\n",
    "words.csv": 'verdict,keys\nkeep,"a, b"\n',
    "object.csv": 'verdict,keys\nkeep,"{""a"": 1}"\n',
    "cut.jsonl": '{"verdict": "keep", "key": "a"}\n{"verdict":',
    "list.jsonl": "[1]\n",
    "none.jsonl": '{"key": "a"}\n',
    "bad.parquet": "PAR1 and no more",
    "notes/picture": "\0",
}
COMMANDS = [
    # Which document or file, and what is done with it.
    ("init -d new.db --threshold nan", 2, "threshold nan is not"),
    ("init -d new.db --bands 4", 2, "bands"),
    ("init -d new.db --for music", 2, "--for 'music' is not short-text, records, "),
    ("init -d new.db --ignore case", 2, "--ignore 'case' is not numbers or marks"),
    ("add . --extract-timeout 0", 2, "--extract-timeout 0 is not above 0 and at most 1,000,000"),
    ("init --shingle set", 1, "lsh.db has shingle word:3, not set"),
    ("query", 2, "give one of FILE..., -, --text TEXT and --key KEY"),
    ("query a --key a", 2, "give one of FILE..., -"),
    ("query --text a --key a", 2, "give one of FILE..., -"),
    ("query --key a --unmatched", 2, "--unmatched is for FILE..."),
    ("query - -", 2, "- is given twice, and standard input can be read once"),
    ("query in.jsonl --format xml", 2, "format 'xml' is not auto, text"),
    ("query in.jsonl -o in.jsonl", 2, "in.jsonl is the same file"),
    ("query none", 1, "none: no such file; a text itself goes with --text"),
    ("query in.jsonl --where 'missing = 1'", 1, "missing; the columns are doc_id, key"),
    ("query --key a --threshold 80", 2, "--threshold 80 is not above 0 and at most 1; did you"),
    ("query --text a --where 'key = :no'", 1, "where: Incorrect number of bindings"),
    ("query --text a --where 'key = ?' -p 1 -p 2", 1, "where: "),
    ("clusters -0", 2, "--null is for"),
    ("clusters --max-size 1", 2, "--max-size 1 is below 2, "),
    ("clusters --where '1;'", 1, "where: "),
    ("pairs -p 1", 2, "--where is not given"),
    ("show wolf", 1, "no document has the key 'wolf'"),
    ("compare a none", 1, "none: no document has this key, and there is no such file"),
    ("compare - -", 2, "standard input"),
    ("compare notes/picture a", 1, "notes/picture: a binary file"),
    ("passages", 2, "give "),
    ("passages -d passages.db in.txt --all", 2, "give "),
    ("passages -d passages.db a", 1, "a: no such file; a stored document goes with --key KEY"),
    ("passages -d passages.db in.txt --min-words 5", 2, "min_words 5 is below 6"),
    ("passages -d passages.db in.txt --base missing.txt", 1, "missing.txt"),
    ("passages in.txt", 2, "no index of passages"),
    ("reindex --passages 2", 2, "3 to 1000"),
    ("review --order none", 2, "--order"),
    ("tune --threshold 0", 2, "threshold 0"),
    # What is removed, and what is decided.
    ("remove", 2, "give one of KEY..., --where SQL, --from FILE and --decided"),
    ("remove a --from -", 2, "give one of KEY..."),
    ("remove a --where 1", 2, "give one of KEY..."),
    ("remove a --decided", 2, "give one of KEY..."),
    ("remove a -0", 2, "--null is for the keys of --from"),
    ("remove a --json", 2, "formats are for the keys that --dry-run prints"),
    ("remove a -p 1", 2, "--where is not given: parameters (-p) are"),
    ("remove a wolf", 1, "no document has the key 'wolf'"),
    ("decide", 2, "give keep, drop or different, and then KEY..."),
    ("decide maybe a", 2, "give keep, drop or different, and then KEY..."),
    ("decide different a", 2, "different takes two different keys or more"),
    ("decide drop a none", 1, "no document has the key 'none'"),
    ("decide --undo", 1, "there is no decision to undo"),
    ("decide --undo 7", 1, "there is no decision 7; nothing is undone"),
    ("decide --undo x", 2, "'x' is not the number of a decision: lshdb decisions has them"),
    ("decide --undo --from keep.csv", 2, "give KEY..., or --undo, or --from"),
    ("decide keep a --from keep.csv", 2, "give KEY..., or --undo, or --from"),
    ("decide keep --from keep.csv", 1, "no document has the key 'keep,a'"),
    ("decide keep a -0", 2, "--null is for the keys of --from"),
    ("decide --undo --note x", 2, "--note goes with a decision"),
    ("decide --from none.csv", 1, "none.csv: no such file or directory"),
    ("decide --from in.txt", 1, "in.txt:1: not JSON"),
    ("decide --from cut.jsonl", 1, "cut.jsonl:2: not JSON: "),
    ("decide --from list.jsonl", 1, "list.jsonl:1: not a JSON object but an array"),
    ("decide --from maybe.csv", 1, "maybe.csv:2: verdict 'maybe' is not keep"),
    ("decide --from none.jsonl", 1, "none.jsonl: no field 'verdict'"),
    ("decide --from gone.csv", 1, "no document has the key 'gone'"),
    ("decide --from words.csv", 1, "words.csv:2: 'a, b' is not a JSON array"),
    ("decide --from object.csv", 1, "object.csv:2: '{"),
    ("serve --who ann", 2, "--who goes with --review"),
    ("clusters --drop-list --fields x", 2, "give one of --drop-list and --fields"),
    ("decide --from bad.parquet", 1, "bad.parquet: "),
    # SQL, and the values of its parameters.
    ("sql 'select :a'", 1, "SQL: Incorrect number of bindings"),
    ("sql 'select 1' -p 2", 1, "SQL: "),
    ("sql 'delete from documents'", 1, "SQL: "),
    ("sql \"attach 'other.db' as other\"", 1, "SQL: "),
    ("sql \"vacuum into 'copy.db'\"", 1, "SQL: "),
    ("sql 'select 1; delete from documents'", 1, "SQL: "),
    ("sql 'selec 1'", 1, "SQL: "),
    # What is read and written, and no file is both.
    ("pairs --json -o rows.csv", 2, "give one of --json, --csv and --output"),
    (
        "pairs -o rows.txt",
        2,
        "--output rows.txt: the name must end in .jsonl, .ndjson, .json, .csv",
    ),
    ("report -o out.txt", 2, "must end in .html"),
    ("report in.jsonl -o in.jsonl", 2, "in.jsonl is the same file"),
    ("report notes --old in.jsonl -o in.jsonl", 2, "in.jsonl is the same file"),
    ("passages in.txt --base in.jsonl -o in.jsonl", 2, "in.jsonl is the same file"),
    ("gate --baseline in.jsonl -o in.jsonl", 2, "in.jsonl is the same file"),
    ("remove --from in.jsonl --dry-run -o in.jsonl", 2, "in.jsonl is the same file"),
    ("sync missing", 1, "missing: no such directory"),
    ("sync in.txt", 2, "in.txt is a file, not a directory: add it by `lshdb add in.txt`"),
    ("report in.txt -o out.html", 1, "in.txt: one submission alone, with nothing to compare"),
    ("sync notes --exclude !", 2, "exclude '!' is not a pattern"),
    ("dedup none", 1, "none: no such file or directory"),
    ("dedup in.jsonl -o none/out", 1, "none/out: no such file or directory"),
    ("dedup in.jsonl -o in.jsonl", 2, "in.jsonl is the same file as in.jsonl: give the output"),
    ("dedup in.jsonl -o link", 2, "link is the same file as in.jsonl"),
    ("dedup in.jsonl -o out --dropped ./out", 2, "./out is the same file as out"),
    ("dedup in.jsonl -o - --dropped -", 2, "--dropped cannot be standard output"),
    ("dedup - --keep last", 2, "reads the input twice, and standard input"),
    ("dedup in.jsonl --fields lang", 2, "--fields is for the list of dropped rows"),
    ("dedup in.csv -o o.csv --dropped g.csv --fields url,text", 2, "--fields text: it is the"),
    ("dedup lsh.db -o out.jsonl", 2, "lsh.db is a database: dedup reads tables"),
    ("dedup in.jsonl -o lsh.db", 2, "lsh.db is a database, and would be lost: name another"),
    ("dedup bad.parquet -o out.parquet", 1, "not Parquet, or damaged"),
    ("dedup in.csv -o out.db", 2, "out.db is the name of a database, and rows are no database"),
    ("dedup in.csv -o out.xlsx", 2, "out.xlsx: no rows are written as sheets: name a file that"),
    ("dedup in.jsonl -o out.parquet.gz", 2, "leave out the last suffix"),
    ("dedup notes -o out/", 1, "notes: no table in it"),
    ("dedup notes --format text -o x", 2, "no -o"),
    ("dedup - -o out/", 2, "standard input has no name for a file in out/"),
    ("dedup in.jsonl -0", 2, "--null is for files"),
    ("dedup in.jsonl --format xml", 2, "format 'xml' is not auto"),
    ("dedup in.jsonl -d lsh.db --shingle char:5", 1, "lsh.db has shingle word:3"),
    ("dedup body.csv", 1, "body.csv: no field 'text': name it with --text-field (the columns"),
    ("dedup in.parquet text.parquet -o out.parquet", 1, "text.parquet: column 'n' is string"),
    ("dedup in.parquet more.parquet -o out.parquet", 1, "column 'n' is only in earlier rows"),
    ("dedup in.txt", 2, "in.txt is one text, and there is nothing to compare it with"),
    ("dedup in.csv --against b.csv:text=a,text=b", 2, "a field is named twice; text=A,B joins"),
    ("dedup in.csv --against -", 2, "--against reads no standard input"),
    ("dedup in.csv --against in.jsonl --dropped in.jsonl", 2, "is the same file as"),
    ("dedup in.csv --against sets.db --shingle word:3", 1, "sets.db has"),
]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    directory = tmp_path_factory.mktemp("refused")
    for name, parts in (("lsh", {}), ("passages", if_there("passages", passages=6))):
        database_of(directory / f"{name}.db", {"a": "a text of some words"}, **parts).close()
    lshdb.open(directory / "sets.db", shingle="set").close()
    (directory / "notes").mkdir()
    for name, text in FILES.items():
        (directory / name).write_text(text)
    (directory / "link").hardlink_to(directory / "in.jsonl")
    for name, column, value in (("in", "n", 1), ("text", "n", "x"), ("more", "m", 1)):
        table = pa.table({"id": [1], "text": ["a b c"], column: [value]})
        pq.write_table(table, directory / f"{name}.parquet")
    return Command(directory)


@pytest.fixture(scope="module")
def before(command: Command) -> dict[str, bytes]:
    """What is there before the first command, and after each."""
    return inspection.files(command.directory)


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [pytest.param(*one, marks=pytest.mark.app(app_of(one[0])), id=one[0]) for one in COMMANDS],
)
def test_it_is_one_line_and_nothing_is_changed(
    line: str, status: int, says: str, command: Command, before: dict[str, bytes]
) -> None:
    assert says in command.fails(*shlex.split(line), status=status)
    assert inspection.files(command.directory) == before
