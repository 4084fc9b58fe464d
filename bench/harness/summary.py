# SPDX-License-Identifier: MIT
"""Samples of a run as one line a row: medians, ratio to the best peer, multiple of the floor."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.bench.runner import Sample

from harness.goals import Goal, Goals, constants, total

Choice = Callable[[Iterable[float]], float]

OURS = ("pirn", "pirn-pthread")
FLOOR = "floor"
NO_STACK = "tokio"  # tasks without a stack: no rival in memory


@dataclass(frozen=True)
class Target:
    """A goal of one of Pirn's APIs in a row."""

    system: str
    multiple: float | None  # of the floor, or of ratio_to: median of the rounds' multiples
    best: float | None  # the same of the best samples, for what a busy machine hides
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
    """Samples by round."""
    return {s.round: s.value for s in samples if (s.row, s.peer) == (row, peer)}


def paired_ratio(samples: Sequence[Sample], row: str, peer: str, other: str) -> float | None:
    own, base = values(samples, row, peer), values(samples, row, other)
    ratios = [own[number] / base[number] for number in own if base.get(number)]
    return statistics.median(ratios) if ratios else None


def names(samples: Sequence[Sample], attribute: str) -> list[str]:
    return list(dict.fromkeys(str(getattr(sample, attribute)) for sample in samples))


def floor_of(samples: Sequence[Sample], choose: Choice) -> dict[str, float]:
    """The floor's rows, each by the median or the best of its samples."""
    floor = [sample for sample in samples if sample.peer == FLOOR]
    rows = {row: values(floor, row, FLOOR).values() for row in names(floor, "row")}
    return {**constants(), **{row: choose(own) for row, own in rows.items()}}


def floor_multiple(samples: Sequence[Sample], own: Mapping[int, float], goal: Goal) -> float | None:
    """Median over the rounds of the time divided by the floor of the same round."""
    found = []
    for number, value in own.items():
        here = total(goal.floor, floor_of([s for s in samples if s.round == number], min))
        if here is not None:
            found.append(value / here)
    return statistics.median(found) if found else None


def target_of(samples: Sequence[Sample], goal: Goal, goals: Goals) -> Target | None:
    """None if the system was not measured in that row."""
    own = values(samples, goal.row, goal.system)
    if not own:
        return None
    if goal.ratio_to is not None:
        ratio = paired_ratio(samples, goal.row, goal.system, goal.ratio_to)
        other = values(samples, goal.row, goal.ratio_to).values()
        best = min(own.values()) / min(other) if other else None
        return Target(goal.system, ratio, best, goal.amount, goal.ratio_to, goal.note)
    unit = " + ".join(f"{weight:g} {name}" for name, weight in goal.floor.items())
    least = total(goal.floor, floor_of(samples, min))
    return Target(
        goal.system,
        floor_multiple(samples, own, goal),
        None if least is None else min(own.values()) / least,
        goals.multiple(goal),
        unit,
        goal.note,
    )


def summarize(samples: Sequence[Sample], goals: Goals, order: Sequence[str]) -> list[Line]:
    """`order`: the systems in the suite's order."""
    floor = floor_of(samples, statistics.median)
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
                targets=tuple(
                    target
                    for system in OURS
                    if (mine := goals.of(row, system))
                    and (target := target_of(samples, mine, goals))
                ),
            )
        )
    return lines
