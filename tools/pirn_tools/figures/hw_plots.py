# SPDX-License-Identifier: MIT
"""Pictures of `pirn bench figures hw`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pirn_tools.figures.hw import FIGURE3 as FIGURE3_CASES
from pirn_tools.figures.hw import LATENCY, Case, Plan, Points
from pirn_tools.figures.hw_results import best
from pirn_tools.plotting import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE2 = "hw-hard-a.png"
FIGURE3 = "hw-hard-b-c.png"
FIGURE4 = "hw-soft.png"
FIGURE5 = "hw-soft-coarse.png"
RATIOS = (1, 1.1, 1.2, 1.5, 2, 3, 4, 5, 6, 7)
SWEEP = "hw-crossover.png"


def line(
    axes: Axes,
    found: Points,
    cases: Sequence[Case],
    label: str,
    style: str = "-",
    colour: str | None = None,
) -> None:
    """Cycles by hardware threads, with confidence intervals."""
    cases = found.select(cases)
    axes.errorbar(
        [case.harts for case in cases],
        [found.cycles(case) / 1000 for case in cases],
        yerr=[found.error(case) / 1000 for case in cases],
        marker="o",
        capsize=3,
        linestyle=style,
        color=colour,
        label=label,
    )


def finish(axes: Axes, title: str, ticks: Sequence[int]) -> None:
    axes.set_xlabel("hardware threads")
    axes.set_xticks(ticks)
    axes.set_ylabel("thousand cycles")
    axes.set_yscale("log")
    axes.set_title(title, fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def by_units(found: Points, cases: Sequence[Case], path: Path, title: str) -> None:
    with figure(path, width=7.0, height=4.5) as axes:
        for units in dict.fromkeys(case.units for case in cases):
            chosen = [case for case in cases if case.units == units]
            line(axes, found, chosen, f"work unit {units}")
        finish(axes, title, sorted({case.harts for case in cases}))


def figure3(found: Points, plan: Plan, path: Path) -> None:
    with figure(path, width=7.0, height=4.5) as axes:
        for (workload, units), style in zip(
            FIGURE3_CASES, ("C0-", "C0--", "C1-", "C1--"), strict=True
        ):
            chosen = [case for case in plan.figure3() if case.workload == workload]
            label = f"workload {workload.upper()}, unit {units}"
            line(axes, found, chosen, label, style[2:], style[:2])
        finish(axes, "Hardware scheduler, 1,000 threads on one line", plan.harts)


def crossover(found: Points, plan: Plan, path: Path) -> None:
    """The best software scheduler's cycles, divided by the best hardware's: a colour for each
    number of hardware threads, a style of lines for each latency."""
    with figure(path, width=9.0, height=5.5) as axes:
        for colour, harts in enumerate(plan.swept_harts):
            for style, latency in zip((":", "-", "--"), plan.latencies, strict=False):
                rows = [row for row in best(found, plan, latency) if row.harts == harts]
                axes.plot(
                    [row.units for row in rows],
                    [row.ratio for row in rows],
                    f"C{colour}{style}",
                    marker="." if latency != LATENCY else "o",
                    label=f"{harts} hardware threads, latency {latency}",
                )
        axes.axhline(1, color="grey", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_yticks(RATIOS, [str(ratio) for ratio in RATIOS])
        axes.minorticks_off()
        axes.set_xlabel("work units (10 instructions each) of a thread")
        axes.set_ylabel("best software / best hardware, cycles")
        axes.grid(alpha=0.3, which="both")
        axes.figure.legend(fontsize="small", loc="outside right upper")


def draw(found: Points, plan: Plan, folder: Path) -> None:
    by_units(found, plan.figure2(), folder / FIGURE2, "Hardware scheduler, 1,000 threads")
    figure3(found, plan, folder / FIGURE3)
    title = "One LIFO, test-and-set lock, workers poll; 1,000 threads"
    by_units(found, plan.figure4(), folder / FIGURE4, title)
    by_units(found, plan.figure5(), folder / FIGURE5, title)
    crossover(found, plan, folder / SWEEP)
