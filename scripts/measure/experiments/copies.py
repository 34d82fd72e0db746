"""Classes of programs with disguised copies, for `experiments.labelled` and `experiments.reports`.

    python scripts/measure experiments.copies [--classes N] OUT [FILE...]

A class is a folder OUT/1 to OUT/N with docs.jsonl and truth.tsv: 60 of the files, of 40 to 250
lines, by default modules of Python's standard library, and of each third one a copy: with parts
between blank lines in another order, eight names changed, and, in copies of each of four levels,
statements inserted and values assigned in two steps, at 5%, 15%, 30% and half of all places (seed:
the number of the class). Languages whose statements end with `;` get such statements.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path

_PROGRAMS, _EACH = 60, 3
_LEVELS = (0.05, 0.15, 0.3, 0.5)
_INSERTED = ("tmp = 0", "print('step', 1)", "count = count + 1", "flag = !flag", "check(tmp, 2)")
_NAME = re.compile(
    r"\b(?!(?:import|from|return|class|else|elif|while|with|yield|self|none|pass|break|continue|raise"
    r"|except|finally|assert|lambda|void|const|static|public|private|this|throw|case|switch|template"
    r"|typename|namespace|using|function|include|override|final|extends|boolean|default)\b)"
    r"[a-z][A-Za-z]{3,}\b"
)
_PART = re.compile(r"\n\n+(?= {0,4}[^\s}])")
_STATEMENT = re.compile(r"( +)(?:(.*\w) = )?(.*[\w)\]'\"])(;?)")


def programs(paths: Sequence[Path]) -> list[str]:
    """The texts of 40 to 250 lines."""
    texts = {path.read_text("utf-8", "ignore").strip() for path in paths}
    return sorted(text for text in texts if 40 <= text.count("\n") <= 250)


def modules() -> list[Path]:
    """The modules of the standard library."""
    other = {"test", "tests", "site-packages", "encodings", "idlelib"}
    paths = Path(sysconfig.get_path("stdlib")).rglob("*.py")
    return [path for path in paths if other.isdisjoint(path.parts)]


def copied(text: str, share: float, rng: random.Random) -> str:
    """A copy of a program, with statements inserted at a share of the places."""
    parts = _PART.split(text)
    rng.shuffle(parts)
    end = ";" * (text.count(";\n") > text.count("\n") / 8)
    lines = []
    for line in "\n\n".join(parts).split("\n"):
        statement = _STATEMENT.fullmatch(line)
        if statement is None or statement[4] != end:
            lines.append(line)
            continue
        indent, name, value, _ = statement.groups()
        if rng.random() < share:
            lines.append(f"{indent}{rng.choice(_INSERTED)}{end}")
        if name and rng.random() < share:
            lines += [f"{indent}value = {value}{end}", f"{indent}{name} = value{end}"]
        else:
            lines.append(line)
    text = "\n".join(lines)
    names = sorted({*_NAME.findall(text)})
    for name in rng.sample(names, min(8, len(names))):
        text = re.sub(rf"\b{name}\b", f"{name}_{rng.randrange(99)}", text)
    return text


def main() -> None:
    """Write the classes."""
    parser = argparse.ArgumentParser(prog="experiments.copies", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--classes", type=int, default=5)
    args = parser.parse_args()
    texts = programs(args.files or modules())
    for number in range(1, args.classes + 1):
        rng, folder = random.Random(number), args.out / str(number)
        chosen = rng.sample(texts, min(_PROGRAMS, len(texts)))
        copies = {
            index: copied(text, _LEVELS[index // _EACH % len(_LEVELS)], rng)
            for index, text in enumerate(chosen)
            if index % _EACH == 0
        }
        documents = {f"{index}": text for index, text in enumerate(chosen)}
        documents |= {f"{index} copy": text for index, text in copies.items()}
        rows = [json.dumps({"id": key, "text": text}) for key, text in documents.items()]
        pairs = [f"{index}\t{index} copy\t1" for index in copies]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "docs.jsonl").write_text("\n".join([*rows, ""]), "utf-8")
        (folder / "truth.tsv").write_text("\n".join(["# a\tb\tlabel", *pairs, ""]), "utf-8")


if __name__ == "__main__":
    main()
