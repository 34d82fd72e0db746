"""What a run was made on."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
from datetime import UTC, datetime
from typing import Any

import numpy as np

import lshdb
from measure.common.commands import MEMORY_METHOD, PROC
from measure.harness.engines import NAMES, installed


def facts() -> dict[str, Any]:
    """The machine and the versions, at this time."""
    described = (PROC / "cpuinfo").read_text() if PROC.is_dir() else ""
    model = re.search(r"^model name\s*: (.*)", described, re.MULTILINE)
    return {
        "cpu": model[1] if model else platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if PROC.is_dir() else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
        "engines": {"lshdb": lshdb.__version__}
        | {name: found for name in NAMES[1:] if (found := installed(name)) is not None},
        "memory_method": MEMORY_METHOD if PROC.is_dir() else "not measured: no /proc",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
