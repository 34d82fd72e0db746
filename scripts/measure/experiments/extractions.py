"""Labelled documents for `experiments.labelled`: web pages by five extractors.

    python scripts/measure experiments.extractions OUT PAGE.html...

It writes OUT.jsonl, with a text of each page by each extractor, and OUT.tsv, with the pairs of
texts of one page. It needs `pip install boilerpy3 html2text resiliparse selectolax trafilatura`.
Texts of fewer than 200 characters are left out: there is nothing in them to compare.
"""

# mypy: ignore-errors
from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path

_SHORTEST = 200


def extracted(html: str) -> dict[str, str]:
    """The texts of a page by the names of the extractors."""
    import html2text
    import trafilatura
    from boilerpy3 import extractors
    from resiliparse.extract.html2text import extract_plain_text
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    for node in tree.css("script,style"):
        node.decompose()
    return {
        "all": tree.body.text(separator=" "),
        "boilerpipe": extractors.ArticleExtractor(raise_on_failure=False).get_content(html) or "",
        "html2text": html2text.html2text(html),
        "resiliparse": extract_plain_text(html, main_content=True),
        "trafilatura": trafilatura.extract(html) or "",
    }


def main() -> None:
    """Write the texts and the pairs."""
    parser = argparse.ArgumentParser(description="Web pages by five extractors.")
    parser.add_argument("out", type=Path)
    parser.add_argument("pages", nargs="+", type=Path)
    args = parser.parse_args()
    lines, pairs = [], ["# a\tb\tlabel"]
    for number, page in enumerate(args.pages):
        texts = extracted(page.read_text("utf-8", "replace"))
        keys = [f"{number}.{name}" for name, text in texts.items() if len(text) >= _SHORTEST]
        for key in keys:
            text = texts[key.partition(".")[2]]
            lines.append(json.dumps({"id": key, "page": str(page), "text": text}))
        pairs += [f"{a}\t{b}\t1" for a, b in itertools.combinations(keys, 2)]
    args.out.with_suffix(".jsonl").write_text("\n".join([*lines, ""]), "utf-8")
    args.out.with_suffix(".tsv").write_text("\n".join([*pairs, ""]), "utf-8")


if __name__ == "__main__":
    main()
