#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the micro benchmarks of all systems in one run, paired, and compares with the goals.

    .venv/bin/python bench/run_micro.py [--rounds 7] [--row ROW]... [--peer PEER]... [--publish]

Writes into --output (results/): micro.csv, every sample, as `pirn bench` writes them;
micro-summary.csv; micro.md, the report; micro.png. With --publish also the part "micro" of
docs/results/benchmarks.md. The status is 1 if one of our own programs failed. README.md says how to
read it.
"""

from __future__ import annotations

import argparse
import statistics

from harness import machine, page, plots, session, tables
from harness.goals import load_goals
from harness.rounds import Outcome, jobs_of, run_rounds
from harness.summary import FLOOR, OURS, Line, floor_of, summarize
from pirn_tools import parts, paths
from pirn_tools.bench.report import write_csv
from pirn_tools.bench.suites import Suite, load_suites
from pirn_tools.errors import UserError
from rich.console import Console

LEGEND = """\
Medians are nanoseconds an operation unless the row says otherwise. A ratio is the median of the
ratios to the best peer in the same round: below 1 is faster. A multiple is the median over the
rounds of what was measured over the floor of the same round, `best` that of the best samples (on a
busy machine they say more, above all with 2 workers); the goal is the same number on any machine.
* = goal with a note in goals.toml. Tokio's tasks have no stack: it is left out of the memory row's
comparison."""


def arguments() -> argparse.Namespace:
    parser = session.parser_of(__doc__)
    parser.add_argument("--rounds", type=int, help="instead of the suite's number")
    parser.add_argument("--row", action="append", default=[], help="only this row (repeatable)")
    parser.add_argument("--peer", action="append", default=[], help="only this system (repeatable)")
    parser.add_argument("--publish", action="store_true", help="into docs/results/benchmarks.md")
    options = parser.parse_args()
    if options.publish and (options.row or options.peer):
        parser.error("--publish is for a whole run: without --row and --peer")
    return options


def check_names(options: argparse.Namespace, suites: list[Suite]) -> None:
    """Reject unknown names, so that a misspelt name does not silently measure nothing."""
    rows = [row.name for suite in suites for row in suite.rows]
    peers = [peer.name for suite in suites for peer in suite.peers]
    for kind, wanted, known in (("row", options.row, rows), ("peer", options.peer, peers)):
        for name in wanted:
            if name not in known:
                raise UserError(f'there is no {kind} "{name}" (valid: {", ".join(known)})', 2)
    if options.rounds is not None and options.rounds < 1:
        raise UserError(f"--rounds {options.rounds}: at least 1", 2)


def report(outcome: Outcome, lines: list[Line], head: str) -> str:
    floor = floor_of(outcome.samples, statistics.median)
    sections = [
        head,
        LEGEND,
        "## Medians",
        tables.medians_table(lines),
        "## Against the best peer",
        tables.ratios_table(lines),
        "## Goals",
        tables.goals_table(lines),
        "## Floor",
        tables.floor_table(floor),
    ]
    for title, reasons in (("Skipped", outcome.skipped), ("Failed", outcome.failed)):
        if reasons:
            sections += [f"## {title}", "\n".join(f"- {gap}" for gap in tables.gaps(reasons))]
    return "\n\n".join(sections)


def measure(console: Console, options: argparse.Namespace, place: session.Place) -> Outcome:
    every = load_suites(place.root / "bench/suites.toml")
    suites = [every["floor"], every["micro"]]
    check_names(options, suites)
    # The floor's rows are few and quick, and nothing can be said without them.
    rows = [*options.row, *(row.name for row in suites[0].rows)] if options.row else []
    peers = [*options.peer, FLOOR] if options.peer else []
    what = "the benchmarks' programs and the peers"
    session.build_what(console, options, place, what, "all", "bench-peers")
    places = session.places_of(place.root, place.build)
    rounds = options.rounds or suites[1].rounds
    jobs = jobs_of(suites, rows, peers, places)
    with session.progress_of(console, rounds * sum(len(job.peers) for job in jobs)) as step:
        return run_rounds(jobs, rounds, places, step)


def run() -> int:
    console = Console()
    options = arguments()
    place = session.place_of(options)
    root, build, output = place.root, place.build, place.output
    about = machine.describe(root, build)
    outcome = measure(console, options, place)
    order = [peer.name for peer in load_suites(root / "bench/suites.toml")["micro"].peers]
    lines = summarize(outcome.samples, load_goals(root / "bench/goals.toml"), order)
    if not lines:
        raise UserError("nothing was measured: none of the wanted programs is built")
    write_csv(output / "micro.csv", outcome.samples)
    tables.write_summary(output / "micro-summary.csv", lines, outcome.samples)
    text = report(outcome, lines, session.heading("Micro benchmarks", about))
    plots.write_micro(output / "micro.png", lines, f"micro benchmarks, {about['processor']}")
    session.show(console, place, "micro.md", text)
    console.print(f"written: {paths.short(output)}/micro.csv, -summary.csv, .md, .png")
    if options.publish:
        whole = parts.deeper(parts.without_title(text))
        page.publish_part(root, "micro", whole, output, ["micro.png"])
    return any(peer in OURS for _, peer in outcome.failed)


if __name__ == "__main__":
    session.main("run_micro", run)
