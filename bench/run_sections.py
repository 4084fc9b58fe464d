#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts how long operations keep interrupts disabled and hold locks, on a board under QEMU.

    .venv/bin/python bench/run_sections.py [--publish]

One core of a board of each family, whose library is built for it (PIRN_SECTIONS) in
build/BOARD/sections by `make board-sections`. Writes into results/: board-sections.md. With
--publish also docs/BOARD-SECTIONS.md, between its two marks.
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
from pirn_tools.errors import UserError

POLICIES = ("single", "central", "dist", "steal", "request", "steal:discipline=posix")
# How far the counter that the library reads goes in an instruction under `pirn board run --icount`,
# which takes 8 ns: RISC-V's and ARM's count nanoseconds then, MIPS's steps of 6 ns.
UNITS = {"riscv64-virt": 8, "aarch64-virt": 8, "arm-virt": 8, "malta-p5600": 8 / 6}
COUNTS = {"off": "interrupts are disabled", "held": "a lock is held"}


def program_of(root: Path, board: str) -> Path:
    return root / "build" / board / "sections/bench/board/sections.elf"


def count(root: Path, board: str, policy: str) -> list[dict[str, str]]:
    command = [
        str(root / ".venv/bin/pirn"), "board", "run", "--icount", "--timeout", "300",
        "--cpus", "1", board, str(program_of(root, board)), str(UNITS[board]),
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
    for board in UNITS:
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
    parser.add_argument("--publish", action="store_true", help="into docs/BOARD-SECTIONS.md, too")
    options = parser.parse_args()
    root = paths.project()
    for board in UNITS:
        if not program_of(root, board).exists():
            missing = paths.short(program_of(root, board))
            raise UserError(f"there is no {missing}; `make board-sections` builds it")
    counts = {(board, name): count(root, board, name) for board in UNITS for name in POLICIES}
    output = root / "results"
    output.mkdir(parents=True, exist_ok=True)
    text = report(counts)
    (output / "board-sections.md").write_text(text)
    print(text)
    if options.publish:
        page.publish(root / "docs/BOARD-SECTIONS.md", text, output, ())
    return 0


if __name__ == "__main__":
    session.main("run_sections.py", run)
