# SPDX-License-Identifier: MIT
"""Medians, spreads, and whether two of them differ.

A benchmark on a shared machine has outliers: the median of a few runs ignores
them, and minimum and maximum show how reliable it is.  The runs of one round
follow each other closely, so a ratio is computed within its round: a machine that becomes
slower from round to round changes both its numbers.
"""
from dataclasses import dataclass
from statistics import median

# The least noise, even if the runs show less: times are never the same
# twice, sizes nearly are (where a chunk ends depends on the moment)
TIME_NOISE = 0.03
SIZE_NOISE = 0.01
# The noise of a time is unknown with fewer runs
LEAST_RUNS = 3


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum of `runs` values."""
    median: float
    min: float
    max: float
    runs: int

    @classmethod
    def of(cls, values):
        values = list(values)
        if not values:
            raise ValueError("no values")
        return cls(median(values), min(values), max(values), len(values))

    def to_json(self):
        return {"median": self.median, "min": self.min, "max": self.max, "runs": self.runs}

    @classmethod
    def from_json(cls, o):
        return cls(o["median"], o["min"], o["max"], o["runs"])


def ratios(values, bases, factor=1.0):
    """Spread of value / base, round by round, times factor."""
    return Spread.of(factor * v / b for v, b in zip(values, bases, strict=True))


def verdict(old, new, noise=TIME_NOISE, higher_is_better=False):
    """Returns "better", "worse" or "same" for the new spread.

    "same": the ranges overlap when each is widened by half the noise, or they are times
    of fewer than LEAST_RUNS runs.
    """
    if noise >= TIME_NOISE and min(old.runs, new.runs) < LEAST_RUNS:
        return "same"
    half = noise / 2
    if new.min * (1 - half) > old.max * (1 + half):
        return "better" if higher_is_better else "worse"
    if new.max * (1 + half) < old.min * (1 - half):
        return "worse" if higher_is_better else "better"
    return "same"


def change(old, new):
    """Change of the median as a fraction of the old one; None if the old one is 0."""
    return new.median / old.median - 1 if old.median else None
