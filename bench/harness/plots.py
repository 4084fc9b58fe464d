# SPDX-License-Identifier: MIT
"""The plots. A micro run has a line for each row and a mark for each system, on a log scale."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pirn_tools.bench.runner import Sample
from pirn_tools.plotting import figure

from harness.policies import NPTL, Plan, Run, median
from harness.summary import OURS, Line, values
from harness.tables import systems

MARKS = "osD^vP*X<>"


def write_micro(path: Path, lines: Sequence[Line], title: str) -> None:
    places = {line.row: -at for at, line in enumerate(lines)}
    with figure(path, width=10.0, height=1.5 + 0.33 * len(lines)) as axes:
        for at, peer in enumerate(systems(lines)):
            own = [line for line in lines if peer in line.medians]
            axes.plot(
                [line.medians[peer] for line in own],
                [places[line.row] for line in own],
                MARKS[at % len(MARKS)],
                markersize=9 if peer in OURS else 5,
                label=peer,
                zorder=3 if peer in OURS else 2,
            )
        _ticks(axes, lines, places)
        axes.set_xscale("log")
        axes.set_yticks(list(places.values()), [_label(line) for line in lines])
        axes.set_xlabel("median, ns an operation (memory: bytes a thread)")
        axes.grid(alpha=0.3, zorder=0)
        axes.figure.legend(fontsize="small", loc="outside right upper")
        axes.set_title(title, fontsize="medium")


def _ticks(axes: object, lines: Sequence[Line], places: dict[str, int]) -> None:
    """The floor, and the goal in the native API's rows."""
    floors = [(line.floor, places[line.row]) for line in lines if line.floor]
    goals = [
        (target.wanted * line.floor, places[line.row])
        for line in lines
        for target in line.targets
        if target.system == "pirn" and line.floor
    ]
    for marks, style, label in ((floors, "k|", "floor"), (goals, "g|", "goal")):
        if marks:
            x, y = zip(*marks, strict=True)
            axes.plot(x, y, style, markersize=14, label=label)  # type: ignore[attr-defined]


def _label(line: Line) -> str:
    return line.row if line.unit == "ns" else f"{line.row} [{line.unit}]"


def write_report(
    path: Path, samples: Sequence[Sample], measurements: Sequence[Mapping[str, Any]]
) -> None:
    """Ratios, ours and theirs; whiskers over the rounds."""
    with figure(path, width=9.0, height=1.2 + 0.6 * len(measurements)) as axes:
        for at, entry in enumerate(measurements):
            own = [s for s in samples if s.suite == entry["suite"]]
            before = values(own, entry["row"], entry["before"])
            after = values(own, entry["row"], entry["after"])
            ratios = sorted(before[n] / after[n] for n in before if n in after)
            axes.plot(ratios, [-at] * len(ratios), "C0|", markersize=12, zorder=2)
            if ratios:
                label = "Pirn (line: one round)" if at == 0 else None
                axes.plot([statistics.median(ratios)], [-at], "C0o", label=label, zorder=3)
            label = "the report" if at == 0 else None
            axes.plot([entry["theirs"]], [-at], "C1D", label=label, zorder=3)
        axes.axvline(1.0, color="black", linewidth=0.8)
        texts = [f"{entry['what']}\n({entry['row']})" for entry in measurements]
        axes.set_yticks([-at for at in range(len(texts))], texts, fontsize="small")
        axes.set_xscale("log")
        axes.set_xlabel("time before / time after")
        axes.grid(axis="x", alpha=0.3)
        axes.legend(fontsize="small")


def write_policies(path: Path, plan: Plan, runs: Sequence[Run]) -> None:
    """For each application, bars for each number of workers: time; idle share hatched."""
    groups = [(app.name, workers) for app in plan.apps for workers in plan.workers]
    width = 0.8 / len(plan.policies)
    with figure(path, width=12.0, height=5.0) as axes:
        for index, name in enumerate(plan.policies):
            left = (index - (len(plan.policies) - 1) / 2) * width
            for at, (app, workers) in enumerate(groups):
                own = [run for run in runs if run.app == app]
                seconds = 1e3 * median(own, name, workers)
                idle = seconds * median(own, name, workers, idle=True)
                label = name if at == 0 else None
                axes.bar(at + left, seconds, width, color=f"C{index}", label=label, zorder=2)
                axes.bar(at + left, idle, width, color="white", alpha=0.6, hatch="///", zorder=3)
        for at, each in enumerate(plan.apps):
            nptl = 1e3 * median([run for run in runs if run.app == each.name], NPTL, 0)
            first = at * len(plan.workers)
            span = [first - 0.5, first + len(plan.workers) - 0.5]
            label = "NPTL, all CPUs" if at == 0 else None
            axes.plot(span, [nptl, nptl], "k--", linewidth=1, label=label, zorder=4)
        axes.set_xticks(range(len(groups)), [f"{app}\n{workers}" for app, workers in groups])
        axes.set_xlabel("application, workers")
        axes.set_ylabel("median ms (hatched: share without a thread to run)")
        axes.grid(axis="y", alpha=0.3, zorder=0)
        axes.legend(fontsize="small")
