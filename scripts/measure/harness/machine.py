"""What a run was made on."""

from __future__ import annotations

import os
import platform
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import lshdb
from measure.common.commands import MEMORY_METHOD, PROC
from measure.harness.engines import NAMES, installed


def facts() -> dict[str, Any]:
    """The machine and the versions, at this time."""
    return {
        "cpu": _cpu(),
        "cores": _cores(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
        "engines": {"lshdb": lshdb.__version__}
        | {name: found for name in NAMES[1:] if (found := installed(name)) is not None},
        "memory_method": MEMORY_METHOD if PROC.is_dir() else "not measured: no /proc",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, OSError, ValueError):
        return None
