"""One sign for all digits: texts that differ in digits only are equal."""

from collections.abc import Sequence

_ZEROS = (
    "0\u0660\u06f0\u07c0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0de6"
    "\u0e50\u0ed0\u0f20\u1040\u1090\u17e0\u1810\u1946\u19d0\u1a80\u1a90\u1b50\u1bb0"
    "\u1c40\u1c50\ua620\ua8d0\ua900\ua9d0\ua9f0\uaa50\uabf0\uff10\U000104a0\U00010d30"
    "\U00011066\U000110f0\U00011136\U000111d0\U000112f0\U00011450\U000114d0\U00011650"
    "\U000116c0\U00011730\U000118e0\U00011950\U00011c50\U00011d50\U00011da0\U00016a60"
    "\U00016ac0\U00016b50\U0001d7ce\U0001d7d8\U0001d7e2\U0001d7ec\U0001d7f6\U0001e140"
    "\U0001e2f0\U0001e950\U0001fbf0"
)
"""The decimal digits 0 of Unicode 14, each followed by the other nine."""
DIGITS = {ord(zero) + value: "0" for zero in _ZEROS for value in range(10)}


def alike(texts: Sequence[str]) -> list[str]:
    """Texts with the digit 0 in place of each digit.

    >>> alike(["A4, \u0661\u0969", "x\u00b2"])
    ['A0, 00', 'x\u00b2']
    """
    return [text.translate(DIGITS) for text in texts]
