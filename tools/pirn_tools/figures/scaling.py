# SPDX-License-Identifier: MIT
"""`pirn bench figures scaling`: what more CPUs gain, up to 256, under each policy, on the model.

tests/sim/model/scaling.c has the workloads, scaling_model.py runs it, scaling_page.py makes the
page.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from pirn_tools import machine, paths
from pirn_tools.chip.sweep import at_once
from pirn_tools.errors import UserError
from pirn_tools.figures import scaling_page as page
from pirn_tools.figures.scaling_model import (
    COARSE,
    CPUS,
    FINE,
    POLICIES,
    PROGRAM,
    ROUNDS,
    SEEDS,
    WORKLOADS,
    Points,
    Runner,
    Symbols,
    plan,
    read_rates,
    write_csv,
)
from pirn_tools.plotting import figure

BEFORE = "scaling-before.csv"


def draw(workload: str, points: Points, path: Path) -> None:
    with figure(path, width=6.0, height=4.0) as axes:
        for policy in POLICIES:
            for work in (FINE, COARSE):
                found = {
                    case.cpus: point.rate
                    for case, point in points.items()
                    if (case.workload, case.policy, case.work) == (workload, policy, work)
                }
                if not found:
                    continue
                cpus = sorted(found)
                style = "--" if work == FINE else "-"
                label = f"{policy}, {work // 1000} µs"
                axes.plot(cpus, [found[n] for n in cpus], style, marker=".", label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(CPUS, [str(n) for n in CPUS])
        axes.set_xlabel("CPUs")
        axes.set_ylabel("operations in a microsecond")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")


def reproduce(root: Path, folder: Path, jobs: int, short: bool, console: Console) -> None:
    program = paths.build_dir(root) / PROGRAM
    if not program.exists():
        raise UserError(f"{paths.short(program)} is not built; run: make build-release")
    kept = root / "build" / "scaling"
    kept.mkdir(parents=True, exist_ok=True)
    runner = Runner(program, 1 if short else SEEDS, kept, Symbols(program))
    cases = plan(CPUS[:4] if short else CPUS)
    points = at_once(cases, runner.run, "model", jobs, console)
    (folder / "img").mkdir(parents=True, exist_ok=True)
    write_csv(folder / "scaling.csv", points)
    for workload in WORKLOADS:
        draw(workload, points, folder / "img" / f"scaling-{workload}.png")
    facts = {
        "command": f"`pirn bench figures scaling{' --short' if short else ''}`",
        "commit": machine.commit(root),
        "model": f"`pirn-sim-scaling`, topology numa256, {ROUNDS} operations of a thread or CPU, "
        f"{runner.seeds} seeds",
        "compiler": machine.compiler(paths.build_dir(root)),
    }
    before = read_rates(root / "docs" / "results" / BEFORE)
    text = page.page(points, before, facts)
    (folder / "scaling.md").write_text(text, encoding="utf-8")
    console.print(f"page: {paths.short(folder / 'scaling.md')}", highlight=False)
