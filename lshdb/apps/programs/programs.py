"""The tokens of programs by the setting of a database: all that count, or without boilerplate.

Comments and strings are blanked first (lshdb.apps.programs.families), then what does not count
(lshdb.apps.programs.boilerplate), and the rest is cut.
"""

from collections.abc import Sequence

from lshdb.apps.programs import tokens
from lshdb.text.shingling import Shingling


def blanked_program(text: str, shingling: Shingling) -> str:
    """The program with blanks for comments and what does not count, and marks for strings."""
    from lshdb.apps.programs import boilerplate, families  # 10 ms, which texts and sets do not need

    if not shingling.boilerplate and boilerplate.is_generated(text):
        return " " * len(text)
    blanked = families.blanked(text)
    if shingling.boilerplate:
        return blanked
    return boilerplate.without(blanked, boilerplate.in_written_program(text, blanked))


def cut_programs(texts: Sequence[str], shingling: Shingling) -> tokens.Tokens:
    """The tokens of n programs that count."""
    return tokens.cut_tokens([blanked_program(text, shingling) for text in texts])
