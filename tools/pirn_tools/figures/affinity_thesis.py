# SPDX-License-Identifier: MIT
"""The thesis on task affinity beside which `pirn bench figures affinity` puts its runs: numbers of
its tables, its metric, and its estimate of a speed-up.

M. Marini, Exploring performance scalability of task-affinity on different multicore architectures,
Politecnico di Milano, 2011.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.errors import UserError

NAME = (
    "M. Marini, *Exploring performance scalability of task-affinity on different multicore "
    "architectures*, Politecnico di Milano, 2011"
)
BUFFERS = (4, 8, 16, 32, 64)  # KB
TOPOLOGIES: Mapping[str, str] = {"xeon": "Xeon", "i7": "i7"}
WAVES, MIXERS = 4, 2  # and a last mixer


def a2s(mean: float, sigma: float) -> float:
    """Equation 3.1."""
    return mean + 2 * sigma


def improvement(value: float, plain: float) -> float:
    """Equation 3.2 with the sign of Tables 3.1, 4.3 and 4.4: positive is better than plain."""
    return (plain - value) / plain


@dataclass(frozen=True)
class Sample:
    """Time to produce a sample, microseconds. The tables have variances."""

    mean: float
    variance: float

    @property
    def sigma(self) -> float:
        return math.sqrt(self.variance)

    @property
    def a2s(self) -> float:
        return a2s(self.mean, self.sigma)


@dataclass(frozen=True)
class Serial:
    """Times of the tasks when one CPU runs them one after another, microseconds: a wave, one of the
    first two mixers, the last mixer."""

    wave: float
    mixer: float
    last: float

    @property
    def whole(self) -> float:
        return WAVES * self.wave + MIXERS * self.mixer + self.last


@dataclass(frozen=True)
class Row:
    """A line of Tables 4.3 and 4.4, for one size of the buffers."""

    serial: Serial
    serial_us: float  # as measured
    affinity: Sample
    plain: Sample


TABLES: Mapping[str, Mapping[int, Row]] = {
    "xeon": {
        4: Row(Serial(12.18, 29.59, 38.84), 146.76, Sample(63.08, 44.70), Sample(61.58, 12.42)),
        8: Row(Serial(17.74, 42.72, 55.57), 211.98, Sample(90.60, 24.18), Sample(95.54, 20.31)),
        16: Row(Serial(31.47, 70.35, 88.53), 355.13, Sample(150.00, 25.75), Sample(165.23, 42.47)),
        32: Row(
            Serial(60.12, 128.72, 155.34), 653.27, Sample(266.42, 27.17), Sample(306.69, 43.31)
        ),
        64: Row(
            Serial(115.42, 246.2, 285.62), 1239.69, Sample(502.09, 74.54), Sample(592.30, 81.45)
        ),
    },
    "i7": {
        4: Row(Serial(17.86, 27.31, 29.25), 155.31, Sample(61.44, 20.38), Sample(68.25, 34.02)),
        8: Row(Serial(33.17, 46.39, 51.88), 277.32, Sample(108.22, 25.54), Sample(122.42, 167.94)),
        16: Row(Serial(63.65, 82.49, 96.54), 516.11, Sample(206.03, 77.33), Sample(236.35, 586.69)),
        32: Row(
            Serial(124.85, 156.46, 182.30),
            994.59,
            Sample(401.53, 328.09),
            Sample(444.38, 2688.34),
        ),
        64: Row(
            Serial(250.27, 279.39, 356.96),
            1916.82,
            Sample(793.50, 1423.98),
            Sample(826.83, 6469.23),
        ),
    },
}

# Tables 4.3b, 4.4b, as printed: shares of the serial run in percent, of task affinity. Those of
# plain scheduling are the first two, and the sum of the others.
PORTIONS: Mapping[str, Mapping[int, tuple[int, int, int, int]]] = {
    "xeon": {
        4: (40, 33, 17, 9),
        8: (40, 33, 17, 9),
        16: (40, 35, 18, 7),
        32: (39, 37, 19, 5),
        64: (40, 37, 19, 4),
    },
    "i7": {
        4: (35, 46, 15, 4),
        8: (33, 48, 14, 5),
        16: (32, 49, 13, 6),
        32: (31, 50, 12, 7),
        64: (29, 52, 12, 7),
    },
}
AVERAGE_PORTIONS: Mapping[str, tuple[int, int, int, int]] = {
    "xeon": (40, 35, 18, 7),
    "i7": (32, 49, 13, 6),
}

# Tables 4.3c, 4.4c, as printed, and Table 3.1.
NEW_IMPROVEMENT: Mapping[str, Mapping[int, float]] = {
    "xeon": {4: -0.11, 8: 0.04, 16: 0.10, 32: 0.13, 64: 0.15},
    "i7": {4: 0.12, 8: 0.20, 16: 0.21, 32: 0.20, 64: 0.12},
}
OLD_IMPROVEMENT: Mapping[str, Mapping[int, float]] = {
    "xeon": {4: -0.0189, 8: -0.0082, 16: -0.0031, 32: -0.0396, 64: -0.0325},
    "i7": {4: 0.0233, 8: 0.0642, 16: 0.0842, 32: 0.0653, 64: -0.0514},
}


@dataclass(frozen=True)
class Speedups:
    """Averages over the sizes of buffers."""

    affinity: float
    affinity_estimate: float
    plain: float
    plain_estimate: float


SPEEDUPS: Mapping[str, Speedups] = {
    "xeon": Speedups(2.39, 2.23, 2.19, 1.86),
    "i7": Speedups(2.50, 2.45, 2.26, 2.11),
}

# ---- the estimate ----

PLAIN_FACTORS = (2, 4, 1)
AFFINITY_FACTORS = (2, 4, 2, 1)


def plain_portions(one: Serial) -> tuple[float, ...]:
    """Table 4.1, as shares of the serial run: two mixers at once, four waves, the last mixer."""
    parts = (MIXERS * one.mixer, WAVES * one.wave, one.last)
    return tuple(part / one.whole for part in parts)


def affinity_portions(one: Serial) -> tuple[float, ...]:
    """Table 4.1: two mixers at once; three waves and as much of the last mixer; the fourth wave and
    as much of what is left of that mixer; the rest of the longer of the two.

    The second portion is 3 waves and T_{W,M} in print. The tables' percentages, and the sum of all,
    which has to be 1, need four waves.
    """
    if one.last < one.wave:
        raise UserError("equation 4.1: the last mixer takes less time than a wave")
    both = min(one.wave, one.last - one.wave)
    parts = (MIXERS * one.mixer, WAVES * one.wave, 2 * both, abs(one.last - 2 * one.wave))
    return tuple(part / one.whole for part in parts)


def averages(portions: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Of each portion, over the sizes of buffers."""
    return tuple(sum(each) / len(portions) for each in zip(*portions, strict=True))


def speedup(portions: Sequence[float], factors: Sequence[int]) -> float:
    """Equation 4.1."""
    return 1 / sum(part / factor for part, factor in zip(portions, factors, strict=True))


def estimates(serial: Sequence[Serial]) -> tuple[float, float]:
    """The speed-up that plain scheduling and task affinity should have, from average portions."""
    return (
        speedup(averages([plain_portions(one) for one in serial]), PLAIN_FACTORS),
        speedup(averages([affinity_portions(one) for one in serial]), AFFINITY_FACTORS),
    )
