# SPDX-License-Identifier: MIT
"""What the numbers of a run say: percentiles of latencies, and whether something grows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

QUARTERS = 4
LEAST_SAMPLES = 4 * QUARTERS  # fewer say nothing
PERCENTILES = (50.0, 99.0, 99.9, 100.0)
MOST_GROWTH = 0.05  # of the second quarter's median
MEMORY_STEP = 1 << 19  # bytes
COUNT_STEP = 2  # descriptors, kernel threads


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The least value that at least so many percent do not exceed; of sorted values."""
    if not ordered:
        raise ValueError("no values")
    rank = -(-len(ordered) * round(percent * 1000) // 100_000)  # rounded up
    return ordered[max(rank, 1) - 1]


@dataclass(frozen=True)
class Growth:
    """Medians of the second quarter and of the last one."""

    before: float
    after: float

    @property
    def share(self) -> float:
        """How much more the last one is, as a part of the second."""
        return self.after / self.before - 1 if self.before else 0.0

    def grows(self, step: float) -> bool:
        """Beyond the limit, and by more than the step: a few pages are a large part of little."""
        return self.share > MOST_GROWTH and self.after - self.before > step


def growth(values: Sequence[float]) -> Growth | None:
    """Of samples at equal intervals; none if there are too few.

    The first quarter does not count: caches fill, compilers compile, pools reach their size.
    """
    if len(values) < LEAST_SAMPLES:
        return None
    length = len(values) // QUARTERS
    return Growth(
        statistics.median(values[length : 2 * length]), statistics.median(values[-length:])
    )
