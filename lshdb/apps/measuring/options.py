"""Options of what is measured."""

from typing import Annotated

from lshdb.groups import Option, Options
from lshdb.options import OnProgress, SampleSeed, Threshold

SampleSize = Annotated[
    int | None, Option("Documents to compare with all. [default: some seconds']", min=1)
]


class MeasureOptions(Options):
    """Options of `Database.measure`."""

    threshold: Threshold = None
    sample: SampleSize = None
    seed: SampleSeed = 1
    progress: OnProgress = False
