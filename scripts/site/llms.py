"""Writes docs/llms.txt: the pages for programs that read documentation, by https://llmstxt.org.

usage: python scripts/site/llms.py [OUT.txt]

As a hook of MkDocs it adds pages and files that are made from others; and it puts beside the pages
their Markdown, and llms-full.txt, which has all of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_PROJECT: Final = Path(__file__).resolve().parents[2]
_DOCS: Final = _PROJECT / "docs"
_OUT: Final = _DOCS / "llms.txt"
_ELSEWHERE: Final = {"security.md": _PROJECT / "SECURITY.md"}
"""Pages of the site whose source is not in docs/."""
BESIDE: Final = (
    "../lshdb/schema.sql",
    "../lshdb/text/unicode14.bin",
    "../tests/golden/format-7-vectors.json",
)
"""Files that the site has beside its pages, by their places as pages in docs/ name them."""
_HEAD: Final = """\
# lshdb

> An embedded near-duplicate database: a command and a Python library that find texts which are
> nearly the same, in one SQLite file that grows. Every pair that it shows has been compared.

All pages in one file: [llms-full.txt](llms-full.txt).
"""
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_OUTSIDE: Final = re.compile(r"\[([^\]]*)\]\(\.\./[^)]*\)")
_SENTENCE: Final = re.compile(r"(.*?[.?])(?:\s|$)", re.DOTALL)


def navigation() -> dict[str, dict[str, Path]]:
    """The groups of the navigation, each with its pages by their titles."""
    groups = yaml.safe_load((_PROJECT / "mkdocs.yml").read_text("utf-8"))["nav"]
    return {
        heading: {
            title: _ELSEWHERE.get(name, _DOCS / name)
            for page in pages
            for title, name in page.items()
        }
        for group in groups
        for heading, pages in group.items()
    }


def first_sentence(page: Path) -> str:
    """What a page is for, as it says itself, without links."""
    text = page.read_text("utf-8").split("\n\n", 2)[1]
    match = _SENTENCE.match(_LINK.sub(r"\1", " ".join(text.split())))
    if match is None:
        raise SystemExit(f"{page} does not begin with a sentence")
    return match[1]


def links_of_site(text: str) -> str:
    """A page with the links that the site has; those to other files are left as plain text.

    >>> links_of_site("[a](../SECURITY.md#keys) [b](docs/api.md) [c](../scripts/README.md)")
    '[a](security.md#keys) [b](api.md) c'
    """
    text = text.replace("](../SECURITY.md", "](security.md").replace("](docs/", "](")
    for file in BESIDE:
        text = text.replace(f"]({file})", f"]({Path(file).name})")
    return _OUTSIDE.sub(r"\1", text)


def listing() -> Iterator[str]:
    """The lines of llms.txt."""
    yield _HEAD
    for heading, pages in navigation().items():
        yield f"## {heading}\n"
        for title, page in pages.items():
            yield f"- [{title}]({page.name.lower()}): {first_sentence(page)}"
        yield ""


def full() -> Iterator[str]:
    """The text of llms-full.txt, page by page."""
    yield _HEAD.partition("\nAll pages")[0]
    for pages in navigation().values():
        for page in pages.values():
            yield links_of_site(page.read_text("utf-8"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add SECURITY.md as a page, the colours of lshdb's own pages, and the files beside them."""
    from mkdocs.structure.files import File

    text = links_of_site(_ELSEWHERE["security.md"].read_text("utf-8"))
    files.append(File.generated(config, "security.md", content=text))
    style = (_PROJECT / "lshdb" / "apps" / "web" / "static" / "lshdb.css").read_text("utf-8")
    files.append(File.generated(config, "colours.css", content=colours(style)))
    for name in BESIDE:
        path = _DOCS / name
        files.append(File.generated(config, path.name, abs_src_path=str(path.resolve())))
    return files


def colours(style: str) -> str:
    """The variables of a style sheet: its first rule, which must be that of `:root`.

    >>> colours(":root { --text: black; } body { color: var(--text); }")
    ':root { --text: black; }'
    """
    start, end = style.index(":root {"), style.index("}") + 1
    return style[start:end]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links lead to pages of the site."""
    return links_of_site(markdown)


def on_post_build(config: Any) -> None:
    """Put the pages' sources, and all of them in one file, beside the pages."""
    site = Path(config["site_dir"])
    for pages in navigation().values():
        for page in pages.values():
            text = links_of_site(page.read_text("utf-8"))
            (site / page.name.lower()).write_text(text, "utf-8")
    (site / "llms-full.txt").write_text("\n".join(full()), "utf-8")


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT
    out.write_text("\n".join(listing()), "utf-8")
