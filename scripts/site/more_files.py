"""Adds files to the site that are made from others; for MkDocs.

SECURITY.md, which is beside the README, becomes a page. The colours are those of lshdb's own pages.
What docs/format.md links to is beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llms import BESIDE, links_of_site
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_PROJECT = Path(__file__).resolve().parents[2]
SOURCE = _PROJECT / "SECURITY.md"
_STYLE = _PROJECT / "lshdb" / "web" / "static" / "lshdb.css"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page, with its links as they are among the others, the colours, and linked files."""
    text = links_of_site(SOURCE.read_text("utf-8"))
    files.append(File.generated(config, "security.md", content=text))
    files.append(File.generated(config, "colours.css", content=colours(_STYLE.read_text("utf-8"))))
    for name in BESIDE:
        path = _PROJECT / "docs" / name
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
