#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions of the runtime's operations on boards under QEMU.

    .venv/bin/python bench/run_board.py [--board riscv64-virt]... [--publish]

Writes into --output (results/): board-cost.csv, board-cost.md. With --publish also
docs/results/board-cost.md, between its two marks. The boards must be built (`make boards`).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

from harness import board as runner
from harness import page, session
from harness.board import Place
from harness.tables import markdown
from pirn_tools import paths

POLICIES = ("single", "central", "dist", "steal", "request")
CORES = (1, 2, 4)
PROGRAM, INTERRUPTS = "kernel_ops", "interrupts"  # the latter: of boards that have an alarm
Count = tuple[str, str, int, str, float]  # board, policy, cores, operation, instructions


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--board", action="append", help="this one [all that are built]")
    parser.add_argument("--output", type=Path, default=None, help="folder [results]")
    parser.add_argument("--publish", action="store_true", help="into docs/results/board-cost.md")
    return parser.parse_args()


def count(place: Place, policy: str, cores: int) -> list[Count]:
    settings = {"PIRN_SCHED": policy, "PIRN_SPIN": "0"}
    found: list[Count] = []
    programs = [PROGRAM]
    shown = cores == 1 or policy == POLICIES[0]  # what the tables show
    if shown and place.program(INTERRUPTS).exists():
        programs.append(INTERRUPTS)
    for program in programs:
        said = runner.run(place, program, cores, settings, [str(runner.NS)])
        for row in csv.DictReader(said.splitlines()):
            what, value = row["operation"], float(row["instructions"])
            found.append((place.board, policy, cores, what, value))
    return found


def table(counts: Sequence[Count], columns: Sequence[tuple[str, tuple[str, int]]]) -> str:
    """columns: head, (policy, cores). Operations in the order of the program."""
    operations = list(dict.fromkeys(row[3] for row in counts))
    found = {(row[1], row[2], row[3]): row[4] for row in counts}

    def cells(operation: str) -> list[str]:
        values = [found.get((*what, operation)) for _, what in columns]
        return [operation, *("-" if value is None else f"{value:.0f}" for value in values)]

    body = [cells(operation) for operation in operations]
    return markdown(
        ["operation", *(head for head, _ in columns)], [b for b in body if set(b[1:]) != {"-"}]
    )


def report(counts: Sequence[Count]) -> str:
    parts = ["# Instructions of operations on boards", ""]
    for board in dict.fromkeys(row[0] for row in counts):
        mine = [row for row in counts if row[0] == board]
        cores = [(f"{n} core{'s' * (n > 1)}", ("single", n)) for n in CORES]
        names = [(name, (name, 1)) for name in POLICIES]
        parts += [f"### {board}", "", "Policy `single`:", "", table(mine, cores), ""]
        parts += ["Policies, on one core:", "", table(mine, names), ""]
    return "\n".join(parts)


def run() -> int:
    options = arguments()
    root = paths.project()
    output = options.output or root / "results"
    counts: list[Count] = []
    for place in runner.chosen(root, options.board, [PROGRAM]):
        for policy in POLICIES:
            for cores in CORES:
                counts += count(place, policy, cores)
    output.mkdir(parents=True, exist_ok=True)
    with (output / "board-cost.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["board", "policy", "cores", "operation", "instructions"])
        writer.writerows(counts)
    text = report(counts)
    (output / "board-cost.md").write_text(text)
    print(text)
    if options.publish:
        page.publish(root / "docs/results/board-cost.md", text, output, ())
    return 0


if __name__ == "__main__":
    session.main("run_board.py", run)
