# SPDX-License-Identifier: MIT
"""Samples of a run as one line a row: medians, ratio to the best peer, multiple of the floor."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.bench.runner import Sample

from harness.goals import Goals, constants, total

OURS = ("pirn", "pirn-pthread")
FLOOR = "floor"
NO_STACK = "tokio"  # tasks without a stack: no rival in memory


@dataclass(frozen=True)
class Target:
    """A goal of one of ours in a row."""

    system: str
    multiple: float | None  # of the floor, or of ratio_to, that was measured
    wanted: float
    unit: str  # what it is a multiple of
    note: str

    @property
    def met(self) -> bool | None:
        return None if self.multiple is None else self.multiple <= self.wanted


@dataclass(frozen=True)
class Line:
    """One row."""

    row: str
    unit: str
    medians: Mapping[str, float]
    best_peer: str | None
    ratios: Mapping[str, float]  # ours: median of the paired ratios to the best peer
    floor: float | None
    targets: tuple[Target, ...]


def values(samples: Sequence[Sample], row: str, peer: str) -> dict[int, float]:
    """By round."""
    return {s.round: s.value for s in samples if (s.row, s.peer) == (row, peer)}


def paired_ratio(samples: Sequence[Sample], row: str, peer: str, other: str) -> float | None:
    own, base = values(samples, row, peer), values(samples, row, other)
    ratios = [own[number] / base[number] for number in own if base.get(number)]
    return statistics.median(ratios) if ratios else None


def names(samples: Sequence[Sample], attribute: str) -> list[str]:
    return list(dict.fromkeys(str(getattr(sample, attribute)) for sample in samples))


def measured_floor(samples: Sequence[Sample]) -> dict[str, float]:
    floor = [sample for sample in samples if sample.peer == FLOOR]
    rows = {row: values(floor, row, FLOOR).values() for row in names(floor, "row")}
    return {**constants(), **{row: statistics.median(own) for row, own in rows.items()}}


def targets(
    samples: Sequence[Sample],
    row: str,
    medians: Mapping[str, float],
    goals: Goals,
    floor: Mapping[str, float],
) -> tuple[Target, ...]:
    found = []
    for system in OURS:
        goal = goals.of(row, system)
        if goal is None or system not in medians:
            continue
        if goal.ratio_to is not None:
            ratio = paired_ratio(samples, row, system, goal.ratio_to)
            found.append(Target(system, ratio, goal.amount, goal.ratio_to, goal.note))
            continue
        here = total(goal.floor, floor)
        unit = " + ".join(f"{weight:g} {name}" for name, weight in goal.floor.items())
        multiple = None if here is None else medians[system] / here
        found.append(Target(system, multiple, goals.multiple(goal), unit, goal.note))
    return tuple(found)


def summarize(samples: Sequence[Sample], goals: Goals, order: Sequence[str]) -> list[Line]:
    """`order` of the systems, as the suite has them."""
    floor = measured_floor(samples)
    lines = []
    for row in names([sample for sample in samples if sample.peer != FLOOR], "row"):
        own = [sample for sample in samples if sample.row == row]
        medians = {
            peer: statistics.median(found)
            for peer in order
            if (found := list(values(own, row, peer).values()))
        }
        out = (*OURS, NO_STACK) if own[0].unit == "bytes" else OURS
        rivals = {peer: median for peer, median in medians.items() if peer not in out}
        best = min(rivals, key=lambda peer: rivals[peer]) if rivals else None
        ratios = {
            peer: ratio
            for peer in OURS
            if best and (ratio := paired_ratio(own, row, peer, best)) is not None
        }
        goal = goals.of(row, "pirn")
        lines.append(
            Line(
                row=row,
                unit=own[0].unit,
                medians=medians,
                best_peer=best,
                ratios=ratios,
                floor=total(goal.floor, floor) if goal else None,
                targets=targets(own, row, medians, goals, floor),
            )
        )
    return lines
