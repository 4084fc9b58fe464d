#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts how long operations keep interrupts disabled and hold locks, on a board under QEMU.

    .venv/bin/python bench/run_sections.py [--publish]

One core of the boards whose board.toml has bench.sections; `make board-sections` builds a library
for it (PIRN_SECTIONS) in build/BOARD/sections. Writes into results/: board-sections.md. With
--publish also docs/results/board-sections.md, between its two marks.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
from pathlib import Path

from harness import page, session
from harness.tables import markdown
from pirn_tools import paths
from pirn_tools.board import boards
from pirn_tools.errors import UserError

POLICIES = ("single", "central", "dist", "steal", "request", "steal:discipline=posix")
COUNTS = {"off": "interrupts are disabled", "held": "a lock is held"}


def program_of(root: Path, board: str) -> Path:
    return root / "build" / board / "sections/bench/board/sections.elf"


def units(root: Path) -> dict[str, float]:
    """How far the counter that the library reads goes in an instruction under `pirn board run
    --icount`, which takes 8 ns, on each board that has one."""
    found = boards.load_all([boards.folder(root)])
    return {board.name: board.bench.sections for board in found if board.bench.sections > 0}


def count(root: Path, board: str, unit: float, policy: str) -> list[dict[str, str]]:
    command = [
        str(root / ".venv/bin/pirn"), "board", "run", "--icount", "--timeout", "300",
        "--cpus", "1", board, str(program_of(root, board)), f"{unit:.17g}",
    ]  # fmt: skip
    settings = {"PIRN_SCHED": policy, "PIRN_SPIN": "0", "PIRN_PREEMPT": "1"}
    done = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UserError(
            f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return list(csv.DictReader(done.stdout.splitlines()))


def report(counts: dict[tuple[str, str], list[dict[str, str]]]) -> str:
    parts = ["# The longest sections of operations on boards", ""]
    head = ["operation", *(f"`{name}`" for name in POLICIES)]
    for board in dict.fromkeys(board for board, _ in counts):
        operations = [row["operation"] for row in counts[board, POLICIES[0]]]
        for kind, title in COUNTS.items():
            rows = [
                [operation, *(counts[board, name][i][kind] for name in POLICIES)]
                for i, operation in enumerate(operations)
            ]
            parts += [f"### {board}: {title}", "", markdown(head, rows), ""]
    return "\n".join(parts)


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--publish", action="store_true", help="into docs/results/board-sections.md"
    )
    options = parser.parse_args()
    root = paths.project()
    chosen = units(root)
    for board in chosen:
        if not program_of(root, board).exists():
            missing = paths.short(program_of(root, board))
            raise UserError(f"there is no {missing}; `make board-sections` builds it")
    counts = {
        (board, name): count(root, board, unit, name)
        for board, unit in chosen.items()
        for name in POLICIES
    }
    output = root / "results"
    output.mkdir(parents=True, exist_ok=True)
    text = report(counts)
    (output / "board-sections.md").write_text(text)
    print(text)
    if options.publish:
        page.publish(root / "docs/results/board-sections.md", text, output, ())
    return 0


if __name__ == "__main__":
    session.main("run_sections.py", run)
