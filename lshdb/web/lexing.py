"""A separate program that finds the words of source code, with Pygments; colouring runs it.

Standard input has a JSON list of file names and texts, or null, standard output one of places: for
each text a list of start, end and class, or null.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from pygments.lexers import find_lexer_class_for_filename
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

CLASSES = {
    Comment.Preproc: "keyword",
    Comment: "comment",
    Keyword: "keyword",
    Operator.Word: "keyword",
    String: "string",
    Number: "number",
    Name.Function: "name",
    Name.Class: "name",
    Name.Tag: "name",
    Name.Decorator: "name",
}


def words(name: str, text: str) -> list[tuple[int, int, str]]:
    """The coloured words of a text: start, end and class of each."""
    lexer = find_lexer_class_for_filename(name)
    found: list[tuple[int, int, str]] = []
    for start, end, kind in tokens(lexer().get_tokens_unprocessed(text)):
        if found and found[-1][1:] == (start, kind):
            start = found.pop()[0]
        found.append((start, end, kind))
    return found


def tokens(given: Iterator[tuple[int, _TokenType, str]]) -> Iterator[tuple[int, int, str]]:
    """Those with a colour, ascending: a lexer of two languages may go back."""
    done = 0
    classes: dict[_TokenType, str | None] = {}
    for start, kind, value in given:
        if kind not in classes:
            classes[kind] = next((CLASSES[each] for each in CLASSES if kind in each), None)
        own = classes[kind]
        if own is not None and start >= done and value:
            done = start + len(value)
            yield start, done, own


if __name__ == "__main__":
    given = json.load(sys.stdin)
    json.dump([None if each is None else words(*each) for each in given], sys.stdout)
