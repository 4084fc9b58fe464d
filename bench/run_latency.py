#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts how long threads wait after interrupts, on boards under QEMU, in instructions.

    .venv/bin/python bench/run_latency.py [--board riscv64-virt]... [--publish]

One core of the boards that have an alarm (board.toml). Writes into --output (results/):
board-latency.csv, board-latency.md. With --publish also docs/results/board-latency.md, between its
two marks. The boards must be built (`make boards`).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import board as runner
from harness import page, session
from harness.board import Place
from harness.tables import markdown
from pirn_tools import paths

POLICIES = ("single", "steal")
PROGRAM = "latency"  # of boards that have an alarm
LIMIT_S = 600
Row = Mapping[str, str]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--board", action="append", help="this one [all that are built]")
    parser.add_argument("--output", type=Path, default=None, help="folder [results]")
    parser.add_argument("--publish", action="store_true", help="into docs/results/board-latency.md")
    return parser.parse_args()


def count(place: Place, policy: str) -> list[Row]:
    settings = {"PIRN_SCHED": f"{policy}:discipline=posix", "PIRN_PREEMPT": "1"}
    said = runner.run(place, PROGRAM, 1, settings, [str(runner.NS)], LIMIT_S)
    return list(csv.DictReader(line for line in said.splitlines() if line != "done"))


def table(rows: Mapping[str, Sequence[Row]]) -> str:
    """By policy; all have the operations of the program, in its order."""
    first = next(iter(rows.values()))
    head = ["the thread that is interrupted"]
    for policy in rows:
        head += [f"`{policy}`: to the handler", "to the thread"]
    body = []
    for i, row in enumerate(first):
        cells = [row["operation"]]
        for found in rows.values():
            cells += [f"{found[i][f'{what}_least']} to {found[i][f'{what}_most']}"
                      for what in ("handler", "thread")]  # fmt: skip
        body.append(cells)
    return markdown(head, body)


def report(counts: Mapping[str, Mapping[str, Sequence[Row]]]) -> str:
    parts = ["# From interrupts to threads, on boards", ""]
    for board, rows in counts.items():
        parts += [f"### {board}", "", table(rows), ""]
    return "\n".join(parts)


def run() -> int:
    options = arguments()
    root = paths.project()
    output = options.output or root / "results"
    output.mkdir(parents=True, exist_ok=True)
    counts = {
        place.board: {policy: count(place, policy) for policy in POLICIES}
        for place in runner.chosen(root, options.board, [PROGRAM])
    }
    with (output / "board-latency.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        names = list(next(iter(next(iter(counts.values())).values()))[0])
        writer.writerow(["board", "policy", *names])
        for board, rows in counts.items():
            for policy, found in rows.items():
                writer.writerows([board, policy, *row.values()] for row in found)
    text = report(counts)
    (output / "board-latency.md").write_text(text)
    print(text)
    if options.publish:
        page.publish(root / "docs/results/board-latency.md", text, output, ())
    return 0


if __name__ == "__main__":
    session.main("run_latency.py", run)
