"""`char:3-cjk`: a character of Chinese or Korean counts as a whole shingle, two kana as one."""

import numpy as np

from lshdb.text import arrays, folding
from lshdb.text.arrays import IntArray
from lshdb.text.kinds import CharacterWeights

_KANA = "\u3041-\u31ff"
_HANGUL = "\uac00-\ud7a3"


class _Ideographs:
    """See CharacterWeights."""

    def of_text(self, text: str, size: int) -> int:
        return int(_doubled(text, size).sum()) // 2

    def runs(self, text: str, lengths: IntArray, size: int) -> tuple[IntArray, IntArray, IntArray]:
        reached, bounds = arrays.offsets_of(_doubled(text, size)), arrays.offsets_of(lengths)
        last = reached.searchsorted(reached[:-1] + 2 * size)
        is_run = last <= np.repeat(bounds[1:], lengths)
        counts = arrays.sums(is_run, bounds)
        (light,) = ((counts == 0) & (lengths > 0)).nonzero()
        counts[light] = is_run[bounds[light]] = True
        last[bounds[light]] = bounds[light + 1]
        (first,) = is_run.nonzero()
        return first, last[first], counts


IDEOGRAPHS: CharacterWeights = _Ideographs()


def _doubled(text: str, size: int) -> IntArray:
    """Twice the weight of each character of a folded text, int64[n]."""
    codes = folding.code_points(text)
    ideographs = (folding.character_classes().take(codes) & folding.IDEOGRAPH) != 0
    heavy = np.where(folding.is_any(codes, _KANA), size, 2 * size)
    return np.where(ideographs | folding.is_any(codes, _HANGUL), heavy, 2)
