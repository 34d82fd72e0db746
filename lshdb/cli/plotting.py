"""S-curves as pictures; needs the extra `plot`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lshdb.model import Construction
from lshdb.tuning.analysis import curve


def save(path: Path, construction: Construction, threshold: float) -> None:
    """Draw a curve, the threshold, and the areas of false positives and of false negatives."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    below = np.linspace(0, threshold, 400)
    above = np.linspace(threshold, 1, 400)
    axes.fill_between(below, curve(below, construction), alpha=0.3, label="false positives")
    axes.fill_between(above, curve(above, construction), 1, alpha=0.5, label="false negatives")
    every = np.concatenate([below, above])
    axes.plot(every, curve(every, construction), color="black", label=str(construction))
    axes.axvline(threshold, linestyle="--", color="grey", label=f"threshold {threshold:g}")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="Jaccard similarity")
    axes.set_ylabel("probability that a pair is a candidate")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)
