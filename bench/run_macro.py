#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs whole applications: the measurements of the M:N report, the policies compared, and the
echo server.

    .venv/bin/python bench/run_macro.py [--rounds 7] [--only report|policies|echo] [--publish]

Writes into --output (results/): macro-report.csv, macro-policies.csv, macro-echo.csv (every
sample), macro.md (the tables), macro-report.png, macro-policies.png. With --publish also the parts
"report", "policies" and "echo" of docs/results/benchmarks.md. README.md says how to read it.
"""

from __future__ import annotations

import argparse
import statistics
import tomllib
from pathlib import Path
from typing import Any

from harness import machine, page, plots, policies, session
from harness.rounds import Outcome, jobs_of, run_rounds
from harness.summary import paired_ratio, values
from harness.tables import gaps, markdown, number
from pirn_tools import paths
from pirn_tools.bench.report import write_csv
from pirn_tools.bench.suites import Suite, load_suites
from pirn_tools.demo.clip import ClipShape, make_clip
from pirn_tools.errors import UserError
from rich.console import Console

Measurements = list[dict[str, Any]]

PARTS = ("report", "policies", "echo")
REPORT_LEGEND = """\
Ratio: median over the rounds of (time before / time after); above 1, the change helps. `theirs` is
the report's, on other hardware."""
POLICIES_LEGEND = """\
Median milliseconds, and in brackets the share of the workers' time without a thread to run. There
are {cpus} CPUs: more workers than that share them."""

ECHO_LEGEND = """\
Medians; ratio: median over the rounds of (Pirn / NPTL) in the same round. Messages of 64 bytes,
each connection a closed loop; the load has one thread with epoll and shares the {cpus} CPUs."""


def arguments() -> argparse.Namespace:
    parser = session.parser_of(__doc__, rounds=7)
    parser.add_argument("--only", choices=PARTS, help="only this part")
    parser.add_argument("--publish", action="store_true", help="into docs/results/benchmarks.md")
    options = parser.parse_args()
    session.at_least_one(parser, options, "rounds")
    return options


def report_table(outcome: Outcome, measurements: Measurements) -> str:
    body = []
    for entry in measurements:
        own = [s for s in outcome.samples if (s.suite, s.row) == (entry["suite"], entry["row"])]
        before, after = entry["before"], entry["after"]
        ratio = paired_ratio(own, entry["row"], before, after)
        medians = [
            f"{name}: {statistics.median(found):.4g}" if found else f"{name}: -"
            for name in (before, after)
            for found in [list(values(own, entry["row"], name).values())]
        ]
        ours = "-" if ratio is None else f"{ratio:.2f} x"
        unit = f" {own[0].unit}" if own else ""
        cells = [entry["row"], *(text + unit for text in medians), ours]
        body.append([entry["what"], *cells, f"{entry['theirs']:.2f} x"])
    return markdown(["what changes", "program", "before", "after", "ratio", "theirs"], body)


def run_report(console: Console, root: Path, build: Path, output: Path, rounds: int) -> str:
    measurements: Measurements = tomllib.loads((root / "bench/macro/report.toml").read_text())[
        "measurement"
    ]
    suites = load_suites(root / "bench/suites.toml")
    names = list(dict.fromkeys(entry["suite"] for entry in measurements))
    places = session.places_of(root, build)
    jobs = jobs_of([suites[name] for name in names], [], [], places)
    with session.progress_of(console, rounds * sum(len(job.peers) for job in jobs)) as step:
        outcome = run_rounds(jobs, rounds, places, step)
    if not outcome.samples:
        raise UserError(
            "\n".join(["nothing was measured (are the applications built?)", *gaps(outcome.failed)])
        )
    write_csv(output / "macro-report.csv", outcome.samples)
    plots.write_report(output / "macro-report.png", outcome.samples, measurements)
    failed = "\n".join(f"- failed: {gap}" for gap in gaps(outcome.failed))
    title = "## The M:N report's measurements"
    return "\n\n".join(
        filter(None, [title, report_table(outcome, measurements), REPORT_LEGEND, failed])
    )


def run_policies(console: Console, root: Path, build: Path, output: Path, rounds: int) -> str:
    plan = policies.load_plan(root / "bench/macro/policies.toml")
    cache = root / "build/demo"
    cache.mkdir(parents=True, exist_ok=True)
    clip = make_clip(cache, ClipShape())
    with session.progress_of(console, policies.size(plan, rounds)) as step:
        runs = policies.run_plan(plan, build / "apps", clip, rounds, step)
    policies.write_runs(output / "macro-policies.csv", runs)
    plots.write_policies(output / "macro-policies.png", plan, runs)
    parts = ["## Policies", POLICIES_LEGEND.format(cpus=session.usable_cpus())]
    for app in plan.apps:
        parts += [f"### {app.name}", policies.app_table(plan, app, runs)]
    return "\n\n".join(parts)


def echo_table(suite: Suite, outcome: Outcome) -> str:
    peers = [peer.name for peer in suite.peers]
    other = next(name for name in peers if name != suite.baseline)
    body = []
    for row in suite.rows:
        found = {name: list(values(outcome.samples, row.name, name).values()) for name in peers}
        medians = [number(statistics.median(own)) if own else "-" for own in found.values()]
        ratio = paired_ratio(outcome.samples, row.name, other, suite.baseline)
        name = f"{row.name} [{row.unit}]"
        body.append([name, *medians, "-" if ratio is None else f"{ratio:.2f} x"])
    return markdown(["measurement-connections", *peers, f"{other} / {suite.baseline}"], body)


def run_echo(console: Console, root: Path, build: Path, output: Path, rounds: int) -> str:
    suite = load_suites(root / "bench/suites.toml")["echo"]
    places = session.places_of(root, build)
    jobs = jobs_of([suite], [], [], places)
    with session.progress_of(console, rounds * sum(len(job.peers) for job in jobs)) as step:
        outcome = run_rounds(jobs, rounds, places, step)
    if not outcome.samples:
        raise UserError("\n".join(["the echo server was not measured", *gaps(outcome.failed)]))
    write_csv(output / "macro-echo.csv", outcome.samples)
    legend = ECHO_LEGEND.format(cpus=session.usable_cpus())
    failed = "\n".join(f"- failed: {gap}" for gap in gaps(outcome.failed))
    parts = ["## Echo server", echo_table(suite, outcome), legend, failed]
    return "\n\n".join(filter(None, parts))


def run() -> int:
    console = Console()
    options = arguments()
    place = session.place_of(options)
    root, build, output = place.root, place.build, place.output
    about = machine.describe(root, build)
    parts = [session.heading("Macro benchmarks", about)]
    session.build_what(console, options, place, "the applications", "all")
    runs = {"report": run_report, "policies": run_policies, "echo": run_echo}
    for part in [options.only] if options.only else PARTS:
        parts.append(runs[part](console, root, build, output, options.rounds))
        if options.publish:
            title, _, rest = parts[-1].partition("\n")
            text = f"{title}\n\n{session.stamp(about, options.rounds)}\n{rest}"
            page.publish_part(root, part, text, output, [])
    session.show(console, place, "macro.md", "\n\n".join(parts))
    console.print(f"written: {paths.short(output)}/macro.md, macro-*.csv, macro-*.png")
    return 0


if __name__ == "__main__":
    session.main("run_macro", run)
