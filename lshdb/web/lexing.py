"""A separate program that finds the words of source code, with Pygments; colouring runs it.

Standard input has a JSON list of file names and texts, or null, standard output one of places: for
each text a list of start, end and class, or null.
"""

from __future__ import annotations

import sys
from functools import cache

import orjson
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
    """The coloured words of a text, ascending: start, end and class of each."""
    lexer = find_lexer_class_for_filename(name)
    found: list[tuple[int, int, str]] = []
    done = 0
    for start, kind, value in lexer().get_tokens_unprocessed(text):
        own = colour(kind)
        if own is None or start < done or not value:  # a lexer of two languages may go back
            continue
        done = start + len(value)
        if found and found[-1][1:] == (start, own):
            start = found.pop()[0]
        found.append((start, done, own))
    return found


@cache
def colour(kind: _TokenType) -> str | None:
    """The class of a kind of words."""
    return next((CLASSES[each] for each in CLASSES if kind in each), None)


if __name__ == "__main__":
    given = orjson.loads(sys.stdin.buffer.read())
    found = [None if each is None else words(*each) for each in given]
    sys.stdout.buffer.write(orjson.dumps(found))
