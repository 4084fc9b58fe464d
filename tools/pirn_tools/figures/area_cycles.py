# SPDX-License-Identifier: MIT
"""The part of `pirn bench figures area` that needs cycles: fine-grained threads on a chip whose
scheduler has one stage, and two. More stages take more cycles, and allow a higher clock."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from pirn_tools.chip import bare
from pirn_tools.chip.config import SCHEDULER_STAGES
from pirn_tools.chip.sweep import Run
from pirn_tools.figures import hw, on_chip

HARTS = 32
WORKLOADS = ("a", "b")
UNITS = (1, 10, 50)
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Cycles:
    """Of a case, by the stages of the scheduler."""

    mean: Mapping[int, float]
    error: Mapping[int, float]  # half of the 95 % confidence interval

    @property
    def change(self) -> float:
        """From one stage to two, as a ratio."""
        return self.mean[2] / self.mean[1]

    @property
    def change_error(self) -> float:
        """Half of its confidence interval: the relative errors add in quadrature."""
        return self.change * math.hypot(*(self.error[n] / self.mean[n] for n in self.mean))


@dataclass(frozen=True)
class Plan:
    """Cases, each for all numbers of stages."""

    workloads: tuple[str, ...] = WORKLOADS
    units: tuple[int, ...] = UNITS
    seeds: tuple[int, ...] = SEEDS

    def cases(self) -> list[hw.Case]:
        return [
            hw.Case(scheduler, units, HARTS, workload)
            for workload, scheduler, units in itertools.product(
                self.workloads, hw.HARDWARE, self.units
            )
        ]


def run_of(program: Path, case: hw.Case, seed: int, stages: int) -> Run:
    run = hw.run_of(program, case, seed)
    return replace(run, config=replace(run.config, scheduler_stages=stages))


def measure(root: Path, jobs: int, plan: Plan, console: Console) -> dict[hw.Case, Cycles]:
    """For each case and number of stages all seeds. Runs are kept."""
    cases = plan.cases()
    if not cases:
        return {}
    program = bare.image(root)
    runs = {
        stages: {
            run_of(program, case, seed, stages): (case, seed)
            for case, seed in itertools.product(cases, plan.seeds)
        }
        for stages in SCHEDULER_STAGES
    }
    every = [run for each in runs.values() for run in each]
    results = on_chip.sweep(root, jobs).run(every, console)
    found = {stages: hw.points(each, results) for stages, each in runs.items()}
    return {
        case: Cycles(
            {stages: points.cycles(case) for stages, points in found.items()},
            {stages: points.error(case) for stages, points in found.items()},
        )
        for case in cases
    }


def rows(found: Mapping[hw.Case, Cycles]) -> list[Sequence[object]]:
    """For area.csv: part, seed, quantity, value."""
    return [
        [
            f"chip 8x4 scheduler {hw.QUEUE} stages {stages}",
            "",
            f"cycles of workload {case.workload} {case.scheduler} units {case.units}",
            f"{cycles:.0f}",
        ]
        for case, each in found.items()
        for stages, cycles in each.mean.items()
    ]
