# SPDX-License-Identifier: MIT
"""From ticks of a trace's clock to time.

A trace pairs both at its start, at its end, and at the begin of each block. Between pairs time is
linear. Pairs of blocks are many and noisy (a reader of two clocks may be interrupted in between),
so of each stretch of the trace one is taken, the one in the middle of their errors.
Short traces do with start and end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
STRETCHES = 64
SHORTEST = 10e6  # ns of a stretch: the errors of pairs are to be small beside it


@dataclass(frozen=True)
class Knots:
    """Moments at which both clocks were read."""

    clock: Array  # ticks
    ns: Array


@dataclass(frozen=True)
class Clock:
    """Ticks since the start, and what time they are in nanoseconds since the start."""

    start: int
    ticks: Array  # ascending, the first is 0
    times: Array
    end_ns: float  # of the trace

    @staticmethod
    def of(header: dict[str, int], knots: list[Knots], last: int | None) -> Clock:
        """last: the clock of the last event."""
        start, start_ns = header["start_clock"], header["start_ns"]
        ticks = [_since(part.clock, start) for part in knots]
        times = [_since(part.ns, start_ns) for part in knots]
        x, y = np.concatenate([[0.0], *ticks]), np.concatenate([[0.0], *times])
        anchor = None
        if header["end_clock"] > start:
            anchor = (float(header["end_clock"] - start), float(header["end_ns"] - start_ns))
        x, y = _thin(x, y, anchor, header["clock_hz"])
        made = Clock(start, x, y, 0.0)
        end = float(made.ns(np.array([last], np.uint64))[0]) if last is not None else 0.0
        return Clock(start, x, y, max(end, anchor[1] if anchor else 0.0))

    def ns(self, clock: Array) -> Array:
        """Nanoseconds since the start, for an array of ticks."""
        x = _since(clock, self.start)
        made = np.interp(x, self.ticks, self.times)
        beyond = x > self.ticks[-1]
        if beyond.any():
            made[beyond] = self.times[-1] + (x[beyond] - self.ticks[-1]) * self._slope()
        return np.asarray(made)

    def seconds(self, clock: int) -> float:
        return float(self.ns(np.array([clock], np.uint64))[0]) / 1e9

    def hertz(self) -> float:
        """Ticks in a second."""
        return 1e9 / self._slope()

    def _slope(self) -> float:
        run = self.ticks[-1] - self.ticks[0]
        rise = self.times[-1] - self.times[0]
        return float(rise / run) if run > 0 and rise > 0 else 1.0


def _since(clock: Array, start: int) -> Array:
    """Differences are small where the values are not: subtract before they become floats."""
    return (clock - np.uint64(start)).astype(np.int64).astype(np.float64)


def _thin(
    x: Array, y: Array, anchor: tuple[float, float] | None, hertz: int
) -> tuple[Array, Array]:
    """One pair for each stretch, ascending in both."""
    far = anchor or (float(x.max()), float(y[int(np.argmax(x))]))
    if hertz:
        rate = 1e9 / hertz
        far = anchor or (far[0], far[0] * rate)
        if not anchor:
            return np.array([0.0, max(far[0], 1.0)]), np.array([0.0, max(far[0], 1.0) * rate])
    if far[0] <= 0 or far[1] <= 0:
        return np.array([0.0, 1.0]), np.array([0.0, 1.0])
    inside = (x > 0) & (x < far[0])
    x, y = x[inside], y[inside]
    chosen = []
    stretches = min(STRETCHES, int(far[1] / SHORTEST))
    stretch = np.floor(x / far[0] * stretches).astype(np.int64)
    for number in range(stretches):
        own = np.flatnonzero(stretch == number)
        if len(own):
            wrong = y[own] - x[own] * (far[1] / far[0])
            chosen.append(own[np.argsort(wrong, kind="stable")[len(own) // 2]])
    picked = np.array(chosen, np.int64)
    xs = np.concatenate([[0.0], x[picked], [far[0]]])
    ys = np.maximum.accumulate(np.concatenate([[0.0], y[picked], [far[1]]]))
    return xs, np.minimum(ys, far[1])
