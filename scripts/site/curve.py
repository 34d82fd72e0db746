"""Draws docs/curve.svg, how CPU time grows with a file, from the results of scripts/bench scale.

usage: python scripts/site/curve.py [OUT.svg]
"""

import sys
from collections.abc import Sequence
from math import log10
from pathlib import Path
from typing import Final

SCRIPTS: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))

from measure.bench import scale  # noqa: E402
from measure.harness.figures import CPU, CPU_MS, read  # noqa: E402
from measure.harness.report import number  # noqa: E402

_OUT: Final = SCRIPTS.parent / "docs" / "curve.svg"
_WIDTH, _HEIGHT = 170, 150
"""Of a panel's lines."""
_COLOURS: Final = ("#1f6feb", "#bc4c00")


def draw() -> str:
    """The SVG: a panel for each job, a line through the files of all sizes."""
    runs = scale.by_size(tuple(read(path) for path in scale.RESULTS.glob("*.jsonl")))
    counts = [run.figures[0].documents for run in runs]
    found = [{figure.measure: figure.median for figure in run.figures} for run in runs]

    def of(measure: str, *, each: bool = False) -> dict[int, float]:
        pairs = [
            (count, one[measure])
            for count, one in zip(counts, found, strict=True)
            if measure in one
        ]
        return {count: value * (1e6 / count if each else 1) for count, value in pairs}

    query, headed, admit = (of(f"{name}, {CPU_MS}") for name in scale.ASKED)
    panels: list[tuple[str, dict[str, dict[int, float]]]] = [
        ("add: CPU µs a document", {"": of(CPU, each=True)}),
        ("query: CPU ms", {"any": query, "under the header": headed}),
        ("query and add: CPU ms", {"": admit}),
        ("all pairs: CPU µs a document", {"": of(f"{scale.PAIRS}, {CPU}", each=True)}),
    ]
    width = len(panels) * (_WIDTH + 50) + 10
    drawn = "".join(
        f'<g transform="translate({20 + index * (_WIDTH + 50)} 40)">{_panel(counts, *panel)}</g>'
        for index, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 225" '
        f'font-family="sans-serif" font-size="11"><title>CPU time by documents in the file</title>'
        f'<rect width="{width}" height="225" fill="white"/>{drawn}</svg>\n'
    )


def _panel(counts: Sequence[int], title: str, lines: dict[str, dict[int, float]]) -> str:
    """A panel: y begins at 0, x is a logarithm; a job that was not measured has no point."""
    top = 1.3 * max(value for values in lines.values() for value in values.values())
    first, last = log10(counts[0]), log10(counts[-1])
    x = {c: (log10(c) - first) / (last - first) * (_WIDTH - 40) + 20 for c in counts}
    parts = [
        f'<text y="-12" font-weight="bold">{title}</text>',
        f'<path d="M0 0V{_HEIGHT}H{_WIDTH}" fill="none" stroke="#888"/>',
    ]
    for count, at in x.items():
        label = f"{count // 10**6} million"
        parts.append(f'<text x="{at:.0f}" y="{_HEIGHT + 18}" text-anchor="middle">{label}</text>')
    for (name, values), colour in zip(lines.items(), _COLOURS, strict=False):
        points = [(x[count], _HEIGHT * (1 - value / top)) for count, value in values.items()]
        path = " ".join(f"{at:.0f},{y:.0f}" for at, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        below = 18 if name == "any" else -8
        for (at, y), value in zip(points, values.values(), strict=True):
            parts.append(f'<circle cx="{at:.0f}" cy="{y:.0f}" r="3" fill="{colour}"/>')
            parts.append(
                f'<text x="{at:.0f}" y="{y + below:.0f}" text-anchor="middle" fill="{colour}">'
                f"{number(value)}</text>"
            )
        if name:
            parts.append(
                f'<text x="{_WIDTH}" y="{points[-1][1] + 2 * below:.0f}" '
                f'text-anchor="end" fill="{colour}">{name}</text>'
            )
    return "".join(parts)


if __name__ == "__main__":
    (Path(sys.argv[1]) if sys.argv[1:] else _OUT).write_text(draw(), "utf-8")
