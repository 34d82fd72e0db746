"""Draws docs/pictures/*.png, the main pages of `lshdb serve` in light and dark, in Chromium.

usage: python scripts/site/page_pictures.py [DIRECTORY]

The documents are the character encodings of this Python, of which many were made by copying
another. Chromium is the one of this machine, or the one that the variable CHROMIUM names.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from encodings import __path__ as encodings
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import lshdb

_OUT: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
_SIZE: Final = (1100, 760)
_COLOURS: Final = 192
"""In a picture: letters, marks and chips look the same as with all, at half of the bytes."""
_PATIENCE: Final = 60_000
"""Milliseconds until what is computed in the background is there."""
_PAGES: Final = {
    "overview": "",
    "clusters": "clusters?min_similarity=0.6",
    "compare": "compare?a=encodings/cp437.py&b=encodings/cp865.py&only=2",
    "review": "cluster?key=encodings/cp437.py",
}


def draw(directory: Path, browser: Browser, base: str) -> None:
    """Write each page as DIRECTORY/NAME.png and NAME-dark.png; the overview is at `base`."""
    directory.mkdir(parents=True, exist_ok=True)
    width, height = _SIZE
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        page = context.new_page()
        for name, address in _PAGES.items():
            page.goto(f"{base}/{address}")
            # A page that waits loads itself again, or what it waits for.
            page.wait_for_selector("html:not(:has(meta[http-equiv], iframe))", timeout=_PATIENCE)
            page.emulate_media(color_scheme="light")
            _write(directory / f"{name}.png", page.screenshot())
            page.emulate_media(color_scheme="dark")
            _write(directory / f"{name}-dark.png", page.screenshot())


def _write(path: Path, png: bytes) -> None:
    with Image.open(io.BytesIO(png)) as picture:
        few = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


@contextmanager
def _serving() -> Iterator[str]:
    """The address of the overview of a database in review."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "encodings.db"
        with lshdb.open(path, threshold=0.6) as db:
            files = sorted(Path(encodings[0]).glob("*.py"))
            db.add_many((f"encodings/{file.name}", file.read_text("utf-8")) for file in files)
            db.decide("keep", ["encodings/cp437.py"])
            db.decide("drop", ["encodings/cp865.py"])
        command = Path(sys.executable).with_name("lshdb")
        process = subprocess.Popen(
            [command, "serve", "--review", "--quiet", "--port", "0", "-d", path],
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().rstrip("/")
        finally:
            process.terminate()
            process.communicate()


def _chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise SystemExit("no Chromium is installed: apt-get install chromium")
    return path


if __name__ == "__main__":
    with _serving() as base, sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # as root it has none
        browser = playwright.chromium.launch(executable_path=_chromium(), args=arguments)
        draw(Path(sys.argv[1]) if len(sys.argv) > 1 else _OUT, browser, base)
        browser.close()
