"""The text of OpenDocument files: nothing is lost or glued."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import refused, text_of, zipped


@pytest.mark.extra("documents")
def test_nothing_of_an_opendocument_file_is_lost_or_glued(tmp_path: Path) -> None:
    spaces = "xmlns:o='urn:o' xmlns:t='urn:t' xmlns:d='urn:d'"
    note = "<t:note><t:note-citation>1</t:note-citation><t:p>a note</t:p></t:note>"
    frame = "<d:frame><d:text-box><t:p>box</t:p></d:text-box></d:frame>"
    body = f"<t:p>at noon{note} it leaves</t:p><t:p>before{frame} after</t:p>"
    styles = f"<o:s {spaces}><o:header><t:p>No. 450</t:p></o:header></o:s>"
    files: dict[str, str | bytes] = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "META-INF/manifest.xml": "<m/>",
        "content.xml": f"<o:c {spaces}>{body}</o:c>",
        "styles.xml": styles,
    }
    lines = ["at noon it leaves", "before after", "a note", "box", "No. 450"]
    assert text_of(tmp_path / "a.odt", zipped(files)).split("\n") == lines
    files["META-INF/manifest.xml"] = "<m><encryption-data/></m>"
    assert "password" in refused(tmp_path / "a.odt", zipped(files))
