"""Run one of the scripts: python scripts/measure ROOM.SCRIPT [ARGUMENT...], as torture.soak 60."""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # Not this directory but the one above: its rooms are not packages of the top level.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    name = sys.argv.pop(1) if sys.argv[1:] else ""
    if not name.replace(".", "").isidentifier():
        sys.exit("usage: python scripts/measure ROOM.SCRIPT [ARGUMENT...]; see scripts/README.md")
    sys.exit(import_module(f"measure.{name}").main())
