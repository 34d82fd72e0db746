"""Makes SECURITY.md, which stands beside the README, a page of the site; for MkDocs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SOURCE = Path(__file__).resolve().parent.parent.parent / "SECURITY.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page, with its links as they are among the others."""
    text = SOURCE.read_text("utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "security.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to the file lead to the page."""
    return markdown.replace("](../SECURITY.md)", "](security.md)")
