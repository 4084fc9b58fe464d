#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what scheduling costs: master/worker, join chain, join latency, ticks.

    .venv/bin/python bench/run_scheduling.py [--rounds 5] [--only PART] [--publish]

Writes into --output (results/): scheduling-cost.csv, every number of every run;
scheduling-cost.md, the tables; scheduling-ticks.png, scheduling-chain.png. With --publish also
docs/results/scheduling-cost.md, between its two marks, and its pictures; that says how it is
measured.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from harness import page, scheduling, scheduling_profile, session
from harness import scheduling_report as report
from harness.scheduling import Measured, Plan
from harness.tables import gaps
from pirn_tools import paths
from pirn_tools.errors import UserError
from rich.console import Console

PICTURES = {"ticks": "scheduling-ticks.png", "patterns": "scheduling-chain.png"}

PROFILE = "profile"
TITLES = {"master_worker": "Master/worker", "join_chain": "Join chain"}


def arguments() -> argparse.Namespace:
    parser = session.parser_of(__doc__, rounds=5)
    choices = [*scheduling.PARTS, PROFILE]
    parser.add_argument("--only", choices=choices, help="only this part")
    parser.add_argument("--plan", type=Path, help="instead of bench/macro/scheduling.toml")
    parser.add_argument(
        "--publish", action="store_true", help="into docs/results/scheduling-cost.md"
    )
    options = parser.parse_args()
    session.at_least_one(parser, options, "rounds")
    if options.publish and (options.only or options.plan):
        parser.error("--publish: only with all parts, of the usual plan")
    return options


def check_built(plan: Plan, apps: Path) -> None:
    for groups in (make(plan) for make in scheduling.PARTS.values()):
        for case in (one for group in groups for one in group):
            program = scheduling.program_of(case, apps)
            if not program.exists():
                hint = " (the metered library is built for x86-64 only)"
                why = hint if case.build == scheduling.METERED else ""
                raise UserError(f"{paths.short(program)} is not built{why}")


def sections(plan: Plan, part: str, measured: Measured) -> list[str]:
    """The tables of a part."""
    if part == "latency":
        return ["### From the end of a thread to its joiner", report.latency_table(plan, measured)]
    if part == "ticks":
        return ["### Ticks", report.ticks_table(report.ticks_of(plan, measured))]
    text = []
    for pattern in plan.patterns:
        title = TITLES.get(pattern.name, pattern.name)
        text += [f"### {title}", report.pattern_table(plan, pattern, measured)]
        text += ["By policy, share of the workers' time in the scheduler, nanoseconds an event:"]
        text += [report.policies_table(plan, pattern, measured)]
        text += ["In all, milliseconds:", report.totals_table(plan, pattern, measured)]
    return text


def draw(plan: Plan, part: str, measured: Measured, output: Path) -> None:
    if part == "ticks":
        report.draw_ticks(output / PICTURES[part], report.ticks_of(plan, measured))
    if part == "patterns":
        report.draw_chain(output / PICTURES[part], plan, measured)


def failures(measured: Measured) -> list[str]:
    reasons = {
        (f"{part} {row}, {workers} CPU{'s' if workers > 1 else ''}", system): why
        for (part, row, system, workers, _), why in measured.failed.items()
    }
    return [f"- no result: {gap}" for gap in gaps(reasons)]


def profiled(plan: Plan, apps: Path, scratch: Path, only: str | None) -> list[str]:
    if not plan.profiles or only not in (None, PROFILE):
        return []
    return ["### Where the instructions go", scheduling_profile.table(plan, apps, scratch)]


def run() -> int:
    console = Console()
    options = arguments()
    place = session.place_of(options)
    root, build, output = place.root, place.build, place.output
    plan = scheduling.load_plan(options.plan or root / "bench/macro/scheduling.toml")
    session.build_what(console, options, place, "the applications", "apps/all")
    check_built(plan, build / "apps")
    facts = page.machine_before(root, build)
    begun = time.monotonic()
    names = [name for name in scheduling.PARTS if options.only in (None, name)]
    groups = [group for name in names for group in scheduling.PARTS[name](plan)]
    total = options.rounds * sum(len(group) for group in groups)
    with tempfile.TemporaryDirectory(prefix="pirn-bench-") as scratch:
        stats = Path(scratch) / "stats.json"
        with session.progress_of(console, total) as step:
            measured = scheduling.measure(
                groups, build / "apps", options.rounds, plan.timeout, stats, step
            )
        profile = profiled(plan, build / "apps", Path(scratch), options.only)
    scheduling.write_csv(output / "scheduling-cost.csv", measured)
    facts = page.machine_after(facts, root, build, options.rounds, begun)
    parts = [session.heading("What scheduling costs", facts)]
    for name in names:
        parts += sections(plan, name, measured)
        draw(plan, name, measured, output)
    parts += [*profile, *(["\n".join(failures(measured))] if measured.failed else [])]
    text = "\n\n".join(parts)
    session.show(console, place, "scheduling-cost.md", text)
    if options.publish:
        page.publish(root / "docs/results/scheduling-cost.md", text, output, PICTURES.values())
    console.print(
        f"written: {paths.short(output)}/scheduling-cost.md, scheduling-cost.csv, scheduling-*.png"
    )
    return 0


if __name__ == "__main__":
    session.main("run_scheduling", run)
