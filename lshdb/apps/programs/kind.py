"""The kind of shingles `code:K`, runs of tokens of programs: all that count, or no boilerplate.

Comments and strings are blanked first (lshdb.apps.programs.families), then what does not count
(lshdb.apps.programs.boilerplate), and the rest is cut.
"""

from collections.abc import Iterator, Sequence

from lshdb.apps.programs import families, tokens
from lshdb.text.folding import cut_before
from lshdb.text.kinds import ShingleKind, Tokens
from lshdb.text.shingling import Shingling


class _Programs:
    """See ShingleKind."""

    def units(self, texts: Sequence[str], shingling: Shingling) -> Tokens:
        return tokens.cut_tokens([_blanked(text, shingling) for text in texts])

    def pieces(self, text: str, shingling: Shingling, size: int) -> Iterator[str]:
        for piece in cut_before(_blanked(text, shingling), tokens.SIGN, size):
            yield tokens.cut_tokens([piece]).text


PROGRAMS: ShingleKind = _Programs()


def _blanked(text: str, shingling: Shingling) -> str:
    """The program with blanks for comments and what does not count, and marks for strings."""
    blanked = families.blanked(text)
    if "boilerplate" not in shingling.options:
        return blanked
    from lshdb.apps.programs import boilerplate  # 5 ms, which only `lshdb gate` needs

    return boilerplate.without(blanked, boilerplate.in_program(text, blanked))
