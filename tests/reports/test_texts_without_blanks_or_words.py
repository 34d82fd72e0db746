"""Thai with a syllable changed, invisible signs and rows of emoji hid that texts are similar."""

from __future__ import annotations

from pathlib import Path

import pytest

import lshdb

SENTENCES = {
    "Thai": "ทุกคนมีสิทธิในชีวิตเสรีภาพและความมั่นคงแห่งร่างกาย",
    "Lao": "ທຸກຄົນມີສິດໃນຊີວິດເສລີພາບແລະຄວາມປອດໄພຂອງຕົນ",
    "Khmer": "មនុស្សគ្រប់រូបមានសិទ្ធិរស់រានមានជីវិតសេរីភាពនិងសន្តិសុខ",
    "Burmese": "လူတိုင်းသည်အသက်ရှင်ခွင့်လွတ်လပ်ခွင့်နှင့်လုံခြုံခွင့်ရှိသည်",
    "Javanese": "\ua9b1\ua9a7\ua9ba\ua9a4\ua9b4\ua9a5\ua9a0\ua9b6\ua9a9\ua9b8\ua98f\ua9bc" * 2,
    "Balinese": "\u1b32\u1b36\u1b13\u1b38\u1b22\u1b3e\u1b29\u1b36\u1b2e\u1b38\u1b27\u1b36" * 2,
}
OTHERS = {"Thai": "แมวดำ", "Lao": "ແມວດຳ", "Khmer": "ឆ្មាខ្មៅ", "Burmese": "ကြောင်မည်း"}


@pytest.mark.parametrize("script", SENTENCES)
@pytest.mark.parametrize("sign", ["", "\u200b"])
def test_a_sentence_within_another_text_is_found_where_it_is(
    path: Path, script: str, sign: str
) -> None:
    sentence, other = SENTENCES[script], OTHERS.get(script, "\ua98f\ua9ba\u1b13\u1b3e")
    text = sign.join(f"{other} {other}{sentence}{other}")
    with lshdb.open(path, threshold=0.3, passages=8) as db:
        db.add("source", f"{sentence} one")
        [passage] = db.passages(text).sources[0].passages
        plain = passage.text.replace(sign, "") if sign else passage.text
        assert len(plain) > 0.7 * len(sentence)
        assert plain in sentence
        assert text[passage.start : passage.end] == passage.text
        changed = sentence[: len(sentence) // 2] + other + sentence[len(sentence) // 2 :]
        [match] = db.query(sign.join(f"{changed} one"), exhaustive=True)
        assert match.similarity > 0.4


@pytest.mark.parametrize("shingle", ["word:3", "char:5"])
def test_equal_rows_of_signs_are_copies(path: Path, shingle: str) -> None:
    rows = [
        "\U0001f600 \U0001f44d!",
        " \U0001f600\u3000\U0001f44d\ufe0f!\n",
        "\U0001f600",
        "--",
        "\u2014",
    ]
    with lshdb.open(path, shingle=shingle) as db:
        db.add_many((str(key), row) for key, row in enumerate(rows))
        assert [(pair.a, pair.b, pair.similarity) for pair in db.pairs()] == [("0", "1", 1.0)]
        assert [match.key for match in db.query("-- ")] == ["3"]
