"""Characters that do not count as one each, as they are: what the endings of a shingle ask for.

In: texts. Out: texts of the same length that are compared in their place; runs of some weight.

    marks       `word:3-marks`: letters without their accents and other marks
    digits      `word:3-numbers`: one sign for all digits
    ideographs  `char:3-cjk`: characters of Chinese, Japanese and Korean weigh more

Doors: .
"""
