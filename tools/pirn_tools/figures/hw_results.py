# SPDX-License-Identifier: MIT
"""What follows from the runs of `pirn bench figures hw`: speed-ups, and ratios."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pirn_tools.figures.hw import HARDWARE, SOFTWARE, Case, Plan, Points

CLOSE = 1.1  # ratios of cycles below count as about the same
PAYS = 1.05  # the least ratio at which the hardware counts as faster


@dataclass(frozen=True)
class Best:
    """The fastest scheduler of each kind at one place of the sweep."""

    units: int
    harts: int
    latency: int
    hardware: str
    software: str
    cycles: float  # of the hardware
    ratio: float  # software / hardware


def best(found: Points, plan: Plan, latency: int) -> list[Best]:
    """By hardware threads, then by units."""
    rows = []
    for case in plan.swept():
        if case.scheduler != HARDWARE[0] or case.latency != latency:
            continue

        def at(name: str, case: Case = case) -> float:
            return found.cycles(replace(case, scheduler=name))

        hardware, software = min(HARDWARE, key=at), min(SOFTWARE, key=at)
        ratio = at(software) / at(hardware)
        place = (case.units, case.harts, latency)
        rows.append(Best(*place, hardware, software, at(hardware), ratio))
    return sorted(rows, key=lambda row: (row.harts, row.units))


def pays_until(rows: Sequence[Best]) -> tuple[int | None, int | None]:
    """The largest unit at which the hardware is faster, and the next one measured."""
    last, following = None, None
    for row in sorted(rows, key=lambda row: row.units):
        if row.ratio >= PAYS:
            last, following = row.units, None
        elif following is None:
            following = row.units
    return last, following


def grows(rows: Sequence[Best], by: str, low: int, high: int) -> tuple[int, int]:
    """Of the places that were measured with `by` at both values: where the ratio is larger at the
    higher one, and how many they are."""
    kept = [name for name in ("units", "harts", "latency") if name != by]

    def at(value: int) -> dict[tuple[int, ...], float]:
        chosen = (row for row in rows if getattr(row, by) == value)
        return {tuple(getattr(row, name) for name in kept): row.ratio for row in chosen}

    before, after = at(low), at(high)
    both = before.keys() & after.keys()
    return sum(after[place] > before[place] for place in both), len(both)


def speedup(found: Points, cases: Sequence[Case]) -> float:
    """From the fewest to the most hardware threads."""
    ordered = sorted(cases, key=lambda case: case.harts)
    return found.cycles(ordered[0]) / found.cycles(ordered[-1])


def share(found: Points, case: Case, cores: int) -> float:
    """Of the threads, on the first cores."""
    return statistics.fmean(sum(point.cores[:cores]) / case.threads for point in found.of[case])


def with_error(value: float, error: float, digits: int = 2) -> str:
    """A single run has no interval."""
    text = f"{value:,.{digits}f}"
    return f"{text} ± {error:,.{digits}f}" if error else text


def quotient(a: float, of_a: float, b: float, of_b: float) -> tuple[float, float]:
    """Of two means, and half of its 95 % confidence interval: the relative errors of both add in
    quadrature."""
    value = a / b
    return value, value * ((of_a / a) ** 2 + (of_b / b) ** 2) ** 0.5


def ratio(found: Points, case: Case, base: Case) -> tuple[float, float]:
    """Cycles of `case` to those of `base`."""
    if case == base:
        return 1.0, 0.0
    return quotient(found.cycles(case), found.error(case), found.cycles(base), found.error(base))
